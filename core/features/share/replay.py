"""Replay the events of a run at their times, at any speed, with halts at phases."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import replace

from core.errors import BadInput
from core.model import Phase
from core.run.events import PhaseStarted, Record
from core.run.recorded_run import RecordedRun
from core.run.state import Run, RunStatus

TICK = 0.05
"""The longest sleep in seconds, so that `play` takes effect at once."""
_EXACT = 1e-6
"""The difference in seconds below which two times are equal, because clock readings are rounded."""


class Playhead:
    """The position of a replay in seconds since the run began.

    It moves `speed` times as fast as the clock. It halts at each of `halts`, and when it is paused, until `play` is
    called.
    """

    def __init__(
        self, *, speed: float = 1.0, halts: Iterable[float] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._speed, self._halts = speed, sorted(halts)
        self._clock = clock
        self._start, self._since, self._paused = 0.0, clock(), False

    @property
    def position(self) -> float:
        """Seconds since the run began."""
        elapsed = 0.0 if self._paused else self._clock() - self._since
        return min(self._start + elapsed * self._speed, self._next_halt)

    @property
    def halted(self) -> bool:
        """Whether the replay halts until `play` is called."""
        return self._paused or self.position == self._next_halt

    @property
    def speed(self) -> float:
        """Seconds of the run per second of the clock."""
        return self._speed

    def play(self) -> None:
        """Continue from the position."""
        self._hold(paused=False)

    def skip_to(self, position: float) -> None:
        """Continue from a later position at once."""
        self._start, self._since = max(self.position, position), self._clock()

    def pause(self) -> None:
        """Pause at the position."""
        self._hold(paused=True)

    def change(self, *, speed: float | None = None, halts: Iterable[float] | None = None) -> None:
        """Change speed or halts. A halted replay stays halted until `play` is called."""
        self._hold(paused=self.halted)
        self._speed = self._speed if speed is None else speed
        self._halts = self._halts if halts is None else sorted(halts)

    def seconds_until(self, position: float) -> float:
        """Return seconds of the clock until `position` is reached.

        It is 0 when reached, and infinite if a halt precedes it.
        """
        if (distance := position - self.position) <= _EXACT:
            return 0.0
        return math.inf if self._paused or self._next_halt < position else distance / self._speed

    def _hold(self, *, paused: bool) -> None:
        self._start, self._since, self._paused = self.position, self._clock(), paused

    @property
    def _next_halt(self) -> float:
        """The first halt after the start of the current movement."""
        return next((halt for halt in self._halts if halt > self._start), math.inf)


class Replay:
    """A recorded run up to the position of a playhead.

    Raises:
        BadInput: when the run has no events.
    """

    def __init__(self, recorded: RecordedRun, playhead: Playhead) -> None:
        if not recorded.records:
            raise BadInput(
                "This run has no events to replay.",
                hint="It was exported as JSON, or could not be stored. An exported .zip has the events.",
            )
        self.recorded, self.playhead = recorded, playhead
        self._run, self._next = recorded.base or Run(), 0
        if recorded.base:  # the time before the first event has no records
            playhead.skip_to(recorded.base.seconds)

    @property
    def ended(self) -> bool:
        """Whether every event has happened."""
        return self._next == len(self.recorded.records)

    @property
    def seconds_until_next(self) -> float:
        """Seconds of the clock until the next event, infinite if a halt precedes it."""
        return self.playhead.seconds_until(self.recorded.records[self._next].at)

    def due(self) -> Iterator[tuple[Record, Run]]:
        """Yield each new record up to the playhead, with the run after it."""
        while not self.ended and self.seconds_until_next == 0:
            record = self.recorded.records[self._next]
            self._run, self._next = self._run.apply(record), self._next + 1
            yield record, self._run

    def current(self) -> Run:
        """Return the run at the playhead. It is running until its last event, even if it ended and was continued."""
        for _ in self.due():
            pass
        return self._run if self.ended else replace(self._run, status=RunStatus.RUNNING)


async def replay(
    recorded: RecordedRun, playhead: Playhead, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[tuple[Record, Run]]:
    """Yield each record of a run at its time, with the run after it.

    Raises:
        BadInput: when the run has no events.
    """
    replayed = Replay(recorded, playhead)
    while not replayed.ended:
        for record, run in replayed.due():
            yield record, run
        if not replayed.ended:
            await sleep(min(replayed.seconds_until_next, TICK))


def phase_starts(recorded: RecordedRun, phases: Collection[Phase]) -> tuple[float, ...]:
    """Return all times at which these phases began."""
    return tuple(
        record.at
        for record in recorded.records
        if isinstance(record.event, PhaseStarted) and record.event.phase in phases
    )
