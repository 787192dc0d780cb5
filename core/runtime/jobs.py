"""Background jobs: work on one run, on the background loop."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cachetools import LRUCache

from core import pipeline
from core.config.access import NO_ACCESS, Access
from core.run import events as e
from core.run.events import Record
from core.run.recorder import Listener, Recorder
from core.run.state import Run, RunStatus
from core.runtime.event_loop import BackgroundLoop, BackgroundTask

NO_QUEUE = nullcontext()
"""For work that starts at once."""

STOP_WAIT = 0.5
"""Seconds to wait for cancelled work to end, so that the next drawing of a page already shows its end."""

RunObserver = Callable[[Record | None, Run], None]
"""Called on the loop with every event of a run and the run after it, and with None when work on it has ended."""


class Job:
    """Work on one run. `run` is replaced, never changed, so any thread may read it without a lock."""

    def __init__(self, run: Run, access: Access = NO_ACCESS, *, base: Run | None = None) -> None:
        self.run = run
        self.base = base or run
        """The state of the run that the job was made for."""
        self.access = access
        """The access of whoever asked for the latest work."""
        self.listen: Listener = self.update
        """Called with the events of the work, and with its end where the work itself had not begun."""
        self.observers: tuple[RunObserver, ...] = ()
        self.fills = False
        """Whether the latest work was to embed passages that waited, which any other work ends."""
        self.watched = 0.0
        """When somebody last asked whether it is filled, on the monotonic clock."""
        self.filled_nothing = False
        """Whether the latest filling ended by itself, and as many passages wait as before."""
        self.quote = asyncio.Event()
        """See `Ports.quote`; set on the loop."""
        self.target_knobs = run.knobs
        """The knobs that the run has once the work is done."""
        self._given = run
        self._told = time.monotonic()
        """When `run` last changed."""
        self._task: BackgroundTask | None = None
        self._claimed = False
        self._changed = threading.Condition()
        """Of `run` and of the claim."""

    @property
    def live(self) -> bool:
        """Whether the job is claimed or under way."""
        return self._claimed

    @property
    def pending(self) -> bool:
        """Whether the work is under way and has not yet set its result; what it prepares afterwards does not count."""
        return self.live and (self.run is self._given or self.run.live)

    @property
    def kept_before(self) -> bool:
        """Whether the work was stopped and has left the run of before, which has other knobs."""
        return not self.pending and self.run.error is None and self.run.knobs != self.target_knobs

    def claim(self, *, wait: float = STOP_WAIT, fills: bool = False) -> bool:
        """Reserve the job for new work; False while other work on it is under way. Filling gives way to other work."""
        if self.fills and not fills:
            self.cancel()
        with self._changed:
            if not self._changed.wait_for(lambda: not self._claimed, wait):
                return False
            self._claimed, self._given, self.fills = True, self.run, fills
            return True

    def release(self) -> None:
        """End a claim: the work has ended, or was never started."""
        with self._changed:
            self._claimed = False
            self._changed.notify_all()

    def wait(self, seconds: float | None = STOP_WAIT) -> None:
        """Wait for the work under way to end, at most so long; None: however long that is."""
        with self._changed:
            self._changed.wait_for(lambda: not self._claimed, seconds)

    def wait_for_result(self, seconds: float) -> None:
        """Wait until the work has its result, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: not self.pending, seconds)

    def update(self, _record: Record, run: Run) -> None:
        """A listener that keeps `run` up to date."""
        with self._changed:
            self.run, self._told = run, time.monotonic()
            self._changed.notify_all()

    def clock(self) -> float:
        """Seconds of the run's clock now, which stands still when it has ended."""
        return self.run.seconds + (time.monotonic() - self._told if self.run.live else 0.0)

    def charging(self, charge: Listener) -> Listener:
        """A listener that keeps `run` up to date and charges for every event."""

        def listen(record: Record, run: Run) -> None:
            self.update(record, run)
            charge(record, run)

        return listen

    def start(
        self,
        loop: BackgroundLoop,
        work: Callable[[], Awaitable[object]],
        queue: AbstractAsyncContextManager[Any] = NO_QUEUE,
    ) -> None:
        """Start `work` on a job that was claimed, once `queue` can be entered."""

        async def queued() -> None:
            async with queue:
                await work()

        self._task = loop.start(queued(), self._ended)

    def cancel(self) -> None:
        """Cancel the work under way. Returns at once; what the run has stays."""
        if self._task and self.live:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if self.run.live:
            self._end_early(e.RunStopped() if error is None else pipeline.failure(error))
        elif error:
            self.run = replace(self.run, status=RunStatus.FAILED, error=pipeline.failure(error))
        before, after = self._given.index, self.run.index
        none_embedded = before is not None and after is not None and len(before.waiting) == len(after.waiting)
        self.filled_nothing = self.fills and not task.cancelled() and none_embedded
        self.release()
        for observe in self.observers:
            observe(None, self.run)

    def _end_early(self, end: e.RunStopped | e.RunFailed) -> None:
        """Emit the end of a run whose task was cancelled or refused before the pipeline had begun."""
        recorder = Recorder(self.listen, self.run)
        if not self.run.started:
            started = datetime.now(UTC).isoformat()
            recorder.emit(e.RunStarted(self.run.id, self.run.question, self.run.knobs, started))
        recorder.emit(end)


class LatestJobs:
    """The latest job under each name, the least recently used evicted first. A job that is replaced or evicted is
    cancelled. Any thread may call."""

    def __init__(self, most: int) -> None:
        self._jobs: LRUCache[str, Job] = LRUCache(most)
        self.lock = threading.RLock()
        """For a caller that looks at a job before it puts another in its place."""

    def get(self, name: str) -> Job | None:
        """The latest job of this name, under way or ended."""
        with self.lock:
            return self._jobs.get(name)

    def put(self, name: str, job: Job | None) -> None:
        """Put a job in the place of the one of this name, or none."""
        with self.lock:
            if (before := self._jobs.pop(name, None)) is not None:
                before.cancel()
            if job is not None:
                if len(self._jobs) >= self._jobs.maxsize:
                    self._jobs.popitem()[1].cancel()
                self._jobs[name] = job

    def stop(self, name: str) -> None:
        """Stop the work of this name, and wait a moment for its end; what it has stays."""
        if job := self.get(name):
            job.cancel()
            job.wait()

    def all(self) -> tuple[Job, ...]:
        """Every job in memory."""
        with self.lock:
            return tuple(self._jobs.values())
