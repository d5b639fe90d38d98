"""Learners' copies of the lessons: the masters without the outputs, which are the answers.

A copy that is there belongs to its learner and is never written again, whatever becomes of the master.
"""

import json
import os
import shutil
import sys
from pathlib import Path

FOLDER = "my-lessons"
ROOT = Path(__file__).resolve().parents[2]


def masters_folder():
    """The folder of the committed notebooks: beside the package in a clone, else in the current folder."""
    for root in (ROOT, Path.cwd()):
        if (root / "notebooks").is_dir():
            return root / "notebooks"
    raise FileNotFoundError("type this in a clone of ringlab, which has a folder notebooks/ with the lessons")


def copies_folder():
    """The learner's folder: what RINGLAB_LESSONS says (for a class that shares one clone), else beside the masters."""
    if folder := os.environ.get("RINGLAB_LESSONS"):
        return Path(folder).absolute()
    return masters_folder().parent / FOLDER


def without_outputs(notebook):
    """The notebook (a dict, nbformat 4) as it was before anybody ran it. The argument is not changed."""
    bare = json.loads(json.dumps(notebook))
    bare["metadata"].pop("widgets", None)
    for cell in bare["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            cell["metadata"].pop("execution", None)
    return bare


def make(masters=None, folder=None):
    """Give `folder` a copy of each master, and of each picture beside them, that it does not have yet.

    Gives the new paths. Raises OSError when the disk is full, leaving no half-written copy.
    """
    masters = Path(masters) if masters else masters_folder()
    folder = Path(folder) if folder else copies_folder()
    folder.mkdir(parents=True, exist_ok=True)
    new = []
    for master in sorted(masters.rglob("*")):
        place = master.relative_to(masters)
        if master.is_dir() or any(part.startswith(".") for part in place.parts):
            continue
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        if write_new(master, folder / place):
            new.append(folder / place)
    return new


def write_new(master, copy):
    """Write `copy` unless it is there; gives whether it did. Another process may be doing the same."""
    draft = copy.with_name(f".{copy.name}.{os.getpid()}.tmp")
    if copy.exists():
        return False
    try:
        if master.suffix == ".ipynb":
            bare = without_outputs(json.loads(master.read_text(encoding="utf-8")))
            draft.write_text(json.dumps(bare, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        else:
            shutil.copyfile(master, draft)
        with copy.open("xb") as file:  # "x" fails where somebody was faster: never overwrite
            try:
                file.write(draft.read_bytes())
            except OSError:
                copy.unlink()
                raise
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def new_copy(lesson, masters=None, folder=None):
    """A fresh copy of one lesson ("03", "the_ring" or a file name) beside the learner's own; gives its path.

    Raises ValueError when no master, or more than one, has that in its name.
    """
    masters = Path(masters) if masters else masters_folder()
    folder = Path(folder) if folder else copies_folder()
    folder.mkdir(parents=True, exist_ok=True)
    word = Path(lesson).stem
    names = sorted(path.stem for path in masters.glob("*.ipynb"))
    found = [name for name in names if name == word] or [name for name in names if name.startswith(word)]
    found = found or [name for name in names if word in name]
    if len(found) != 1:
        said = "more than one lesson is" if found else "no lesson is"
        raise ValueError(f"{said} called {lesson!r}: there are {', '.join(found or names)}")
    master, number = masters / f"{found[0]}.ipynb", 1
    while not write_new(master, copy := folder / f"{found[0]}{f'-{number}' if number > 1 else ''}.ipynb"):
        number += 1
    return copy


def add_arguments(parser):
    parser.add_argument("lesson", nargs="*", help="number or name, such as 03; without one: all that are missing")


def command(options):
    """Make the missing copies, or a fresh one of each lesson named, and say so. Gives the exit code."""
    try:
        new = [new_copy(lesson) for lesson in options.lesson] if options.lesson else make()
    except (FileNotFoundError, ValueError) as error:
        print(f"ringlab: {error}", file=sys.stderr)
        return 2
    for path in new:
        print(path)
    if not new:
        print(f"{copies_folder()} has all the lessons already; for a fresh one name it: ringlab new-copy 03")
    return 0
