"""The command and the environment with which worker processes of this package are started."""

import os
import sys
from pathlib import Path

_PACKAGE = __name__.removesuffix(".sandbox.worker_command")
"""`core` in a checkout, `openquery.core` when installed."""
IMPORT_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder from which the package can be imported."""
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "SYSTEMROOT")
"""Variables that some systems need to start Python. No others are passed on, because the environment has keys."""


def command(module: str, *arguments: str, python: str = sys.executable) -> tuple[str, ...]:
    """Build the command line that runs `module`. The name is relative to this package, such as `reading`.

    It must be run in `IMPORT_ROOT`, from where the module is imported.
    """
    return (python, "-E", "-X", "utf8", "-m", f"{_PACKAGE}.{module}", *arguments)


def environment() -> dict[str, str]:
    """Return the environment variables of a worker process."""
    passed = {name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ}
    return passed | {"OPENBLAS_NUM_THREADS": "1"}
