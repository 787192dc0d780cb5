"""Event loops: uvloop where it is available, and the background loop of runs and connections."""

import asyncio
import math
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from enum import StrEnum
from typing import Any, TypeVar

from core.errors import INTERNAL_ERROR, INTERNAL_ERROR_HINT, OpenQueryError, TookTooLong, disk_failure
from core.text.sanitize import pluralize

T = TypeVar("T")

if sys.platform == "win32":  # uvloop does not support Windows
    from asyncio import new_event_loop as new_loop
else:
    from uvloop import new_event_loop as new_loop

__all__ = ["BackgroundLoop", "Task", "TaskStatus", "new_loop", "run_async"]

POLL_SECONDS = 0.1
"""Seconds between two calls of `meanwhile`, while a caller waits for a result."""


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end on a new loop. Like `asyncio.run`, but with uvloop."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(work)


class TaskStatus(StrEnum):
    """The state of work in the background."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"


class Task:
    """Work on a `BackgroundLoop`: its state, its failure, and how to stop it. Any thread may call.

    Work that waits for its turn calls `begin` when that has come.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Callable[["Task"], Coroutine[Any, Any, None]],
        ended: Callable[["Task"], None],
    ) -> None:
        """`ended` is called on the loop after the work has ended."""
        self.status = TaskStatus.QUEUED
        self.failure: BaseException | None = None
        """The exception of failed work."""
        self._began = 0.0
        self._done_before: int | None = None
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self._ended = threading.Event()

        def end(task: asyncio.Task[None]) -> None:
            self.failure = None if task.cancelled() else task.exception()
            ended_well = TaskStatus.STOPPED if task.cancelled() else TaskStatus.DONE
            self.status = TaskStatus.FAILED if self.failure else ended_well
            ended(self)
            self._ended.set()

        def start() -> None:
            self._task = loop.create_task(work(self))
            self._task.add_done_callback(end)

        loop.call_soon_threadsafe(start)

    @property
    def error(self) -> str:
        """The reason of a failure, for a person, or ""."""
        if self.failure is None:
            return ""
        failure = disk_failure(self.failure) if isinstance(self.failure, OSError) else self.failure
        is_known = isinstance(failure, OpenQueryError)
        return str(failure) if is_known else f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}"

    def begin(self, done: int | None = None) -> None:
        """Mark the work as running. With `done`, its steps begin now, after so many earlier ones."""
        self.status, self._began, self._done_before = TaskStatus.RUNNING, time.monotonic(), done

    def seconds_left(self, done: int, steps: int) -> float | None:
        """Estimate the remaining seconds after `done` of `steps`. None if no step has ended since the start."""
        since = 0 if self._done_before is None else done - self._done_before
        if self.status is not TaskStatus.RUNNING or since < 1:
            return None
        return (time.monotonic() - self._began) / since * (steps - done)

    @property
    def live(self) -> bool:
        """Whether the work is queued or running."""
        return self.status in (TaskStatus.QUEUED, TaskStatus.RUNNING)

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end of the work, at most `seconds`, and raise its failure."""
        self._ended.wait(seconds)
        if self.failure:
            raise self.failure

    def cancel(self, wait: float = 0.0) -> None:
        """Cancel the work, and wait at most `wait` seconds for its end."""
        self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())
        self._ended.wait(wait)


class BackgroundLoop:
    """An event loop on a separate thread. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openquery-runs", daemon=True)
        self._thread.start()

    def start(
        self,
        work: Callable[[Task], Coroutine[Any, Any, None]],
        ended: Callable[[Task], None] = lambda _task: None,
    ) -> Task:
        """Start `work` with its task, without waiting for its end. `ended` is called on the loop afterwards."""
        return Task(self._loop, work, ended)

    def call_soon(self, function: Callable[[], object]) -> None:
        """Call a function on the loop, without waiting."""
        self._loop.call_soon_threadsafe(function)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `work`, and return a future of its result. Cancelling the future cancels the work."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(
        self,
        work: Coroutine[Any, Any, T],
        *,
        timeout: float = math.inf,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> T:
        """Run `work` on the loop, and return its result.

        Args:
            work: the coroutine.
            timeout: seconds after which the coroutine is cancelled.
            meanwhile: called ten times a second in the caller's thread. If it raises, `work` is cancelled.

        Raises:
            TookTooLong: when there is no result within `timeout`.
        """
        result = self.submit(work)
        ends = time.monotonic() + timeout
        try:
            while not wait([result], min(POLL_SECONDS, max(ends - time.monotonic(), 0))).done:
                if time.monotonic() >= ends:
                    break
                meanwhile()
        finally:
            result.cancel()  # no effect on a finished result
        if result.cancelled():
            raise TookTooLong(
                f"There was no answer within {pluralize(timeout, 'second')}.",
                hint="Try again in a moment. The System page shows which parts answer.",
            )
        return result.result()

    def close(self) -> None:
        """Cancel unfinished work, stop the loop and end its thread."""
        self.submit(_cancel_all()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    """Cancel the other tasks of this loop and await them."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
