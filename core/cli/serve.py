"""`openquery` without a command: the server of the pages."""

import argparse
import runpy
import signal
import sys

from core.config.settings import ROOT, Settings

INTERRUPTED = 130


def serve_pages(options: argparse.Namespace) -> int:
    """Run Streamlit with `server.py` until it is stopped.

    Other options are read from `.streamlit/config.toml`.

    Streamlit runs as a program, like `python -m streamlit`, because the core does not import it.

    Raises:
        BadInput: when the settings are wrong.
    """
    Settings.read()
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


class Interrupt:
    """Record Ctrl-C: servers end cleanly on it, and then each has its own exit code."""

    def __init__(self) -> None:
        self.came = False
        signal.signal(signal.SIGINT, self._note)

    def _note(self, *_: object) -> None:
        self.came = True
        raise KeyboardInterrupt
