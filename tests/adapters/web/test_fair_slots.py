"""Slots are handed out to runs in turn, whatever each of them asks for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from core.adapters.web.fair_slots import FairSlots
from core.run.page_request import PageRequest, Requester, page_request

Told = list[str]


async def wants(slots: FairSlots, run: Requester, name: str, log: Told, *, second: bool = False) -> None:
    with page_request(run):
        async with slots.slot(second=second):
            log.append(name)


@asynccontextmanager
async def held(slots: FairSlots, run: Requester) -> AsyncIterator[Callable[[], bool]]:
    """The run holds a slot; whether it is recalled."""
    with page_request(run):
        slot = await slots.acquire()
    try:
        yield slot.recalled.is_set
    finally:
        slots.release(slot)


async def begun(*tasks: asyncio.Task[None]) -> None:
    """Return when the tasks stand in line."""
    del tasks
    for _ in range(3):
        await asyncio.sleep(0)


async def test_waiting_runs_take_turns_and_keep_their_page_order() -> None:
    slots, log = FairSlots(1, "a slot"), Told()
    many, few, third = Requester(), Requester(), Requester()
    async with held(slots, Requester()):
        tasks = [asyncio.create_task(wants(slots, many, f"many {n}", log)) for n in range(4)]
        tasks += [asyncio.create_task(wants(slots, few, f"few {n}", log)) for n in range(2)]
        tasks += [asyncio.create_task(wants(slots, third, "third 0", log))]
        await begun(*tasks)
    await asyncio.gather(*tasks)
    assert sorted(log[:3]) == ["few 0", "many 0", "third 0"]
    assert [name for name in log if name.startswith("many")] == [f"many {n}" for n in range(4)]
    assert log[-1] == "many 3"
    assert slots.idle


async def test_run_with_slots_waits_for_one_without() -> None:
    slots, log = FairSlots(3, "a slot"), Told()
    greedy, other = Requester(), Requester()
    async with held(slots, greedy), held(slots, greedy):
        async with held(slots, greedy):
            tasks = [asyncio.create_task(wants(slots, greedy, f"greedy {n}", log)) for n in range(3)]
            tasks += [asyncio.create_task(wants(slots, other, f"other {n}", log)) for n in range(3)]
            await begun(*tasks)
        await asyncio.gather(*tasks[3:])
        assert log[:3] == ["other 0", "other 1", "other 2"]
    await asyncio.gather(*tasks)


async def test_retries_come_last_and_leave_a_slot_to_others() -> None:
    slots, log = FairSlots(2, "a slot"), Told()
    run = Requester()
    async with held(slots, Requester()):
        with page_request(run):
            second = await slots.acquire(second=True)
        tasks = [asyncio.create_task(wants(slots, run, "second", log, second=True))]
        tasks += [asyncio.create_task(wants(slots, run, "first", log))]
        await begun(*tasks)
    await tasks[1]
    assert log == ["first"]
    slots.release(second)
    await tasks[0]
    assert log == ["first", "second"]


async def test_slot_is_recalled_only_for_a_run_without_one() -> None:
    slots = FairSlots(2, "a slot", slice_seconds=0.05)
    greedy, other = Requester(), Requester()
    async with held(slots, greedy) as first, held(slots, greedy) as later:
        own = asyncio.create_task(wants(slots, greedy, "own", []))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await own
        assert not first()
        waiting = asyncio.create_task(wants(slots, other, "other", []))
        async with asyncio.timeout(5):
            while not first():
                await asyncio.sleep(0.01)
        assert not later(), "one for each run that waits"
    await waiting


async def test_abandoned_wait_says_for_what_and_leaves_no_trace() -> None:
    slots = FairSlots(1, "its turn at host.example")
    mine = Requester()
    requests: list[PageRequest] = []

    async def wait() -> None:
        with page_request(mine) as request:
            requests.append(request)
            await slots.acquire()

    async with held(slots, Requester()):
        task = asyncio.create_task(wait())
        await begun(task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert requests[0].waited_for == "it waited for its turn at host.example: 1 other run"
    async with held(slots, mine):
        task = asyncio.create_task(wait())
        await begun(task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert requests[1].waited_for.endswith("other pages of this run")
    assert slots.idle


async def test_slot_handed_to_a_cancelled_waiter_is_not_lost() -> None:
    slots, log = FairSlots(1, "a slot"), Told()
    slot = await slots.acquire()
    leaving = asyncio.create_task(wants(slots, Requester(), "leaving", log))
    staying = asyncio.create_task(wants(slots, Requester(), "staying", log))
    await begun(leaving, staying)
    slots.release(slot)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    await staying
    assert log == ["staying"]
    assert slots.idle
