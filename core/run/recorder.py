"""One run's clock and memory: stamps events, folds them into the run, passes them on."""

from __future__ import annotations

import time
from collections.abc import Callable

from core.model import Hit
from core.run.events import Event, Record
from core.run.state import Run

Listener = Callable[[Record, Run], None]
"""Called with each record and the run after it. Returns at once and never raises."""


class Recorder:
    """`emit` is what stages are handed; `run` is the state after everything told so far."""

    def __init__(self, listen: Listener | None = None, run: Run | None = None) -> None:
        self._listen = listen
        self.run = run or Run()
        self._began = time.perf_counter() - self.run.seconds
        self._placed: tuple[Hit, ...] = ()
        self._places: dict[str, int] = {}

    def page_order(self, key: str) -> int:
        """The place of a page among the merged hits, from 0; unknown pages come last."""
        if self._placed is not self.run.hits:
            self._placed = self.run.hits
            self._places = {hit.key: n for n, hit in enumerate(self.run.hits)}
        return self._places.get(key, len(self._places))

    def emit(self, event: Event) -> None:
        record = Record(at=time.perf_counter() - self._began, event=event)
        self.run = self.run.apply(record)
        if self._listen:
            self._listen(record, self.run)
