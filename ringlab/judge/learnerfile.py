"""A function in a learner's file, which runs on the ranks only: here its text is read and looked at, never executed."""

import ast
import inspect
import os
import sys

from ..verdicts import BadInput


class LearnerFunction:
    """`name` in the file `path`, as a callable for the ranks; there the file is executed once per process.

    text: of the file.  lines: (first, last) line of its definition.  signature: when it is a function, else None.
    """

    def __init__(self, path, name, text, lines, signature=None):
        self.path, self.__name__, self.text, self.lines = path, name, text, lines
        if signature is not None:
            self.__signature__ = signature

    @classmethod
    def read(cls, path, name):
        """The function, or BadInput when the file cannot be read, is no Python, or does not define the name."""
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        try:
            tree = ast.parse(text, path)
        except SyntaxError as error:
            line = (error.text or "").strip()
            raise BadInput(f"{path}, line {error.lineno}: {error.msg}", *([line] if line else [])) from None
        defined = _top_level_names(tree)
        if name not in defined:
            known = ", ".join(sorted(key for key, node in defined.items() if _is_function(node)))
            raise BadInput(f"{path} has no function {name!r}", f"it has {known}" if known else "it has none at all")
        node = defined[name]
        signature = _signature(node.args) if _is_function(node) else None
        return cls(path, name, text, (node.lineno, node.end_lineno), signature)

    def __call__(self, chunks, rank, send, recv):
        return self._load()(chunks, rank, send, recv)

    def source(self):
        """List of (line number, text) of its definition."""
        first, last = self.lines
        return [(first + i, text) for i, text in enumerate(self.text.splitlines()[first - 1 : last])]

    def _load(self):
        loaded = _loaded.get((self.path, self.text))
        if loaded is None:
            loaded = {"__name__": os.path.splitext(os.path.basename(self.path))[0], "__file__": self.path}
            sys.path.insert(0, os.path.dirname(self.path))  # the file may import its neighbours
            try:
                exec(compile(self.text, self.path, "exec"), loaded)  # nosec B102
            finally:
                del sys.path[0]
            _loaded[self.path, self.text] = loaded
        return loaded[self.__name__]


_loaded: dict = {}  # in a rank: (path, text) -> its globals


def _signature(args):
    """The inspect.Signature of a definition's arguments."""
    plain = [*args.posonlyargs, *args.args]
    required = len(plain) - len(args.defaults)
    kind = inspect.Parameter
    found = [
        kind(arg.arg, kind.POSITIONAL_OR_KEYWORD, default=kind.empty if i < required else None)
        for i, arg in enumerate(plain)
    ]
    found += [kind(args.vararg.arg, kind.VAR_POSITIONAL)] if args.vararg else []
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found.append(kind(arg.arg, kind.KEYWORD_ONLY, default=kind.empty if default is None else None))
    found += [kind(args.kwarg.arg, kind.VAR_KEYWORD)] if args.kwarg else []
    return inspect.Signature(found)


def _is_function(node):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def _top_level_names(tree):
    """name -> the statement that defines it at the top of the file."""
    names: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = node
        elif isinstance(node, ast.Assign):
            names.update({target.id: node for target in node.targets if isinstance(target, ast.Name)})
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update({(alias.asname or alias.name): node for alias in node.names})
    return names
