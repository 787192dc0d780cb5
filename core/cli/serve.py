"""`openquery` without a command: the server of the pages."""

import argparse
import os
import runpy
import signal
import socket
import sys

from core.config.settings import ROOT, Settings
from core.errors import BadInput

INTERRUPTED = 130
LOOPBACK = "127.0.0.1"


def serve_pages(options: argparse.Namespace) -> int:
    """Run Streamlit with `server.py` until it is stopped.

    Other options are read from `.streamlit/config.toml`.

    Streamlit runs as a program, like `python -m streamlit`, because the core does not import it.

    Raises:
        BadInput: when the settings are wrong.
    """
    Settings.read()
    check_address(options.host or LOOPBACK, options.port or 0)
    values = {"--server.address": options.host, "--server.port": options.port}
    flags = [f"{name}={value}" for name, value in values.items() if value is not None]
    # `server.py` prints the address in place of Streamlit's welcome, which asks an external server for the public
    # address.
    sys.argv = ["streamlit", "run", str(ROOT / "server.py"), "--logger.hideWelcomeMessage=true", *flags]
    interrupt = Interrupt()
    try:
        runpy.run_module("streamlit", run_name="__main__")
    except SystemExit:
        if not interrupt.came:
            raise
    return INTERRUPTED if interrupt.came else 0


def check_address(host: str, port: int) -> None:
    """Check that a server can listen on an address, before anything is started. Any free port is 0.

    Raises:
        BadInput: when it cannot.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except (socket.gaierror, UnicodeError) as error:
        raise BadInput(f"{host} is no address of this machine.", hint="Name one by --host.") from error
    except OSError as error:
        where = f"port {port} of {host}" if port else host
        reason = os.strerror(error.errno or 0)  # Python's own words repeat the address
        raise BadInput(
            f"OpenQuery cannot listen on {where}: {reason}.",
            hint="Choose another address by --host and --port, or end the program that uses it.",
        ) from error


class Interrupt:
    """Record Ctrl-C: servers end cleanly on it, and then each has its own exit code."""

    def __init__(self) -> None:
        self.came = False
        signal.signal(signal.SIGINT, self._note)

    def _note(self, *_: object) -> None:
        self.came = True
        raise KeyboardInterrupt
