"""Background jobs: work on one run, on the background loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Any

from cachetools import LRUCache

from core import pipeline
from core.config.access import NO_ACCESS, Access
from core.run.events import Record
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
        self.observers: tuple[RunObserver, ...] = ()
        self.target_knobs = run.knobs
        """The knobs that the run has once the work is done."""
        self._task: BackgroundTask | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._claiming = threading.Lock()

    @property
    def live(self) -> bool:
        """Whether the job is claimed or under way."""
        return not self._idle.is_set()

    def claim(self) -> bool:
        """Reserve the job for new work; False while other work on it is under way."""
        self.wait()
        with self._claiming:
            if self.live:
                return False
            self._idle.clear()
            return True

    def release(self) -> None:
        """End a claim: the work has ended, or was never started."""
        self._idle.set()

    def wait(self, seconds: float = STOP_WAIT) -> None:
        """Wait for the work under way to end, at most so long."""
        self._idle.wait(seconds)

    def update(self, _record: Record, run: Run) -> None:
        """A listener that keeps `run` up to date."""
        self.run = run

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
        # A task may be cancelled or refused before its first step in the pipeline, which would emit the end.
        if task.cancelled():
            if self.run.live:
                self.run = replace(self.run, status=RunStatus.STOPPED)
        elif error := task.exception():
            self.run = replace(self.run, status=RunStatus.FAILED, error=pipeline.failure(error))
        self.release()
        for observe in self.observers:
            observe(None, self.run)


class LatestJobs(LRUCache[str, Job]):
    """The latest job under each name, least recently used evicted first. A job that is replaced or evicted is
    cancelled. The caller locks."""

    def __setitem__(self, name: str, job: Job, *args: Any, **options: Any) -> None:
        self.drop(name)
        super().__setitem__(name, job, *args, **options)

    def drop(self, name: str) -> None:
        """Cancel and remove the job of this name, if there is one."""
        if job := self.pop(name, None):
            job.cancel()

    def popitem(self) -> tuple[str, Job]:
        """Evict the least recently used job."""
        name, job = super().popitem()
        job.cancel()
        return name, job
