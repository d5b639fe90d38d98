"""Learners' copies: without the answers, and never written again."""

import json
import os

import pytest

from ringlab.lab import copies


def cell(source, count=None, outputs=()):
    return {
        "cell_type": "code",
        "id": "a1",
        "metadata": {"tags": ["kept"]},
        "source": [source],
        "execution_count": count,
        "outputs": list(outputs),
    }


def notebook(*cells):
    return {"cells": list(cells), "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}


ANSWER = {"output_type": "stream", "name": "stdout", "text": ["384 bytes\n"]}


@pytest.fixture
def masters(tmp_path):
    folder = tmp_path / "notebooks"
    (folder / "pictures").mkdir(parents=True)
    (folder / ".ipynb_checkpoints").mkdir()
    for name in ("00_start_here", "03_the_ring_step_by_step"):
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook(cell("print(384)", 1, [ANSWER]))))
    (folder / ".ipynb_checkpoints" / "old.ipynb").write_text("{}")
    (folder / "pictures" / "ring.svg").write_text("<svg/>")
    return folder


def test_a_copy_has_no_outputs_and_no_counts_and_all_the_rest(masters, tmp_path):
    copies.make(masters, tmp_path / "mine")
    copy = json.loads((tmp_path / "mine" / "00_start_here.ipynb").read_text())
    assert copy == notebook(cell("print(384)"))


def test_the_master_is_not_changed(masters, tmp_path):
    before = (masters / "00_start_here.ipynb").read_bytes()
    copies.make(masters, tmp_path / "mine")
    assert (masters / "00_start_here.ipynb").read_bytes() == before


def test_every_lesson_and_picture_is_copied_and_no_hidden_file(masters, tmp_path):
    new = copies.make(masters, tmp_path / "mine")
    names = {str(path.relative_to(tmp_path / "mine")) for path in new}
    assert names == {"00_start_here.ipynb", "03_the_ring_step_by_step.ipynb", os.path.join("pictures", "ring.svg")}
    assert {path for path in (tmp_path / "mine").rglob("*") if path.is_file()} == set(new)


def test_a_copy_that_is_there_is_never_overwritten(masters, tmp_path):
    mine = tmp_path / "mine" / "00_start_here.ipynb"
    mine.parent.mkdir()
    mine.write_text("my own work")
    new = copies.make(masters, tmp_path / "mine")
    assert mine.read_text() == "my own work"
    assert mine not in new
    assert copies.make(masters, tmp_path / "mine") == []


def test_a_lesson_that_is_new_in_the_clone_is_added(masters, tmp_path):
    copies.make(masters, tmp_path / "mine")
    (masters / "04_bytes.ipynb").write_text(json.dumps(notebook()))
    assert copies.make(masters, tmp_path / "mine") == [tmp_path / "mine" / "04_bytes.ipynb"]


def test_a_copy_that_appears_meanwhile_is_not_overwritten(masters, tmp_path, monkeypatch):
    """Two starts at once: the other one writes between our look and our writing."""
    mine = tmp_path / "00_start_here.ipynb"
    strip = copies.without_outputs

    def slow_strip(book):
        mine.write_text("the other one's")
        return strip(book)

    monkeypatch.setattr(copies, "without_outputs", slow_strip)
    assert not copies.write_new(masters / "00_start_here.ipynb", mine)
    assert mine.read_text() == "the other one's"
    assert list(tmp_path.glob(".*")) == []


def test_a_disk_that_fills_leaves_no_half_written_copy(masters, tmp_path, monkeypatch):
    def fills(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies.Path, "read_bytes", fills)
    with pytest.raises(OSError, match="No space left"):
        copies.make(masters, tmp_path / "mine")
    assert [path for path in (tmp_path / "mine").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("lesson", ["03", "03_the_ring_step_by_step", "03_the_ring_step_by_step.ipynb", "the_ring"])
def test_a_fresh_copy_stands_beside_the_old_one(masters, tmp_path, lesson):
    mine = tmp_path / "mine"
    copies.make(masters, mine)
    old = mine / "03_the_ring_step_by_step.ipynb"
    old.write_text("my own work")
    assert copies.new_copy(lesson, masters, mine) == mine / "03_the_ring_step_by_step-2.ipynb"
    assert copies.new_copy(lesson, masters, mine) == mine / "03_the_ring_step_by_step-3.ipynb"
    assert old.read_text() == "my own work"


@pytest.mark.parametrize(("lesson", "said"), [("17", "no lesson is called '17'"), ("0", "more than one lesson")])
def test_a_fresh_copy_of_what_is_not_one_lesson(masters, tmp_path, lesson, said):
    with pytest.raises(ValueError, match=said):
        copies.new_copy(lesson, masters, tmp_path / "mine")


def test_a_class_may_share_one_clone(monkeypatch, tmp_path):
    monkeypatch.setenv("RINGLAB_LESSONS", str(tmp_path / "mine"))
    assert copies.copies_folder() == tmp_path / "mine"
