"""How a worker process of this package is started: its command, its folder and its environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = __name__.removesuffix(".adapters.worker_process")
"""`core` in a checkout, `openquery.core` when installed."""
IMPORT_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder from which the package can be imported."""
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "SYSTEMROOT")
"""What some systems need to start Python at all. Nothing else of the environment is passed on: it has keys."""


def command(module: str, *arguments: str, python: str = sys.executable) -> tuple[str, ...]:
    """The command line that runs `module`, named relative to this package, such as `reading`.

    It must be run in `IMPORT_ROOT`, from where the module is imported.
    """
    return (python, "-E", "-X", "utf8", "-m", f"{_PACKAGE}.{module}", *arguments)


def environment() -> dict[str, str]:
    """The environment variables of a worker process."""
    passed = {name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ}
    return passed | {"OPENBLAS_NUM_THREADS": "1"}
