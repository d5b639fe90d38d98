"""`ringlab lab` as a process: for this machine and user only, nothing in the home folder, one Ctrl-C ends it."""

import json
import signal
import sys
import urllib.error

import harness
import psutil
import pytest
import websocket

pytestmark = pytest.mark.slow


def test_the_token_is_on(server):
    assert server.token
    assert server.api("GET", "api/contents")["type"] == "directory"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        harness.OPENER.open(server.base + "api/contents", timeout=30)


def test_the_address_opens_the_first_lesson(server):
    assert "/lab/tree/00_start_here.ipynb?token=" in server.address
    with harness.OPENER.open(server.address, timeout=30) as answer:
        assert answer.status == 200


def test_it_listens_on_this_machine_only(server):
    listening = [
        one.laddr.ip
        for one in psutil.Process(server.process.pid).net_connections(kind="inet")
        if one.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert set(listening) == {"127.0.0.1"}


def test_the_news_are_off_and_the_extension_manager_asks_nobody(server):
    with harness.OPENER.open(server.address, timeout=30) as answer:
        page = answer.read().decode()
    config = json.loads(page.split('id="jupyter-config-data" type="application/json">')[1].split("</script>")[0])
    assert config["disabledExtensions"] == ["@jupyterlab/apputils-extension:announcements"]
    settings = server.api("GET", "lab/api/settings/@jupyterlab/apputils-extension:notification")
    assert settings["schema"]["properties"]["fetchNews"]["default"] == "false"


def test_the_home_folder_gets_no_settings_and_the_copies_no_answers(server):
    home = server.folder / "home"
    made = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    assert {name.split("/")[0] for name in made} <= {".local", ".cache"}, made
    for copy in (server.folder / "my-lessons").glob("*.ipynb"):
        cells = json.loads(copy.read_text(encoding="utf-8"))["cells"]
        assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []


def await_kernel(server, number):
    """Wait until a kernel answers: one that is interrupted while Python starts in it prints a traceback."""
    address = f"{server.base.replace('http', 'ws', 1)}api/kernels/{number}/channels"
    line = websocket.create_connection(
        address, header=[f"Authorization: token {server.token}"], http_no_proxy=["127.0.0.1"], timeout=harness.SECONDS
    )
    try:
        while json.loads(line.recv())["content"].get("execution_state") != "idle":
            pass
    finally:
        line.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process there")
def test_one_interrupt_ends_the_lab_and_its_kernels(tmp_path):
    with harness.lab(tmp_path) as server:
        await_kernel(server, server.api("POST", "api/kernels", {"name": "python3"})["id"])
        family = psutil.Process(server.process.pid).children(recursive=True)
        assert family
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=30) == 0
        _, alive = psutil.wait_procs(family, timeout=30)
        assert alive == []
        assert "Traceback" not in (tmp_path / "lab.log").read_text()
