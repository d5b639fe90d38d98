"""JupyterLab for the lab: on this machine only, token on, at the first lesson; no news, no update check.

Nothing of the user's own Jupyter settings is read or written: theme and layout of the lab live in the folder
of the copies. Whatever the user adds on the command line is JupyterLab's, and wins over what stands here.
"""

import asyncio
import contextlib
import errno
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from ringlab.lab import copies

PORT = 8888
FIRST = "00_start_here.ipynb"


def add_arguments(parser):
    parser.prefix_chars = "\0"  # so that options are taken as words too: they are JupyterLab's
    parser.add_argument("jupyterlab", nargs="*", help="what JupyterLab is to be told, such as --port 9000")


def command(options):
    """Make the missing copies and run JupyterLab until Ctrl-C. Gives the exit code."""
    argv = options.jupyterlab
    if {"-h", "--help", "--help-all", "--version"}.intersection(argv):
        return subprocess.call([sys.executable, "-m", "jupyterlab", *argv])
    try:
        folder = copies.copies_folder()
        new = copies.make(folder=folder)
    except FileNotFoundError as error:
        return refuse("There are no lessons here.", str(error))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None))
        wrong = "the disk is full" if full else error.strerror or str(error)
        return refuse(
            f"Your copies of the lessons cannot be made in {copies.FOLDER}: {wrong}.",
            "mend that, then run lab.py again.",
        )
    if new:
        print(f"Your copies of the lessons are in {folder} ({len(new)} new); nothing overwrites them.")
    port = port_of(argv)
    if port and is_busy(port):
        return refuse(
            f"Port {port} is taken, perhaps by a lab that runs already.",
            f"go to that one, or start this one on another port: python3 lab.py --port {free_port()}",
        )
    return serve(argv, folder)


def serve(argv, folder):
    """Start JupyterLab with the lab's settings; print its address; look the machine over once it is up."""
    os.environ.update(environment(folder))
    # jsonschema tries this import for one rarely used format, and it compiles a grammar for a whole second
    sys.modules.setdefault("rfc3987_syntax", None)
    from jupyterlab.labapp import LabApp
    from traitlets.config import Config

    try:
        server = LabApp.initialize_server(argv=argv, config=Config(settings(folder)))
    except SystemExit as stop:  # a setting that JupyterLab refuses: it has said which
        return stop.code if isinstance(stop.code, int) else 1
    address = server.local_url  # with the token in it, when it is one made for this run
    server.identity_provider.token_generated = False  # or JupyterLab would print the address again, in three ways
    signal.signal(signal.SIGINT, lambda *_: server.stop(from_signal=True))  # one Ctrl-C, kernels ended too

    def announce():
        print(f"\nThe lab is open at\n    {address}\nStop it with Ctrl-C.\n", flush=True)
        threading.Thread(target=look_over, daemon=True).start()

    server.io_loop.add_callback(announce)  # after the callback that opens the port
    server.start()
    end_tasks(server.io_loop.asyncio_loop)
    return 0


def end_tasks(loop):
    """Cancel what a stopped event loop still has to do, as asyncio.run would.

    A request of that moment can hold a thread, for which Python waits at its exit: the lab would never end.
    """
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def settings(folder):
    """JupyterLab's settings, as a dict; the command line wins over them."""
    return {
        "ServerApp": {
            "ip": "127.0.0.1",
            "port": PORT,
            "port_retries": 0,  # a second lab elsewhere by surprise confuses more than a clear refusal
            "root_dir": str(folder),
            "open_browser": has_browser(),
            "allow_root": hasattr(os, "geteuid") and os.geteuid() == 0,
            "log_level": "ERROR",
        },
        "LabApp": {
            "log_level": "ERROR",
            "default_url": f"/lab/tree/{FIRST}" if (folder / FIRST).exists() else "/lab",
            "news_url": None,
            "check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
            "extension_manager": "readonly",  # the other kind asks a package index
        },
        "LanguageServerManager": {"autodetect": False},  # looking for language servers runs npm at each start
    }


def environment(folder):
    """What JupyterLab reads from the environment: our labconfig, and where the learner's settings live."""
    return {
        "JUPYTER_CONFIG_PATH": str(Path(__file__).resolve().parent),
        "JUPYTER_CONFIG_DIR": str(folder / ".jupyter"),
        "IPYTHONDIR": str(ipython_folder(folder)),
        "JUPYTER_PREFER_ENV_PATH": "1",  # our kernel, not one of that name in the home folder
    }


def ipython_folder(folder):
    """Make and give the kernels' own settings: no start-up files of the user's, and no warning at each start that
    kernel and server talk without encryption (they do so inside this machine, with signed messages)."""
    place = folder / ".jupyter" / "ipython"
    config = place / "profile_default" / "ipython_kernel_config.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('{"IPKernelApp": {"log_level": "ERROR"}}\n', encoding="utf-8")
    return place


def look_over():
    """Run the doctor quietly, so that the terminal tells only what is wrong."""
    with contextlib.suppress(OSError):
        subprocess.run([sys.executable, "-m", "ringlab", "doctor", "--quiet"], stdin=subprocess.DEVNULL, check=False)


def has_browser():
    """Whether a window can open here: not on a text-only Linux, where a browser would fill the terminal."""
    if os.environ.get("BROWSER"):
        return True
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def port_of(argv):
    """The port that the command line asks for (0: any free one)."""
    text = " ".join(argv)
    found = re.findall(r"(?:^| )--(?:port|ServerApp\.port|LabApp\.port)[= ](\d+)", text)
    return int(found[-1]) if found else PORT


def is_busy(port):
    """Whether something on this machine listens on `port`, or this user may not."""
    with socket.socket() as probe:
        if os.name != "nt":  # as the server does: a port in TIME_WAIT is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def free_port():
    """A port that is free now, near the usual one."""
    return next(port for port in range(PORT + 1, 65536) if not is_busy(port))


def refuse(what, todo):
    print(f"lab.py: {what}\n        What to do: {todo}", file=sys.stderr)
    return 1
