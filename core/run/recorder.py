"""The event recorder of a run, which timestamps, folds and forwards each event."""

import asyncio
import time
from collections.abc import Callable

from core.model import Hit
from core.run.events import Event, Record
from core.run.state import Run

Listener = Callable[[Record, Run], None]
"""Receives each record and the run after it. Returns at once and never raises."""


class Recorder:
    """Recorder of the events of stages. `run` is the state after the latest event."""

    def __init__(
        self, listen: Listener | None = None, run: Run | None = None, *, timeless: bool = False
    ) -> None:
        """`timeless`: give events the end time of `run`. For work that does not count as part of the run."""
        self._listen, self._timeless = listen, timeless
        self.run = run or Run()
        self._began = time.perf_counter() - self.run.seconds
        self._expected: list[tuple[Callable[[Run], bool], asyncio.Future[None]]] = []
        self._ordered_hits: tuple[Hit, ...] = ()
        self._positions: dict[str, int] = {}

    def page_order(self, key: str) -> int:
        """Return the 0-based position of a page's hit in the merged list. Unknown pages come last."""
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
        """Wait until the run meets the condition after an event."""
        reached = asyncio.get_running_loop().create_future()
        self._expected.append((condition, reached))
        await reached
