"""Waits that end for lack of progress, on a busy machine as on a quiet one."""

import os
import time
from collections.abc import Callable, Hashable

SECONDS = 60.0
STEP = 1.0
"""The most seconds that count between two looks: a look that took longer was itself held up."""


def load() -> float:
    """How many processes wanted each core in the last minute, at least 1."""
    if not hasattr(os, "getloadavg"):
        return 1.0
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Patience:
    """Ends after `seconds` without progress, of which a busy machine counts the share that it had for each process."""

    def __init__(
        self,
        seconds: float = SECONDS,
        *,
        clock: Callable[[], float] = time.monotonic,
        load: Callable[[], float] = load,
    ) -> None:
        self._seconds, self._clock, self._load = seconds, clock, load
        self._spent, self._looked = 0.0, clock()
        self._seen: Hashable = None

    def lasts(self, seen: Hashable = None) -> bool:
        """Whether to wait on. Call it at each look; another value of `seen` than at the last one is progress."""
        now = self._clock()
        self._spent += min(now - self._looked, STEP) / self._load()
        self._looked = now
        if seen != self._seen:
            self._spent, self._seen = 0.0, seen
        return self._spent < self._seconds
