"""Jobs of test_workers. Each worker imports this module, so it imports little."""

import os
import signal
from pathlib import Path

import numpy as np

from core.errors import BadInput


def process_of(_: object = None) -> int:
    return os.getpid()


def total(values: dict[str, np.ndarray], factor: int) -> float:
    return float(values["a"].sum() + values["b"].sum()) * factor


def refuse() -> None:
    raise BadInput("It is refused.", hint="Ask for something else.")


def killed_once(mark: Path) -> int:
    """Ends its process like a lack of memory does, unless `mark` is there."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def killed_always() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_ever(started: Path) -> None:
    started.touch()
    signal.pause()
