"""Write-behind cache: values are readable at once and written to disk later, in batches."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from core.adapters.cache.disk_cache import DiskCache

Value = bytes | NDArray[np.float32]

_BATCH_BYTES = 4_000_000
"""The approximate bytes of one transaction."""
_BATCH_SECONDS = 0.5
"""Seconds for which a smaller transaction waits for more entries, because each transaction is expensive."""
_MAX_PENDING_BYTES = 48_000_000
"""The maximum bytes that wait. A caller with more waits for room, so that a slow disk costs no memory."""


class WriteBehindCache:
    """A write-behind queue over `cache`, with many entries per transaction.

    All calls belong to one event loop. Call `flush` before the cache is closed, otherwise waiting entries are lost.
    """

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._pending: dict[tuple[str, str], Value] = {}
        self._bytes = 0
        self._writing: asyncio.Task[None] | None = None
        self._flushing = 0
        """The number of callers that wait for the end of writing."""
        self._flush_now = asyncio.Event()

    async def get_many(self, space: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values. Keys without a value are omitted."""
        values = {key: bytes(self._pending[space, key]) for key in keys if (space, key) in self._pending}
        if missing := [key for key in keys if key not in values]:
            values |= await asyncio.to_thread(self._cache.get_many, space, missing)
        return values

    async def put_many(self, space: str, items: Mapping[str, Value]) -> None:
        """Store these values, which must not change any more."""
        for key, value in items.items():
            self._bytes += _size(value) - _size(self._pending.get((space, key), b""))
            self._pending[space, key] = value
        if self._pending and (self._writing is None or self._writing.done()):
            self._writing = asyncio.create_task(self._write())
        if self._bytes >= _BATCH_BYTES:
            self._flush_now.set()
        if self._bytes > _MAX_PENDING_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Wait until all stored values are on disk."""
        if self._writing is None:
            return
        self._flushing += 1
        self._flush_now.set()
        try:
            await asyncio.shield(self._writing)
        finally:
            self._flushing -= 1

    async def _write(self) -> None:
        while self._pending:
            if not self._flushing and self._bytes < _BATCH_BYTES:
                self._flush_now.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_BATCH_SECONDS):
                        await self._flush_now.wait()
            batch = self._next_batch()
            for space in dict.fromkeys(space for space, _ in batch):
                await asyncio.to_thread(
                    self._put, space, {key: v for (s, key), v in batch.items() if s == space}
                )
            for name, value in batch.items():
                if self._pending.get(name) is value:
                    del self._pending[name]
                    self._bytes -= _size(value)

    def _next_batch(self) -> dict[tuple[str, str], Value]:
        """Return the oldest waiting entries of one transaction."""
        batch: dict[tuple[str, str], Value] = {}
        size = 0
        for name, value in self._pending.items():
            batch[name] = value
            size += _size(value)
            if size >= _BATCH_BYTES:
                break
        return batch

    def _put(self, space: str, items: Mapping[str, Value]) -> None:
        # Views: copying a transaction in another thread uses memory that is not returned.
        self._cache.put_many(space, {key: _view(value) for key, value in items.items()})


def _view(value: Value) -> memoryview:
    return (memoryview(value) if isinstance(value, bytes) else value.data).cast("B")


def _size(value: Value) -> int:
    return value.nbytes if isinstance(value, np.ndarray) else len(value)
