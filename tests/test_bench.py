"""The benches: what they measure is checked, what they say is right, and what is missing is named."""

import json
import os
import sys

import numpy as np
import pytest
from test_shm import in_a_small_container

import ringlab as rl
from ringlab import bench, bench_interaction, bench_peers, bench_table, bench_timing, verdicts
from ringlab.__main__ import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shm wire is not for Windows")


# ---- the measurement -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("length", [1, 7, 8, 1000])
def test_sums_in_place_are_checked_exactly(ranks, length):
    count = min(20, bench_timing.most_repeats(ranks))
    buffers = [np.empty(length, np.float32) for _ in range(ranks)]
    for rank, x in enumerate(buffers):
        bench_timing.fill(x, rank)
    for _ in range(count):
        total = sum(buffers)
        for x in buffers:
            x[:] = total
    assert all(bench_timing.is_right(x, ranks, count) for x in buffers)
    assert np.isfinite(buffers[0]).all()
    for wrong in (buffers[0] * 1.01, buffers[0] / 2, np.full(length, np.nan, np.float32), np.zeros(length, np.float32)):
        assert not bench_timing.is_right(wrong.astype(np.float32), ranks, count)
    last = buffers[0].copy()
    last[-1] += last[-1] / 8
    assert not bench_timing.is_right(last, ranks, count)


def test_a_measurement_counts_and_times_what_it_says():
    calls = []

    def allreduce(x):
        calls.append(x.copy())
        x *= 2

    seconds, right = bench_timing.measure(
        np.empty(16, np.float32), allreduce, lambda: calls.append("barrier"), 0, 2, 5, 3
    )
    kinds = ["barrier" if isinstance(call, str) else float(call.sum()) for call in calls]
    assert kinds == [0, 0, 0, "barrier", 72, 144, 288, 576, 1152]
    assert seconds > 0
    assert not right, "1 + 1 where 1 + 2 was due"


def test_sizes():
    assert [bench.parse_size(text) for text in ("256", "4KB", "4KiB", "64MB", "64 MiB", "1gb", 1001)] == [
        256,
        4000,
        4096,
        64 * 10**6,
        64 * 2**20,
        10**9,
        1000,
    ]
    for text in ("", "MB", "-4", "4.5KB", "4XB", "KB4"):
        with pytest.raises(verdicts.BadInput, match="is no number of bytes"):
            bench.parse_size(text)


# ---- ours ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return bench.compare("ring", ranks=[2, 3], sizes=[256, "300KB"], turns=2)


@pytest.mark.slow
def test_rows_for_both_wires_and_both_kinds_of_buffers(table):
    assert [(row.who, row.ranks, row.nbytes, row.buffers) for row in table] == [
        (who, ranks, nbytes, buffers)
        for ranks in (2, 3)
        for nbytes in (256, 300_000)
        for who in ("shm", "pipe")
        for buffers in ("resident", "private")
    ]
    assert all(row.right and row.seconds > 0 and row.spread >= 0 for row in table)


def test_bandwidths_and_the_share_of_the_limit(table):
    row = table.row("shm", 3, 300_000, "resident")
    assert row.algbw == pytest.approx(300_000 / row.seconds)
    assert row.busbw == pytest.approx(row.algbw * 4 / 3)
    assert 0 < row.limit_share
    note = next(note for note in table.notes if note.startswith("3 ranks, 300 KB: memory moves"))
    assert "so no ring here can take less than" in note


def test_the_ring_moves_5_times_p_minus_1_buffers_through_memory():
    from ringlab.bench_ours import limit_seconds

    assert limit_seconds(4, 1000, copy=1.0, add=1.0) == 5 * 3 * 1000


def test_the_table_reads_like_nccl_tests(table):
    lines = str(table).splitlines()
    assert lines[0].startswith("2 ranks on ")
    assert lines[1].split() == ["size", "who", "buffers", "time", "±", "algbw", "busbw", "of", "limit"]
    assert lines[2].split()[:4] == ["256", "B", "shm", "resident"]


@pytest.mark.slow
def test_more_ranks_than_cores_are_called_oversubscribed(monkeypatch):
    monkeypatch.setattr(bench.machine, "cpus", lambda: 1.5)
    found = bench.compare(ranks=2, sizes=256, wires=["shm"], turns=1)
    assert found[0].oversubscribed
    assert str(found).splitlines()[0] == "2 ranks on 1.5 cores, float32, sum, in place: oversubscribed"


def test_your_own_ring_in_the_table():
    def my_ring(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(p - 1):
            send(chunks[(rank - k) % p], (rank + 1) % p)
            chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
        for k in range(p - 1):
            send(chunks[(rank - k + 1) % p], (rank + 1) % p)
            chunks[(rank - k) % p] = recv((rank - 1) % p)
        return chunks

    found = rl.bench.compare(["ring", my_ring], ranks=2, sizes="64KiB", wires=["shm"], turns=1)
    assert [row.algorithm for row in found] == ["ring_allreduce"] * 2 + ["my_ring"] * 2
    assert all(row.right for row in found)
    assert str(found).splitlines()[1].endswith("algorithm")


@pytest.mark.slow
def test_a_wrong_result_is_marked():
    found = bench.compare(rl.bugs.mixed_numbering, ranks=2, sizes=4096, wires=["shm"], turns=1)
    assert not any(row.right for row in found)
    assert "WRONG" in str(found)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ranks": 0}, "out of range"),
        ({"wires": ["virtual"]}, "wire 'virtual' is not measured"),
        ({"against": ["nccl"]}, "peer 'nccl' is not known"),
        ({"algorithms": "rings"}, "algorithm 'rings' is not known"),
        ({"sizes": "big"}, "size 'big'"),
    ],
)
def test_nonsense_is_refused(options, says):
    with pytest.raises(verdicts.BadInput, match=says):
        bench.compare(**options)


# ---- peers -----------------------------------------------------------------------------------------------------


def test_peers_that_are_not_here_are_named_with_the_command_that_installs_them(monkeypatch):
    monkeypatch.setattr(bench_peers, "launcher", lambda name: None if name == "mpich" else "/usr/bin/mpiexec")
    monkeypatch.setattr(bench_peers.importlib.util, "find_spec", lambda name: None)
    found = bench.compare(ranks=2, sizes=256, wires=["shm"], against=["mpich", "openmpi", "gloo"], turns=1)
    assert found.notes[:3] == [
        "mpich is not measured, its mpiexec is not installed: pip install '.[mpi]'",
        "openmpi is not measured, mpi4py is not installed: apt install openmpi-bin && pip install mpi4py",
        "gloo is not measured, PyTorch is not installed: pip install torch",
    ]
    assert len(found) == 2


def test_launchers_are_told_apart(tmp_path, monkeypatch):
    for name, says in (("mpiexec", "mpiexec (OpenRTE) 4.1.4"), ("mpiexec.hydra", "HYDRA build details: Version: 5.0")):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(bench_peers.sys, "executable", str(tmp_path / "bin" / "python"))
    bench_peers.launcher.cache_clear()
    try:
        assert bench_peers.launcher("openmpi") == str(tmp_path / "mpiexec")
        assert bench_peers.launcher("mpich") == str(tmp_path / "mpiexec.hydra")
    finally:
        bench_peers.launcher.cache_clear()


class FakePeer(bench_peers.PeerJob):
    """Processes of a Python program in the place of a peer's."""

    program = ""

    def _commands(self):
        head = f"import sys; sys.path[:] = {sys.path!r}; folder, ranks = {self._folder!r}, {self.ranks}\n"
        return [([sys.executable, "-c", f"{head}rank = {rank}\n{self.program}"], None) for rank in range(self.ranks)]


class GoodPeer(FakePeer):
    program = """
import numpy as np
from ringlab.bench_peer import serve
from ringlab.bench_timing import fill
def allreduce(x):
    if x.any():
        others = [np.empty_like(x) for _ in range(ranks)]
        for other, rank in zip(others, range(ranks)):
            fill(other, rank)
        x[:] = sum(others) * ranks ** calls.pop()
calls = [2, 1, 0]
serve(folder, ranks, rank, allreduce, lambda: None, "a peer")
"""


class WrongPeer(FakePeer):
    program = 'from ringlab.bench_peer import serve\nserve(folder, ranks, rank, lambda x: None, lambda: None, "a peer")'


class DeadPeer(FakePeer):
    program = 'raise SystemExit("mpi4py does not belong to this mpiexec" if rank else 0)'


def test_a_peer_measures_what_it_is_told_and_is_checked_as_we_are():
    job = GoodPeer("mpich", 2)
    try:
        assert (job.failed, job.library) == (None, "a peer")
        seconds, right = job.measure(4096, 3, 2)
        assert seconds > 0
        assert right
    finally:
        job.close()
    job = WrongPeer("mpich", 2)
    try:
        assert job.measure(4096, 3, 2)[1] is False
    finally:
        job.close()
    assert not any(process.poll() is None for process in job._processes)


def test_a_peer_that_dies_is_a_note_and_not_an_end(monkeypatch):
    monkeypatch.setattr(bench_peers, "PeerJob", DeadPeer)
    monkeypatch.setattr(bench_peers, "missing", lambda name: None)
    found = bench.compare(ranks=2, sizes=256, wires=["shm"], against=["mpich"], turns=1)
    assert len(found) == 2
    assert "mpich with 2 ranks ended early: mpi4py does not belong to this mpiexec" in found.notes


def of_peers():
    """Names in /dev/shm that are not of kernels: our own, and semaphores of progress bars in other tests."""
    return {file for file in os.listdir("/dev/shm") if not file.startswith(("ringlab", "sem."))}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mpich", "openmpi", "gloo"])
def test_side_by_side_with(name):
    if bench_peers.missing(name):
        reason = f"{name}: {bench_peers.missing(name)}"
        # PyTorch is no dependency of the lab, and Windows has no wheels of MPICH; else CI has both MPIs
        assert name == "gloo" or sys.platform == "win32" or (name == "openmpi" and not os.environ.get("CI")), reason
        pytest.skip(reason)
    before = of_peers()
    found = bench.compare(ranks=[2, 4], sizes=[256, "1MiB"], wires=["shm"], against=[name], turns=2)
    assert of_peers() <= before, "peers tidy up too"
    theirs = [row for row in found if row.who == name]
    assert len(theirs) == 4
    assert all(row.right and row.buffers == "private" for row in theirs)
    assert f"/ {name}" in str(found)


# ---- the command -----------------------------------------------------------------------------------------------


def test_the_command_prints_saves_and_draws(tmp_path, capsys):
    rows, drawing = tmp_path / "rows.json", tmp_path / "plot.html"
    arguments = "bench --ranks 2 --sizes 256,4KB --wires shm,pipe --against none --turns 1".split()
    assert main([*arguments, "--json", str(rows), "--plot", str(drawing)]) == 0
    out = capsys.readouterr().out
    assert "2 ranks on" in out
    saved = json.loads(rows.read_text())
    keys = {"who", "ranks", "nbytes", "buffers", "seconds", "spread", "algbw", "busbw", "limit_share"}
    assert len(saved) == 8
    assert keys <= set(saved[0])
    html = drawing.read_text()
    assert "shm, resident" in html
    assert '<script src="http' not in html
    assert "cdn.plot.ly/plotly" not in html


def test_the_command_says_what_it_cannot_read(capsys):
    assert main("bench --ranks two --against none".split()) == 1
    assert "--ranks two are no numbers" in capsys.readouterr().err
    assert main("bench --sizes huge --against none".split()) == 1
    assert "size 'huge' is no number of bytes" in capsys.readouterr().err
    assert main("bench --turns 0".split()) == 1


@pytest.mark.slow
def test_a_container_with_64_megabytes_measures_what_fits():
    out = in_a_small_container(
        """
        from ringlab import bench
        print(bench.compare(ranks=2, sizes=["256KiB", "64MiB"], wires=["shm"], turns=1))
        """.replace("'", '"'),
        64,
    )
    assert [line.split()[:4] for line in out[2:4]] == [
        ["256", "KiB", "shm", "resident"],
        ["256", "KiB", "shm", "private"],
    ]
    assert any(line.startswith("shm with 2 ranks of 64 MiB: rank ") and "are needed" in line for line in out)


def test_words_for_numbers():
    assert bench_table.size_text(3 * 2**20) == "3 MiB"
    assert bench_table.time_text(0.00042) == "420 us"
    assert bench_table.rate_text(12.3e9) == "12.3 GB/s"


# ---- interaction -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_figures_a_learner_feels(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench_interaction, "TRACED_BYTES", 10**5)
    monkeypatch.setattr(bench_interaction, "notebook_starts", lambda times: [1.0, 2.0, 3.0])
    assert main(["bench", "interaction", "--turns", "2", "--json", str(tmp_path / "figures.json")]) == 0
    rows = {row["what"]: row for row in json.loads((tmp_path / "figures.json").read_text())}
    assert 0 < rows["import ringlab, beyond numpy"]["value"] < 5
    assert 0.01 < rows["first call of rl.run, 4 ranks"]["value"] < 60
    for wire in ("pipe", "shm"):
        assert 0 < rows[f"warm call of rl.run, 8 ranks, {wire}"]["value"] < 5
    assert 1000 < rows["rl.show of a run, HTML"]["value"] < 10**6
    assert rows["notebook: kernel up and ringlab imported"]["value"] == 2
    assert "first call of rl.run" in capsys.readouterr().out
    rl.close()


def test_the_record_is_compared_with_the_same_ring_without_it():
    shares = bench_interaction.trace_overhead(3, nbytes=10**5)
    assert len(shares) == 3
    assert all(-1 < share < 100 for share in shares)
