"""Imported by every Python of a browser test (server, kernels, ranks): notes each attempt to reach another machine.

The names go to the file RINGLAB_AUDIT, one a line. Nothing is stopped here; the test fails when the file is not empty.
"""

import os
import socket
import sys

LOCAL = {None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::", socket.gethostname()}


def note(event, args):
    host = None
    if event == "socket.connect" and isinstance(args[1], tuple):  # a text or bytes is a socket of this machine
        host = args[1][0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = args[0].decode() if isinstance(args[0], bytes) else args[0]
    if host not in LOCAL and not str(host).startswith("127."):
        line = f"{event} {host} by {' '.join(sys.orig_argv[:4])}\n"
        os.write(AUDIT, line.encode())


if path := os.environ.get("RINGLAB_AUDIT"):
    AUDIT = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    sys.addaudithook(note)
