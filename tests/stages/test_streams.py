"""Streams that work on items as they arrive."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from core.stages.streams import collected, map_concurrently, until


async def _numbers(count: int) -> AsyncGenerator[int]:
    for number in range(count):
        yield number


async def test_results_come_in_the_order_in_which_work_finishes() -> None:
    gates = [asyncio.Event() for _ in range(3)]

    async def work(number: int) -> int:
        await gates[number].wait()
        return number

    finished = []
    gates[2].set()
    async for number in map_concurrently(_numbers(3), work, at_once=3):
        finished.append(number)
        gates[{2: 0, 0: 1, 1: 1}[number]].set()
    assert finished == [2, 0, 1]


async def test_item_is_processed_before_the_source_has_ended() -> None:
    worked = asyncio.Event()

    async def source() -> AsyncGenerator[int]:
        yield 1
        await worked.wait()
        yield 2

    async def work(number: int) -> int:
        worked.set()
        return number

    async with asyncio.timeout(5):
        assert sorted(await collected(map_concurrently(source(), work, at_once=2))) == [1, 2]


async def test_work_at_once_stays_within_the_limit() -> None:
    at_work, most = 0, 0

    async def work(number: int) -> int:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        for _ in range(5):
            await asyncio.sleep(0)
        at_work -= 1
        return number

    await collected(map_concurrently(_numbers(20), work, at_once=4))
    assert most == 4


async def test_first_error_is_raised_plainly_and_the_rest_cancelled() -> None:
    cancelled = []

    async def work(number: int) -> int:
        if number == 1:
            raise ValueError("one is bad")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return number

    with pytest.raises(ValueError, match="one is bad"):
        await collected(map_concurrently(_numbers(3), work, at_once=3))
    assert sorted(cancelled) == [0, 2]


async def test_closing_the_stream_cancels_work_and_closes_the_source() -> None:
    closed, cancelled = asyncio.Event(), asyncio.Event()

    async def source() -> AsyncGenerator[int]:
        try:
            yield 0
            yield 1
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def work(number: int) -> int:
        if number:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
        return number

    stream = map_concurrently(source(), work, at_once=2)
    assert await anext(stream) == 0
    await stream.aclose()
    assert closed.is_set()
    assert cancelled.is_set()


async def test_dropped_results_are_not_yielded() -> None:
    async def odd(number: int) -> int | None:
        return number if number % 2 else None

    assert sorted(await collected(map_concurrently(_numbers(6), odd, at_once=2))) == [1, 3, 5]


async def test_stream_that_hangs_is_closed_once_over() -> None:
    closed, first = asyncio.Event(), asyncio.Event()

    async def source() -> AsyncGenerator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def over() -> None:
        await first.wait()

    got: list[int] = []
    async with asyncio.timeout(5):
        async for item in until(source(), over()):
            got.append(item)
            first.set()
    assert got == [1]
    assert closed.is_set()


async def test_busy_consumer_loses_nothing_that_came_before_the_end() -> None:
    over_now = asyncio.Event()

    async def over() -> None:
        await over_now.wait()

    got: list[int] = []
    async for item in until(_numbers(4), over()):
        got.append(item)
        over_now.set()
    assert got == [0, 1, 2, 3]


async def test_stream_ending_first_yields_everything_and_leaves_nothing() -> None:
    left = asyncio.Event()

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    assert await collected(until(_numbers(4), never())) == [0, 1, 2, 3]
    assert left.is_set()
