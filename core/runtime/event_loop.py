"""Event loops: uvloop where it is available, and the background loop of runs and connections."""

import asyncio
import math
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from core.errors import TookTooLong
from core.text.sanitize import pluralize

T = TypeVar("T")

if sys.platform == "win32":  # uvloop does not support Windows
    from asyncio import new_event_loop as new_loop
else:
    from uvloop import new_event_loop as new_loop

__all__ = ["BackgroundLoop", "BackgroundTask", "new_loop", "run_async"]

POLL_SECONDS = 0.1
"""Seconds between two calls of `meanwhile`, while a caller waits for a result."""


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end on a new loop. Like `asyncio.run`, but with uvloop."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(work)


class BackgroundTask:
    """A task on a `BackgroundLoop`, which any thread may cancel."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, None],
        ended: Callable[[asyncio.Task[None]], None],
    ) -> None:
        self._loop = loop
        self._task: asyncio.Task[None] | None = None

        def start() -> None:
            self._task = loop.create_task(work)
            self._task.add_done_callback(ended)

        loop.call_soon_threadsafe(start)

    def cancel(self) -> None:
        """Cancel the task without waiting for its end. `ended` is called after the task has stopped."""
        self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())


class BackgroundLoop:
    """An event loop on a separate thread. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openquery-runs", daemon=True)
        self._thread.start()

    def start(
        self, work: Coroutine[Any, Any, None], ended: Callable[[asyncio.Task[None]], None]
    ) -> BackgroundTask:
        """Start `work` without waiting for its end. `ended` is called on the loop with the finished task."""
        return BackgroundTask(self._loop, work, ended)

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
