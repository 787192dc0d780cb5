"""The event recorder of a run: timestamps each event, folds it into the run, and notifies the listener."""

import time
from collections.abc import Callable

from core.model import Hit
from core.run.events import Event, Record
from core.run.state import Run

Listener = Callable[[Record, Run], None]
"""Called with each record and the run after it. Returns at once and never raises."""


class Recorder:
    """Stages report through `emit`; `run` is the state after every event so far."""

    def __init__(self, listen: Listener | None = None, run: Run | None = None) -> None:
        self._listen = listen
        self.run = run or Run()
        self._began = time.perf_counter() - self.run.seconds
        self._ordered_hits: tuple[Hit, ...] = ()
        self._positions: dict[str, int] = {}

    def page_order(self, key: str) -> int:
        """The 0-based position of a page's hit in the merged list; unknown pages come last."""
        if self._ordered_hits is not self.run.hits:
            self._ordered_hits = self.run.hits
            self._positions = {hit.key: n for n, hit in enumerate(self.run.hits)}
        return self._positions.get(key, len(self._positions))

    def emit(self, event: Event) -> None:
        """Record an event at the current time."""
        record = Record(at=time.perf_counter() - self._began, event=event)
        self.run = self.run.apply(record)
        if self._listen:
            self._listen(record, self.run)
