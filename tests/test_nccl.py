"""Logs of nccl-tests: what is in them is read, what is broken is named with its line, and the A100's come out."""

import json

import pytest

import ringlab as rl
from ringlab.verdicts import BadInput

HEAD = """# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20
#  Rank  0 Group  0 Pid  15386 on node device  0 [0000:19:00] Some card
#  Rank  1 Group  0 Pid  15386 on node device  1 [0000:3b:00] Some card
node:15386 NCCL INFO using network IB
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
GOOD = """        1024           256  float  sum  -1  12.50  0.08  0.08      0    12.00    0.09    0.09      0
     1048576        262144  float  sum  -1  40.00   26.21   26.21      0    42.00   24.97   24.97    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 13.1
"""


def log_of(tmp_path, text, name="my.log"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_log_is_read(tmp_path):
    log = rl.read_nccl(log_of(tmp_path, HEAD + GOOD))
    assert (log.collective, log.ranks, log.bad) == ("allreduce", 2, ())
    assert [(row.nbytes, row.seconds, row.wrong, row.line) for row in log.rows] == [
        (1024, pytest.approx(12e-6), 0, 9),
        (1048576, pytest.approx(40e-6), 0, 10),
    ]
    assert repr(log) == "my.log: allreduce over 2 ranks, 2 sizes from 1,024 to 1,048,576 bytes"
    assert "26.21" in log.table().splitlines()[-1]
    alpha, beta = log.fit().values  # 2 messages of S/2: two unknowns and two points
    assert 2 * (alpha + beta * 512) == pytest.approx(12e-6)
    network = log.network()
    assert network.alpha == alpha and "my.log" in network.source


def test_older_logs_have_no_root(tmp_path):
    head = HEAD.replace("redop    root", "redop").replace("all_reduce_perf", "something")
    text = (
        head
        + "        1024           256   float     sum    12.50    0.08    0.08  0e+00    11.00    0.09    0.09  0e+00\n"
    )
    log = rl.read_nccl(log_of(tmp_path, text))
    assert [row.seconds for row in log.rows] == [pytest.approx(11e-6)]


def test_bad_lines_are_named_and_the_rest_is_read(tmp_path):
    bad = [
        "        2048           512 float sum -1 12.",
        "        4096          1024 float sum -1 -3.0 0.08 0.08 0 12.00 0.09 0.09 0",
        "          -8          1024 float sum -1 12.0 0.08 0.08 0 12.00 0.09 0.09 0",
        "        8192          1024 float sum -1  nan 0.08 0.08 0 12.00 0.09 0.09 0",
        "        8192          1024 float sum -1  oops 0.08 0.08 0 12.0 0.09 0.09 0",
    ]
    log = rl.read_nccl(log_of(tmp_path, HEAD + "\n".join(bad) + "\n" + GOOD))
    assert len(log.rows) == 2
    assert [number for number, _, _ in log.bad] == [9, 10, 11, 12, 13]
    for line, said in zip(
        repr(log).splitlines()[1:],
        [
            "6 columns where 8",
            "time -3.0 is no number of micro",
            "size -8 is no",
            "time nan is no",
            "time 'oops' is no",
        ],
        strict=True,
    ):
        assert said in line
    assert "left out: line 9:" in repr(log)


def test_wrong_results_are_said(tmp_path):
    log = rl.read_nccl(log_of(tmp_path, HEAD + GOOD.replace("0    12.00", "7    12.00")))
    assert log.rows[0].wrong == 7
    assert "wrong results in line 9" in repr(log)


def test_json_is_read(tmp_path):
    side = {"time": 12.5, "alg_bw": 0.1, "bus_bw": 0.1, "nwrong": 0.0}
    content = {
        "version": 2,
        "args": ["./build/all_gather_perf", "-g", "4"],
        "config": {"devices": [{"rank": rank} for rank in range(4)]},
        "results": [
            {"size": 1024, "out_of_place": side, "in_place": {**side, "time": 11.0}},
            {"size": 2048, "out_of_place": None, "in_place": {**side, "nwrong": None}},
            {"size": 4096, "out_of_place": {"time": "nan"}},
            {"size": 4096.5, "out_of_place": side},
            {"out_of_place": side},
            7,
        ],
    }
    log = rl.read_nccl(log_of(tmp_path, json.dumps(content), "my.json"))
    assert (log.collective, log.ranks) == ("all_gather", 4)
    assert [(row.nbytes, row.seconds, row.wrong) for row in log.rows] == [
        (1024, pytest.approx(11e-6), 0),
        (2048, pytest.approx(12.5e-6), None),
    ]
    assert [number for number, _, _ in log.bad] == [3, 4, 5, 6]
    with pytest.raises(BadInput, match=r"my\.json is about all_gather"):
        log.fit()


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", {}, "my.log is empty"),
        ("  \n\n", {}, "my.log is empty"),
        ("# nothing\nhello\n", {}, "my.log has no measurement in it"),
        ("\n1024 256 float\n", {}, "line 2: 3 columns where 8 or more are needed: '1024 256 float'"),
        ("{", {}, "my.log is no JSON from line 1 on"),
        ("{}", {}, "my.log has no list 'results'"),
        (GOOD, {}, "my.log does not say how many ranks"),
        (GOOD, {"ranks": 0}, "ranks=0 is out of range"),
        (GOOD, {"ranks": 2, "collective": "gossip"}, "collective='gossip' is not known"),
    ],
)
def test_nonsense_is_named(tmp_path, text, options, said):
    with pytest.raises(BadInput) as caught:
        rl.read_nccl(log_of(tmp_path, text), **options)
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match=r"path=.*cannot be read"):
        rl.read_nccl(tmp_path / "nowhere.log")


# ---- eight A100, as published ----------------------------------------------------------------------------------------


def test_the_a100_table_is_the_published_one():
    log = rl.read_nccl(rl.A100)
    assert (log.collective, log.ranks, len(log.rows), log.bad) == ("allreduce", 8, 20, ())
    assert [row.nbytes for row in log.rows] == [2**k for k in range(15, 35)]
    row = next(row for row in log.rows if row.nbytes == 2**30)
    assert row.seconds == pytest.approx(8203.9e-6)
    assert log.table().splitlines()[16].split() == ["1,073,741,824", "8203.90", "130.88", "229.04"]


def test_two_fits_of_the_a100_and_their_residuals():
    log = rl.read_nccl(rl.A100)
    plain, relative = log.fit(relative=False), log.fit()
    assert [round(1e6 * plain.values[0], 1), round(1e-9 / plain.values[1], 1)] == [10.6, 235.1]
    assert [round(1e6 * relative.values[0], 1), round(1e-9 / relative.values[1], 1)] == [4.0, 210.6]
    assert round(100 * relative.worst) == 36
    assert round(100 * plain.worst) == 241  # 32 KiB: a fit of seconds does not see it
    worst = max(range(20), key=lambda i: abs(relative.residuals[i]))
    assert log.rows[worst].nbytes == 2**20 and relative.residuals[worst] < 0
    rising = [round(100 * r) for r in relative.residuals]
    assert rising == [29, 21, 11, -5, -25, -36, -27, -10, -6, -29, -21, -10, -12, -6, 7, 9, 10, 11, 11, 12]
