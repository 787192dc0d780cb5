"""What is given to the cache is there at once, and on disk soon, whoever waits."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from core.adapters.cache.disk_cache import DiskCache
from core.adapters.cache.write_behind_cache import WriteBehindCache


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


async def test_value_is_found_before_it_is_written_and_after_restart(path: Path) -> None:
    behind = WriteBehindCache(DiskCache(path, 10))
    await behind.put_many("pages", {"a": b"one", "b": b"two"})
    await behind.put_many("vectors", {"a": np.array([1.5, 2], dtype=np.float32)})
    assert DiskCache(path, 10).get_many("pages", ["a", "b"]) == {}
    assert await behind.get_many("pages", ["a", "b", "c"]) == {"a": b"one", "b": b"two"}
    await behind.flush()
    again = WriteBehindCache(DiskCache(path, 10))
    assert await again.get_many("pages", ["a", "b"]) == {"a": b"one", "b": b"two"}
    vector = (await again.get_many("vectors", ["a"]))["a"]
    assert np.frombuffer(vector, dtype=np.float32).tolist() == [1.5, 2]


async def test_the_latest_of_two_values_is_kept(path: Path) -> None:
    cache = DiskCache(path, 10)
    behind = WriteBehindCache(cache)
    await behind.put_many("pages", {"a": b"first"})
    await asyncio.sleep(0)  # the first is on its way to the disk
    await behind.put_many("pages", {"a": b"second"})
    assert await behind.get_many("pages", ["a"]) == {"a": b"second"}
    await behind.flush()
    assert cache.get_many("pages", ["a"]) == {"a": b"second"}


async def test_values_beyond_the_memory_limit_still_arrive(path: Path) -> None:
    cache = DiskCache(path, 1_000)
    behind = WriteBehindCache(cache)
    await asyncio.gather(*(behind.put_many("pages", {str(number): bytes(3_000_000)}) for number in range(20)))
    await behind.flush()
    assert cache.size()["pages"] == (20, 60_000_000)


async def test_values_of_a_short_while_are_written_together(path: Path) -> None:
    batches: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    class Told(DiskCache):
        def put_many(self, space: str, items: Mapping[str, bytes]) -> None:
            super().put_many(space, items)
            loop.call_soon_threadsafe(batches.put_nowait, len(items))

    behind = WriteBehindCache(Told(path, 100))
    for number in range(50):
        await behind.put_many("pages", {str(number): b"page"})
        await asyncio.sleep(0)
    assert await asyncio.wait_for(batches.get(), 30) == 50
    await behind.put_many("pages", {"large": bytes(5_000_000)})
    await behind.flush()
    assert (batches.qsize(), batches.get_nowait()) == (1, 1)


async def test_one_who_gives_up_waiting_stops_no_writing(path: Path) -> None:
    cache = DiskCache(path, 10)
    behind = WriteBehindCache(cache)
    await behind.put_many("pages", {str(number): b"page" for number in range(100)})
    waiting = asyncio.create_task(behind.flush())
    await asyncio.sleep(0)
    waiting.cancel()
    await behind.flush()
    assert cache.size()["pages"][0] == 100
