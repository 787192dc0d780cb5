"""The event recorder of a run: timestamps each event, folds it into the run, and notifies the listener."""

import asyncio
import time
from collections.abc import Callable

from core.model import Hit
from core.run.events import Event, Record
from core.run.state import Run

Listener = Callable[[Record, Run], None]
"""Called with each record and the run after it. Returns at once and never raises."""


class Recorder:
    """Stages report through `emit`; `run` is the state after every event so far."""

    def __init__(
        self, listen: Listener | None = None, run: Run | None = None, *, timeless: bool = False
    ) -> None:
        """`timeless`: events have the time at which `run` ended, for work that does not count as a part of it."""
        self._listen, self._timeless = listen, timeless
        self.run = run or Run()
        self._began = time.perf_counter() - self.run.seconds
        self._expected: list[tuple[Callable[[Run], bool], asyncio.Future[None]]] = []
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
        seconds = self.run.seconds if self._timeless else time.perf_counter() - self._began
        record = Record(at=seconds, event=event)
        self.run = self.run.apply(record)
        if self._listen:
            self._listen(record, self.run)
        for condition, reached in self._expected:
            if not reached.done() and condition(self.run):
                reached.set_result(None)

    async def until(self, condition: Callable[[Run], bool]) -> None:
        """Wait until an event has made the condition true of the run."""
        reached = asyncio.get_running_loop().create_future()
        self._expected.append((condition, reached))
        await reached
