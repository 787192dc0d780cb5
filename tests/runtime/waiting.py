"""Waiting for runs of a registry, and for other things."""

import time
from collections.abc import Callable

from core.run.state import Run
from core.runtime.registry import RunRegistry


def finished(runs: RunRegistry, run_id: str, seconds: float = 60) -> Run:
    """The run once it has ended."""
    ends = time.monotonic() + seconds
    while (run := runs.get(run_id)) is None or run.live:
        assert time.monotonic() < ends, "it never ended"
        time.sleep(0.01)
    return run


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Return once the condition holds."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it never happened"
        time.sleep(0.01)
