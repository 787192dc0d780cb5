"""Concurrent stream operators. They leave no task running at their end."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Coroutine, Iterable
from contextlib import aclosing
from typing import Any, Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_END: Any = object()
_READY_SECONDS = 0.02
"""Seconds within which a ready item arrives."""


async def stream(items: Iterable[A]) -> AsyncGenerator[A]:
    """Stream the items, yielding to the event loop after each. Otherwise the work on many items would block it."""
    for item in items:
        yield item
        await asyncio.sleep(0)


async def map_concurrently(
    source: AsyncGenerator[A], work: Callable[[A], Awaitable[B | None]], *, at_once: int
) -> AsyncGenerator[B]:
    """Run `work` on each item as it arrives.

    At most `at_once` calls run at a time. Results are yielded as they finish. A result of None is dropped. The first
    exception of `source` or `work` ends the stream and is raised. However the stream ends, `source` is closed and
    unfinished work is cancelled before control returns.
    """
    results: asyncio.Queue[B | None] = asyncio.Queue()
    gate = asyncio.Semaphore(at_once)

    async def one(item: A) -> None:
        async with gate:
            results.put_nowait(await work(item))

    async def pump() -> None:
        async with aclosing(source), asyncio.TaskGroup() as group:
            async for item in source:
                group.create_task(one(item))

    pumping = asyncio.create_task(pump())
    pumping.add_done_callback(lambda _: results.put_nowait(None))
    try:
        while not (pumping.done() and results.empty()):
            result = await results.get()
            if result is not None:
                yield result
        await _unwrapped(pumping)
    finally:
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)


async def map_in_order(
    source: AsyncGenerator[A], work: Callable[[A], Coroutine[Any, Any, B]], *, at_once: int
) -> AsyncGenerator[B]:
    """Run `work` concurrently, with results in the order of items.

    The next item is read ahead. Otherwise like `map_concurrently`.
    """
    started: asyncio.Queue[asyncio.Task[B] | None] = asyncio.Queue()
    gate = asyncio.Semaphore(at_once)

    async def pump() -> None:
        async with aclosing(source), asyncio.TaskGroup() as group:
            async for item in source:
                await gate.acquire()
                task = group.create_task(work(item))
                task.add_done_callback(lambda _: gate.release())
                started.put_nowait(task)

    pumping = asyncio.create_task(pump())
    pumping.add_done_callback(lambda _: started.put_nowait(None))
    try:
        while (task := await started.get()) is not None:
            await asyncio.wait({task})
            if task.cancelled() or task.exception():
                break
            yield task.result()
        await _unwrapped(pumping)
    finally:
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)


async def _unwrapped(task: asyncio.Task[None]) -> None:
    """Wait for the task. From an exception group, the first plain exception is raised."""
    try:
        await task
    except BaseExceptionGroup as group:
        leaf: BaseException = group
        while isinstance(leaf, BaseExceptionGroup):
            leaf = leaf.exceptions[0]
        raise leaf from group


class Replayed(Generic[A]):
    """A stream that is read once and replayed to any number of readers.

    `aclose` closes the source and cancels waiting readers.
    """

    def __init__(self, source: AsyncGenerator[A]) -> None:
        self._items: list[A] = []
        self._changed = asyncio.Event()
        self._reading = asyncio.create_task(self._read(source))

    async def _read(self, source: AsyncGenerator[A]) -> None:
        try:
            async with aclosing(source):
                async for item in source:
                    self._items.append(item)
                    self._wake()
        finally:
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def items(self) -> AsyncGenerator[A]:
        """Yield all items from the first on. The source's exception is raised after them."""
        position = 0
        while True:
            while position < len(self._items):
                yield self._items[position]
                position += 1
            if self._reading.done():
                self._reading.result()
                return
            await self._changed.wait()

    async def aclose(self) -> None:
        """Close the source."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)


async def collected(source: AsyncIterable[A]) -> list[A]:
    """Collect the items of a stream into a list."""
    return [item async for item in source]


async def until(source: AsyncGenerator[A], over: Coroutine[Any, Any, None]) -> AsyncGenerator[A]:
    """Yield items of `source` until `over` has returned.

    Items that are ready by then are still yielded. The stream also ends with `source`. `source` is closed and `over`
    cancelled when control returns.
    """
    ending = asyncio.create_task(over)
    try:
        async with aclosing(source):
            while True:
                coming = asyncio.ensure_future(anext(source, _END))
                try:
                    await asyncio.wait({coming, ending}, return_when=asyncio.FIRST_COMPLETED)
                    if not coming.done():
                        # Items that arrived while the consumer was busy still count.
                        await asyncio.wait({coming}, timeout=_READY_SECONDS)
                    if not coming.done():
                        return
                finally:
                    await _cancel(coming)
                if coming.result() is _END:
                    return
                yield coming.result()
    finally:
        await _cancel(ending)


async def _cancel(task: asyncio.Future[Any]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
