"""Work beside the pages: one event loop on a thread of its own, and the jobs that run on it."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import wait
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

from core import pipeline
from core.config.access import NOBODY, Access
from core.errors import TookTooLong
from core.run.events import Record
from core.run.state import Run, RunStatus
from core.runtime.event_loop import new_loop

T = TypeVar("T")

AT_ONCE = nullcontext()
"""The queue of work that does not queue."""

STOP_WAIT = 0.5
"""Seconds given to a job to end, so that the next drawing of a page already shows it."""

LOOK_UP = 0.1
"""Seconds between two looks at what else there is to do, while a caller waits."""

Watch = Callable[[Record | None, Run], None]
"""Told every event of a run with the run after it, on the loop's thread, and None once work on it ended."""


class Job:
    """Work on one run. `run` is replaced, never changed, so any thread may read it without a lock."""

    def __init__(self, run: Run, access: Access = NOBODY) -> None:
        self.run = run
        self.access = access
        """What whoever asked for the latest work on it brought."""
        self.watches: tuple[Watch, ...] = ()
        self.wanted = run.knobs
        """The knobs that the work is about to bring the run to."""
        self.task: asyncio.Task[None] | None = None
        self.idle = threading.Event()
        self.idle.set()
        self._taking = threading.Lock()

    @property
    def live(self) -> bool:
        return not self.idle.is_set()

    def take(self) -> bool:
        """Claim the job for new work; False while other work on it is under way."""
        self.wait()
        with self._taking:
            if self.live:
                return False
            self.idle.clear()
            return True

    def release(self) -> None:
        """End a claim: the work has ended, or never began."""
        self.idle.set()

    def wait(self, seconds: float = STOP_WAIT) -> None:
        """Give the work under way some time to end."""
        self.idle.wait(seconds)

    def follow(self, _record: Record, run: Run) -> None:
        """A listener that keeps `run` up to date."""
        self.run = run


class BackgroundLoop:
    """The loop that owns every connection. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openquery-runs", daemon=True)
        self._thread.start()

    def begin(
        self,
        job: Job,
        work: Callable[[], Awaitable[object]],
        queue: AbstractAsyncContextManager[Any] = AT_ONCE,
    ) -> None:
        """Do `work` on a job that was taken, once `queue` lets it in."""

        async def in_turn() -> None:
            async with queue:
                await work()

        def ended(task: asyncio.Task[None]) -> None:
            # Before its first step in the pipeline, which would say so, a task may be cancelled or refused.
            if task.cancelled():
                if job.run.live:
                    job.run = replace(job.run, status=RunStatus.STOPPED)
            elif error := task.exception():
                job.run = replace(job.run, status=RunStatus.FAILED, error=pipeline.failure(error))
            job.release()
            for watch in job.watches:
                watch(None, job.run)

        def start() -> None:
            job.task = self._loop.create_task(in_turn())
            job.task.add_done_callback(ended)

        self._loop.call_soon_threadsafe(start)

    def cancel(self, job: Job) -> None:
        """End the work on a job; what the run has is kept."""

        def cancelled() -> None:
            if job.task and not job.task.done():
                job.task.cancel()

        self._loop.call_soon_threadsafe(cancelled)

    def call(
        self,
        work: Coroutine[Any, Any, T],
        *,
        timeout: float = math.inf,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> T:
        """Await a coroutine on the loop, and return its result.

        `meanwhile` is called ten times a second; when it raises, the coroutine is cancelled.

        Raises:
            TookTooLong: when that takes more than `timeout` seconds; the coroutine is then cancelled.
        """
        result = asyncio.run_coroutine_threadsafe(work, self._loop)
        ends = time.monotonic() + timeout
        try:
            while not wait([result], min(LOOK_UP, max(ends - time.monotonic(), 0))).done:
                if time.monotonic() >= ends:
                    break
                meanwhile()
        finally:
            result.cancel()  # which a result that is there does not mind
        if result.cancelled():
            raise TookTooLong(
                f"There was no answer within {timeout:g} seconds.",
                hint="Try again in a moment. The System page tells which parts answer.",
            )
        return result.result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
