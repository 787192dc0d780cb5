"""A run that happens again: its events at their original times, faster or slower, halting where a phase begins."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable

from core.errors import BadInput
from core.model import Phase
from core.run.events import PhaseStarted, Record
from core.run.recorded_run import RecordedRun
from core.run.state import Run

TICK = 0.05
"""The longest sleep in seconds, so that `play` shows at once."""
_EXACT = 1e-6
"""Seconds below which two times are the same: sums of a clock's readings are rounded."""


class Playhead:
    """Where a replay stands: a position in seconds since the run began, which moves `speed` times as fast as the clock,
    and halts at each of `halts` until `play` is called."""

    def __init__(
        self, *, speed: float = 1.0, halts: Iterable[float] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._speed, self._halts = speed, sorted(halts)
        self._clock = clock
        self._start, self._since = 0.0, clock()

    @property
    def position(self) -> float:
        """Seconds since the run began."""
        return min(self._start + (self._clock() - self._since) * self._speed, self._next_halt)

    @property
    def halted(self) -> bool:
        """Whether it stands still until `play` is called."""
        return self.position == self._next_halt

    def play(self) -> None:
        """Go on from the position."""
        self._start, self._since = self.position, self._clock()

    def seconds_until(self, position: float) -> float:
        """Seconds of the clock until it is there, 0 when it is; infinite when it halts before."""
        if (distance := position - self.position) <= _EXACT:
            return 0.0
        return math.inf if self._next_halt < position else distance / self._speed

    @property
    def _next_halt(self) -> float:
        """The first halt after the position from which it moves."""
        return next((halt for halt in self._halts if halt > self._start), math.inf)


async def replay(
    recorded: RecordedRun, playhead: Playhead, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[tuple[Record, Run]]:
    """Each record of a run once the playhead is there, with the run after it.

    Raises:
        BadInput: when the run has no events.
    """
    if not recorded.records:
        raise BadInput(
            "This run has no events to replay.",
            hint="It was exported as JSON, or could not be stored; a bundle has the events.",
        )
    run = recorded.base or Run()
    for record in recorded.records:
        while (seconds := playhead.seconds_until(record.at)) > 0:
            await sleep(min(seconds, TICK))
        run = run.apply(record)
        yield record, run


def phase_starts(recorded: RecordedRun, phases: Collection[Phase]) -> tuple[float, ...]:
    """The times at which these phases began, each once for every time it did."""
    return tuple(
        record.at
        for record in recorded.records
        if isinstance(record.event, PhaseStarted) and record.event.phase in phases
    )
