"""The committed notebooks, the teacher's masters: run again as they stand, kept clean, checked.

`python3 lab.py refresh` runs every master (or those named) from top to bottom and saves the outputs, in a
form that does not change unless an output does: no times, no widget state, the same kernel name everywhere.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

from ringlab.lab import copies

LARGEST = 300_000  # bytes of a master: what a reader of a diff, and a page, can bear
SECONDS = 60  # for one cell; our subject deadlocks
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "pygments_lexer": "ipython3",
}
# Addresses that a page might ask for: not this machine, no namespace of SVG, not what plotly only saves.
OUTSIDE = re.compile(r"(?:https?|wss?|ftp)://(?!localhost\b|127\.0\.0\.1\b|www\.w3\.org/|plot\.ly\b)[^\s\"'<>)\\]+")
PICTURE = re.compile(r"!\[[^\]]*\]\(\s*https?://|<(?:img|script|iframe|link)[^>]*https?://", re.IGNORECASE)
WIDGET = "application/vnd.jupyter.widget-view+json"


def problems(notebook, size=0):
    """What keeps this notebook (a dict, nbformat 4) from being a master, one sentence each; [] for nothing.

    nbval compares nothing in a cell without an execution count, so a notebook with cleared outputs would pass
    whatever it prints: that above all is refused here.
    """
    found = []
    if size > LARGEST:
        found.append(f"it has {size:,} bytes, more than {LARGEST:,}")
    if "widgets" in notebook.get("metadata", {}):
        found.append("it holds saved widget state")
    kernel = notebook.get("metadata", {}).get("kernelspec", {}).get("name")
    if kernel != KERNEL["name"]:
        found.append(f"its kernel is {kernel!r}, not {KERNEL['name']!r}")
    counts = []
    for number, cell in enumerate(notebook["cells"]):
        source, where = "".join(cell["source"]), f"cell {number}"
        if cell["cell_type"] != "code":
            found += [f"{where} shows something from an outside address"] * bool(PICTURE.search(source))
            continue
        tags = cell["metadata"].get("tags", [])
        if source.strip():
            counts.append(cell["execution_count"])
        if source.strip() and cell["execution_count"] is None:
            found.append(f"{where} has no execution count: it was not run, and nbval would compare nothing")
        if any(key in cell["metadata"] for key in ("execution", "ExecuteTime")):
            found.append(f"{where} holds the times of a run")
        for address in OUTSIDE.findall(source):
            found.append(f"{where} names an outside address in its code: {address}")
        for output in cell["outputs"]:
            if output["output_type"] == "error" and "raises-exception" not in tags:
                found.append(f"{where} ends in {output['ename']} and is not tagged raises-exception")
            for address in OUTSIDE.findall(json.dumps(output)):
                found.append(f"{where} names an outside address in its output: {address}")
    if None not in counts and counts != list(range(1, len(counts) + 1)):
        found.append(f"its cells were not run once each from top to bottom: the counts are {counts}")
    return found


def problems_in(path):
    """`problems` of the notebook in a file."""
    text = Path(path).read_text(encoding="utf-8")
    return problems(json.loads(text), len(text.encode()))


def cleaned(notebook):
    """The notebook (nbformat's own kind), changed in place, without all that changes from run to run."""
    notebook.metadata = {"kernelspec": dict(KERNEL), "language_info": dict(LANGUAGE)}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        cell.metadata.pop("ExecuteTime", None)
        if cell.cell_type != "code":
            continue
        cell.outputs = joined(cell.outputs)
        for output in cell.outputs:
            data = output.get("data", {})
            if WIDGET in data:  # the id of a widget that nobody can find again; its text stays
                del data[WIDGET]
            if output.output_type == "error" and "\x1b" in "".join(output.traceback):
                # Python's own: its frames name files of this machine, in colour; ours are plain and stay
                output.traceback = [f"{output.ename}: {output.evalue}"]
    return notebook


def joined(outputs):
    """The outputs with neighbouring pieces of a stream made one: where a stream breaks depends on timing."""
    whole = []
    for output in outputs:
        last = whole[-1] if whole else None
        if last and output.output_type == "stream" == last.output_type and output.name == last.name:
            last.text += output.text
        else:
            whole.append(output)
    return whole


def refresh(path):
    """Run one master and save it if anything but the noise changed. Gives whether it was saved.

    Raises nbclient's CellExecutionError when a cell fails that is not tagged raises-exception; the file then
    stays as it was.
    """
    import nbformat
    from nbclient import NotebookClient

    path = Path(path)
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name=KERNEL["name"],
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute(env={**os.environ, "RINGLAB_PROGRESS": "off"})  # no bars among the outputs
    after = nbformat.writes(cleaned(notebook)) + "\n"
    if after == before:
        return False
    path.write_text(after, encoding="utf-8")
    return True


def main(argv=None):
    """Refresh the masters named (all without a name) and check them. Gives the exit code."""
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")  # the kernel of this environment
    from nbclient.exceptions import CellExecutionError

    words = sys.argv[1:] if argv is None else list(argv)
    everything = sorted(copies.masters_folder().glob("*.ipynb"))
    chosen = [path for path in everything if not words or any(Path(word).stem in path.stem for word in words)]
    if not chosen:
        print(
            f"ringlab: no master is called {' or '.join(words)}" if words else "ringlab: no masters",
            file=sys.stderr,
        )
        return 2
    failed = 0
    for path in chosen:
        started = time.monotonic()
        try:
            state = "saved" if refresh(path) else "unchanged"
            wrong = problems_in(path)
        except CellExecutionError as error:
            state, wrong = "FAILED", [str(error).strip()]
        print(f"{path.name:<45} {state:<10} {time.monotonic() - started:5.1f} s", flush=True)
        for sentence in wrong:
            print(f"    {sentence}")
        failed += bool(wrong)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
