"""`ringlab check FILE.py:function`: the same verdicts in a terminal, and the file is executed on ranks only."""

import json
import os

import pytest

from ringlab.__main__ import main
from ringlab.judge.learnerfile import LearnerFunction
from ringlab.verdicts import BadInput

LEARNERS = """
import os
import pathlib
from beside import right

pathlib.Path(__file__).with_name("executed").write_text(str(os.getpid()))


def my_ring(chunks, rank, send, recv):
    p = len(chunks)
    for t in range(2 * (p - 1)):
        send(chunks[(rank - t) % p], right(rank, p))
        came = recv((rank - 1) % p)
        if t < p - 1:
            chunks[(rank - t - 1) % p] += came
        else:
            chunks[(rank - t - 1) % p] = came
    return chunks


def breaks(chunks, rank, send, recv):
    send(chunks[rank], right(rank, len(chunks)))
    return chunks[len(chunks)]


def stub(chunks, rank, send, recv):
    return chunks


def three(chunks, rank, pair):
    return chunks


def with_option(chunks, rank, send, recv, *, loud=False):
    return my_ring(chunks, rank, send, recv)
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.py").write_text(LEARNERS, encoding="utf-8")
    (tmp_path / "beside.py").write_text("def right(rank, p):\n    return (rank + 1) % p\n", encoding="utf-8")
    return str(tmp_path / "mine.py")


def test_a_right_one_passes_with_exit_code_0(file, capsys):
    assert main(["check", f"{file}:my_ring", "--ranks", "2,4"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "passed with 2 and 4 ranks: every rank holds the sum",
        "with 4 ranks: 6 rounds, each rank sends 6 messages and 1.5 S, the fewest bytes possible",
    ]


def test_the_file_is_executed_on_ranks_only(file, tmp_path):
    assert main(["check", f"{file}:my_ring", "--ranks", "2"]) == 0
    assert int((tmp_path / "executed").read_text()) != os.getpid()


def test_a_wrong_one_fails_with_exit_code_1_and_its_own_line(file, capsys):
    assert main(["check", f"{file}:breaks", "--ranks", "4"]) == 1
    out = capsys.readouterr().out
    assert "in round 0 rank 0 raised IndexError: list index out of range" in out
    assert "line 23: return chunks[len(chunks)]" in out
    assert "hints: add --hints 1, then 2, then 3" in out
    assert "take the number % p" not in out


def test_hints_come_one_by_one(file, capsys):
    lengths = []
    for count in ("0", "1", "2", "3"):
        main(["check", f"{file}:breaks", "--ranks", "4", "--hints", count])
        lengths.append(len(capsys.readouterr().out.splitlines()))
    assert lengths[1:] == [lengths[0] + 2, lengths[0] + 3, lengths[0] + 4]


def test_a_stub_is_not_written_yet(file, capsys):
    assert main(["check", f"{file}:stub"]) == 1
    assert capsys.readouterr().out == "not written yet: adding 0 of 12 messages, copying 0 of 12\n"


def test_json_tells_everything(file, capsys):
    assert main(["check", f"{file}:three", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["verdict"], told["family"]) == (False, "EXCEPTION", "signature")
    assert "three takes (chunks, rank, pair)" in told["text"][0]
    assert main(["check", "ring", "--json", "--ranks", "3", "--at-most", "ring"]) == 0
    assert json.loads(capsys.readouterr().out)["grades"]["3"]["peak_port"] == pytest.approx(4 / 3)


def test_an_option_more_is_no_mistake(file):
    assert main(["check", f"{file}:with_option", "--ranks", "2"]) == 0


def test_our_own_can_be_judged_by_name(capsys):
    assert main(["check", "star", "--at-most", "ring", "--ranks", "4"]) == 1
    assert "rank 0 moves 6 S" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{file}", "names no function"),
        ("{file}:nobody", "has no function 'nobody'"),
        ("{file}.gone:my_ring", "cannot be read"),
        ("{file}:not a name", "names no function"),
        ("{folder}/broken.py:f", "broken.py, line 1"),
    ],
)
def test_what_names_no_function_is_said_in_a_sentence(file, tmp_path, capsys, text, words):
    (tmp_path / "broken.py").write_text("def f(:\n", encoding="utf-8")
    assert main(["check", text.format(file=file, folder=tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("BAD_INPUT")
    assert words in error
    assert "Traceback" not in error


def test_numbers_of_ranks_must_be_numbers(file, capsys):
    assert main(["check", f"{file}:my_ring", "--ranks", "2,four"]) == 1
    assert "no list of numbers" in capsys.readouterr().err


def test_reading_a_file_executes_nothing(tmp_path):
    path = tmp_path / "harm.py"
    path.write_text("raise SystemExit('executed')\ndef f(chunks, rank, send, recv): return chunks\n", encoding="utf-8")
    function = LearnerFunction.read(str(path), "f")
    assert function.source() == [(2, "def f(chunks, rank, send, recv): return chunks")]
    with pytest.raises(BadInput, match="it has f"):
        LearnerFunction.read(str(path), "g")


def test_a_file_that_raises_when_it_is_read_says_where(tmp_path, capsys):
    path = tmp_path / "harm.py"
    path.write_text("x = 1\ny = x / 0\ndef f(chunks, rank, send, recv): return chunks\n", encoding="utf-8")
    assert main(["check", f"{path}:f"]) == 1
    out = capsys.readouterr().out
    assert "ZeroDivisionError" in out
    assert "line 2: y = x / 0" in out
