"""Waiting for runs of a registry, and for other things."""

import time
from collections.abc import Callable

from core.run.state import Run
from core.runtime.registry import RunRegistry
from tests.patience import Patience


def finished(runs: RunRegistry, run_id: str, seconds: float = 60) -> Run:
    """The run once it has ended."""
    patience = Patience(seconds)
    while (run := runs.get(run_id)) is None or run.live:
        assert patience.lasts(id(run)), "nothing more happened in the run, and it has not ended"
        time.sleep(0.01)
    return run


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Return once the condition holds."""
    patience = Patience(seconds)
    while not condition():
        assert patience.lasts(), "it never happened"
        time.sleep(0.01)
