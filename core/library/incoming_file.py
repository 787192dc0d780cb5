"""A file that a client sends: on disk until it is read, so that slow and simultaneous uploads cost no memory."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterable
from pathlib import Path

_STEP = 1 << 20
"""Bytes that are gathered before they are written."""


class IncomingFile:
    """A file without a name, on the disk of the data folder: nothing of it remains when the process ends."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError when the folder cannot be written."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self.size = 0

    async def receive(self, chunks: AsyncIterable[bytes]) -> None:
        """Write what comes. Raises OSError when the disk is full."""
        gathered = bytearray()
        async for chunk in chunks:
            gathered += chunk
            self.size += len(chunk)
            if len(gathered) >= _STEP:
                await asyncio.to_thread(self._file.write, bytes(gathered))
                gathered.clear()
        await asyncio.to_thread(self._file.write, bytes(gathered))

    def read(self) -> bytes:
        """The whole file. Blocks."""
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        """Delete it."""
        self._file.close()
