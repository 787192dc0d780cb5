"""Receiving of files: on disk until they are read, so that slow and simultaneous uploads cost no memory."""

import asyncio
import tempfile
from collections.abc import AsyncIterable
from pathlib import Path
from typing import IO

from core.api.problems import Refusal
from core.errors import LibraryFailed

MOST_UPLOADS = 16
"""Files that a process receives at the same time."""


class Uploads:
    """The files that one process is receiving."""

    def __init__(self) -> None:
        self._receiving = 0

    async def receive(self, chunks: AsyncIterable[bytes], folder: Path) -> IO[bytes]:
        """A file from a client, to be closed: without a name in `folder`, so that none remains after a crash.

        Raises:
            Refusal: while `MOST_UPLOADS` others are being received.
            LibraryFailed: when it cannot be written to disk.
        """
        if self._receiving >= MOST_UPLOADS:
            raise Refusal(
                503,
                f"{MOST_UPLOADS} files are being received.",
                "Send this one again in a few seconds.",
                headers={"Retry-After": "5"},
            )
        self._receiving += 1
        file: IO[bytes] | None = None
        try:
            file = await asyncio.to_thread(_unnamed_file, folder)
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(file.flush)
        except BaseException as error:
            if file:
                file.close()
            if isinstance(error, OSError):
                raise LibraryFailed(
                    f"The file could not be received: {error.strerror}.",
                    hint="Check the space and rights of the data folder.",
                ) from error
            raise
        finally:
            self._receiving -= 1
        return file


def _unnamed_file(folder: Path) -> IO[bytes]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)
