"""How a worker process of this package is started: its command, its folder and its environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = __name__.removesuffix(".adapters.worker_process")
"""`core` in a checkout, `openquery.core` when installed."""
IMPORT_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder from which the package can be imported."""
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
"""The variables that a worker gets from the environment: keys and addresses are not among them."""


def command(module: str, *arguments: str, python: str = sys.executable) -> tuple[str, ...]:
    """The command line that runs `module`, named relative to this package, such as `reading`."""
    return (python, "-m", f"{_PACKAGE}.{module}", *arguments)


def environment() -> dict[str, str]:
    """The environment variables of a worker process."""
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return passed | {"PYTHONPATH": str(IMPORT_ROOT), "PYTHONIOENCODING": "utf-8", "OPENBLAS_NUM_THREADS": "1"}
