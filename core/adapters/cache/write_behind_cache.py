"""A cache that is written behind the back of whoever gives it something: nobody waits for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from core.adapters.cache.disk_cache import DiskCache

Value = bytes | NDArray[np.float32]

_AT_ONCE = 4_000_000
"""Bytes of one transaction, about."""
_SOON = 0.5
"""Seconds in which others may join a transaction that has fewer bytes: each costs as much as many entries."""
_MOST = 48_000_000
"""Bytes that may wait; whoever gives more waits until there is room, so that a slow disk costs no memory."""


class WriteBehindCache:
    """`cache`, where what was put is found at once and written soon, many entries to a transaction.

    All calls belong to one event loop. `flush` before the cache is closed, or what waits is lost.
    """

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._waiting: dict[tuple[str, str], Value] = {}
        self._bytes = 0
        self._writing: asyncio.Task[None] | None = None
        self._pressed = 0
        """How many wait for the writing to end."""
        self._hurry = asyncio.Event()

    async def get_many(self, space: str, keys: Sequence[str]) -> dict[str, bytes]:
        """The values at hand; keys without one are missing from the answer."""
        found = {key: bytes(self._waiting[space, key]) for key in keys if (space, key) in self._waiting}
        if missing := [key for key in keys if key not in found]:
            found |= await asyncio.to_thread(self._cache.get_many, space, missing)
        return found

    async def put_many(self, space: str, items: Mapping[str, Value]) -> None:
        """Keep these values, which nobody may change any more."""
        for key, value in items.items():
            self._bytes += _size(value) - _size(self._waiting.get((space, key), b""))
            self._waiting[space, key] = value
        if self._waiting and (self._writing is None or self._writing.done()):
            self._writing = asyncio.create_task(self._write())
        if self._bytes >= _AT_ONCE:
            self._hurry.set()
        if self._bytes > _MOST:
            await self.flush()

    async def flush(self) -> None:
        """Return when everything put so far is on disk."""
        if self._writing is None:
            return
        self._pressed += 1
        self._hurry.set()
        try:
            await asyncio.shield(self._writing)
        finally:
            self._pressed -= 1

    async def _write(self) -> None:
        while self._waiting:
            if not self._pressed and self._bytes < _AT_ONCE:
                self._hurry.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_SOON):
                        await self._hurry.wait()
            batch = self._next()
            for space in dict.fromkeys(space for space, _ in batch):
                await asyncio.to_thread(
                    self._put, space, {key: v for (s, key), v in batch.items() if s == space}
                )
            for name, value in batch.items():
                if self._waiting.get(name) is value:
                    del self._waiting[name]
                    self._bytes -= _size(value)

    def _next(self) -> dict[tuple[str, str], Value]:
        """The oldest that wait, as many as one transaction takes."""
        batch: dict[tuple[str, str], Value] = {}
        size = 0
        for name, value in self._waiting.items():
            batch[name] = value
            size += _size(value)
            if size >= _AT_ONCE:
                break
        return batch

    def _put(self, space: str, items: Mapping[str, Value]) -> None:
        # Views: a copy of a transaction in whatever thread writes it is memory that comes back to nobody.
        self._cache.put_many(space, {key: _view(value) for key, value in items.items()})


def _view(value: Value) -> memoryview:
    return (memoryview(value) if isinstance(value, bytes) else value.data).cast("B")


def _size(value: Value) -> int:
    return value.nbytes if isinstance(value, np.ndarray) else len(value)
