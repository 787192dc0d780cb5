"""A run that happens again: its events at their original times, faster or slower, halting where a phase begins."""

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
"""The longest sleep in seconds, so that `play` shows at once."""
_EXACT = 1e-6
"""Seconds below which two times are the same: sums of a clock's readings are rounded."""


class Playhead:
    """Where a replay stands: a position in seconds since the run began, which moves `speed` times as fast as the clock,
    and halts at each of `halts`, and when it is paused, until `play` is called."""

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
        """Whether it stands still until `play` is called."""
        return self._paused or self.position == self._next_halt

    @property
    def speed(self) -> float:
        """How many seconds of the run pass in one."""
        return self._speed

    def play(self) -> None:
        """Go on from the position."""
        self._hold(paused=False)

    def skip_to(self, position: float) -> None:
        """Go on from a later position at once."""
        self._start, self._since = max(self.position, position), self._clock()

    def pause(self) -> None:
        """Stand still at the position."""
        self._hold(paused=True)

    def change(self, *, speed: float | None = None, halts: Iterable[float] | None = None) -> None:
        """Go on at another speed or with other halts; where it stands still, it does so until `play` is called."""
        self._hold(paused=self.halted)
        self._speed = self._speed if speed is None else speed
        self._halts = self._halts if halts is None else sorted(halts)

    def seconds_until(self, position: float) -> float:
        """Seconds of the clock until it is there, 0 when it is; infinite when it halts before."""
        if (distance := position - self.position) <= _EXACT:
            return 0.0
        return math.inf if self._paused or self._next_halt < position else distance / self._speed

    def _hold(self, *, paused: bool) -> None:
        self._start, self._since, self._paused = self.position, self._clock(), paused

    @property
    def _next_halt(self) -> float:
        """The first halt after the position from which it moves."""
        return next((halt for halt in self._halts if halt > self._start), math.inf)


class Replay:
    """A recorded run as far as a playhead is.

    Raises:
        BadInput: when the run has no events.
    """

    def __init__(self, recorded: RecordedRun, playhead: Playhead) -> None:
        if not recorded.records:
            raise BadInput(
                "This run has no events to replay.",
                hint="It was exported as JSON, or could not be stored; a bundle has the events.",
            )
        self.recorded, self.playhead = recorded, playhead
        self._run, self._next = recorded.base or Run(), 0
        if recorded.base:  # what it was before its first event took its time unrecorded
            playhead.skip_to(recorded.base.seconds)

    @property
    def ended(self) -> bool:
        """Whether every event has happened."""
        return self._next == len(self.recorded.records)

    @property
    def seconds_until_next(self) -> float:
        """Seconds of the clock until the next event happens; infinite when the playhead halts before."""
        return self.playhead.seconds_until(self.recorded.records[self._next].at)

    def due(self) -> Iterator[tuple[Record, Run]]:
        """Each record that the playhead has reached and that has not happened yet, with the run after it."""
        while not self.ended and self.seconds_until_next == 0:
            record = self.recorded.records[self._next]
            self._run, self._next = self._run.apply(record), self._next + 1
            yield record, self._run

    def current(self) -> Run:
        """The run where the playhead is. It is under way until its last event, also where it ended and went on."""
        for _ in self.due():
            pass
        return self._run if self.ended else replace(self._run, status=RunStatus.RUNNING)


async def replay(
    recorded: RecordedRun, playhead: Playhead, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[tuple[Record, Run]]:
    """Each record of a run once the playhead is there, with the run after it.

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
    """The times at which these phases began, each once for every time it did."""
    return tuple(
        record.at
        for record in recorded.records
        if isinstance(record.event, PhaseStarted) and record.event.phase in phases
    )
