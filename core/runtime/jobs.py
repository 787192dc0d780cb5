"""Background jobs: work on one run, on the background loop."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypedDict

from cachetools import LRUCache

from core import pipeline
from core.config.access import NO_ACCESS, Access
from core.model import Answer, ClientRequest, Turn
from core.run import events as e
from core.run.events import Record
from core.run.recorder import Listener, Recorder
from core.run.state import Run, RunStatus
from core.runtime.event_loop import BackgroundLoop, Task, TaskStatus
from core.stages.time_budget import TimeBudget

NO_QUEUE = nullcontext()
"""The queue for work that starts at once."""

STOP_WAIT = 0.5
"""Seconds to wait for cancelled work to end, so that the next redraw of a page shows the end."""

RunObserver = Callable[[Record | None, Run], None]
"""Called on the loop with every event of a run and the run after it, and with None after work on it has ended."""


class RunOptions(TypedDict, total=False):
    """What a run may be started with besides question, knobs and access."""

    queries: Sequence[str]
    """The queries to search, see `research`."""
    answers: MutableMapping[str, Answer] | None
    """The visitor's earlier answers, see `Ports`. They are read and added to on the loop."""
    budget: TimeBudget
    """The time after which the run answers from its current sources."""
    turn: Turn | None
    """The turn of a follow-up question, which may be answered from pages of the earlier run."""
    client: ClientRequest | None
    """The request data of a chat client."""
    answered: bool
    """Whether an answer is written. Otherwise the run ends with its sources, see `retrieve`."""


class Job:
    """Work on one run. `run` is replaced, never changed, so any thread may read it without a lock.

    A job has at most one task at a time, and outlives it: the run has its result before the task ends, so a job is
    claimed, and can be `pending`, apart from its task.
    """

    def __init__(self, run: Run, access: Access = NO_ACCESS, *, base: Run | None = None) -> None:
        self.run = run
        self.base = base or run
        """The run that the job was made for."""
        self.access = access
        """The access of the person who requested the latest work."""
        self.listen: Listener = self.update
        """Receives events of the work, and the end event if the work never began."""
        self.observers: tuple[RunObserver, ...] = ()
        self.fills = False
        """Whether the latest work embeds waiting passages. Any other work ends it."""
        self.watched = 0.0
        """When somebody last called `is_filling`, on the monotonic clock."""
        self.made_no_progress = False
        """Whether the latest filling ended by itself without embedding a passage."""
        self.quote = asyncio.Event()
        """Set on the loop to quote sources, see `Ports.quote`."""
        self.target_knobs = run.knobs
        """The knobs that the run has after the work."""
        self._run_before = run
        self._told = time.monotonic()
        """When `run` last changed."""
        self._task: Task | None = None
        self._claimed = False
        self._changed = threading.Condition()
        """Notified about changes of `run` and of the claim."""

    @property
    def live(self) -> bool:
        """Whether the job is claimed or running."""
        return self._claimed

    @property
    def pending(self) -> bool:
        """Whether running work has not yet set its result. Later preparations of the work do not count."""
        return self.live and (self.run is self._run_before or self.run.live)

    @property
    def was_cancelled(self) -> bool:
        """Whether stopped work has left the earlier run, which has other knobs."""
        return not self.pending and self.run.error is None and self.run.knobs != self.target_knobs

    def claim(self, *, wait: float = STOP_WAIT, fills: bool = False) -> bool:
        """Reserve the job for new work. Returns False if other work continues. Filling yields to other work."""
        if self.fills and not fills:
            self.cancel()
        with self._changed:
            if not self._changed.wait_for(lambda: not self._claimed, wait):
                return False
            self._claimed, self._run_before, self.fills = True, self.run, fills
            return True

    def release(self) -> None:
        """End a claim, after the work or instead of it."""
        with self._changed:
            self._claimed = False
            self._changed.notify_all()

    def wait(self, seconds: float | None = STOP_WAIT) -> None:
        """Wait for the work to end, at most `seconds`. With None, the wait has no limit."""
        with self._changed:
            self._changed.wait_for(lambda: not self._claimed, seconds)

    def wait_for_result(self, seconds: float) -> None:
        """Wait until the work has its result, at most `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: not self.pending, seconds)

    def update(self, _record: Record, run: Run) -> None:
        """Update `run`, as a listener of the work."""
        with self._changed:
            self.run, self._told = run, time.monotonic()
            self._changed.notify_all()

    def clock(self) -> float:
        """Return the current seconds of the run's clock. It stops when the run has ended."""
        return self.run.seconds + (time.monotonic() - self._told if self.run.live else 0.0)

    def charging(self, charge: Listener) -> Listener:
        """Return a listener that updates `run` and charges for every event."""

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
        """Start `work` on a claimed job, after entering `queue`."""

        async def queued(_task: Task) -> None:
            async with queue:
                await work()

        self._task = loop.start(queued, self._ended)

    def cancel(self) -> None:
        """Cancel the running work without waiting for its end. The run keeps its results."""
        if self._task and self.live:
            self._task.cancel()

    def _ended(self, task: Task) -> None:
        error = task.failure
        if self.run.live:
            self._end_early(e.RunStopped() if error is None else pipeline.failure(error))
        elif error:
            self.run = replace(self.run, status=RunStatus.FAILED, error=pipeline.failure(error))
        before, after = self._run_before.index, self.run.index
        none_embedded = before is not None and after is not None and len(before.waiting) == len(after.waiting)
        self.made_no_progress = self.fills and task.status is not TaskStatus.STOPPED and none_embedded
        self.release()
        for observe in self.observers:
            observe(None, self.run)

    def _end_early(self, end: e.RunStopped | e.RunFailed) -> None:
        """Emit the end of a run that never entered the pipeline. Its task was cancelled or refused."""
        recorder = Recorder(self.listen, self.run)
        if not self.run.started:
            started = datetime.now(UTC).isoformat()
            recorder.emit(e.RunStarted(self.run.id, self.run.question, self.run.knobs, started))
        recorder.emit(end)


class LatestJobs:
    """The latest job under each name.

    A replaced job is cancelled, and so is the least recently used when it is evicted. Any thread may call.
    """

    def __init__(self, most: int) -> None:
        self._jobs: LRUCache[str, Job] = LRUCache(most)
        self.lock = threading.RLock()
        """For a caller that checks a job before replacing it."""

    def get(self, name: str) -> Job | None:
        """Return the latest job of this name, running or ended."""
        with self.lock:
            return self._jobs.get(name)

    def put(self, name: str, job: Job | None) -> None:
        """Replace the job of this name, or remove it."""
        with self.lock:
            if (before := self._jobs.pop(name, None)) is not None:
                before.cancel()
            if job is not None:
                if len(self._jobs) >= self._jobs.maxsize:
                    self._jobs.popitem()[1].cancel()
                self._jobs[name] = job

    def stop(self, name: str) -> None:
        """Stop the work of this name, and wait briefly. Its results stay."""
        if job := self.get(name):
            job.cancel()
            job.wait()

    def all(self) -> tuple[Job, ...]:
        """Return every job in memory."""
        with self.lock:
            return tuple(self._jobs.values())
