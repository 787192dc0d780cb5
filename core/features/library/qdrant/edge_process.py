"""Start, use and end the embedded database's worker process."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adapters.worker_process import WorkerProcess
from core.errors import LibraryFailed
from core.features.library.qdrant.edge_protocol import (
    MESSAGE_LIMIT,
    NOTHING,
    VECTORS_LIMIT,
    from_frame,
    to_frame,
)

_EXIT_TIMEOUT = 10.0
"""Seconds in which the process may write everything to disk and exit."""

Reply = tuple[dict[str, Any], NDArray[np.float32]]


class EdgeProcess:
    """Requests and replies over pipes. A cancelled request is still served."""

    def __init__(self, folder: Path, idle: float) -> None:
        self.folder = folder
        self._arguments = (str(folder), str(idle))
        self._process: WorkerProcess | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._ids = itertools.count(1)
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process id, or None without a running process."""
        return self._process.pid if self._process and not self._process.ended else None

    async def ask(self, do: str, vectors: NDArray[np.float32] = NOTHING, **arguments: Any) -> Reply:
        """Send a request, and return the reply's message and vectors.

        Raises:
            LibraryFailed: when the process cannot be started, or ends before it has replied.
        """
        request = next(self._ids)
        async with self._starting:
            process = await self._running()
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request] = reply
        try:
            await process.send(*to_frame({"id": request, "do": do, "with": arguments}, vectors))
            return await reply
        except OSError as error:
            # Writing detects the end of the process first. The next request starts a new process.
            if self._reader:
                await asyncio.wait({self._reader}, timeout=_EXIT_TIMEOUT)
            raise self._process_ended() from error
        finally:
            self._waiting.pop(request, None)
            if reply.done() and not reply.cancelled():
                reply.exception()  # retrieved, also if writing failed first

    async def aclose(self) -> None:
        """End the process after everything is on disk."""
        process, reader = self._process, self._reader
        self._process = self._reader = None
        if process is None or reader is None:
            return
        await process.finish(_EXIT_TIMEOUT)
        await reader

    async def _running(self) -> WorkerProcess:
        if self._process is not None and self._reader is not None and not self._reader.done():
            return self._process
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            process = await WorkerProcess.start("features.library.qdrant.edge_worker", *self._arguments)
        except (OSError, NotImplementedError) as error:
            raise LibraryFailed(
                f"The library below {self.folder} cannot be opened ({error}).",
                hint="Set OPENQUERY_DATA to a folder that can be written, or QDRANT_URL to a Qdrant server.",
            ) from error
        self._process = process
        self._reader = asyncio.create_task(self._read_replies(process))
        return process

    async def _read_replies(self, process: WorkerProcess) -> None:
        """Resolve each waiting request with its reply. When the process ends, all of them fail."""
        try:
            while True:
                message, vectors = from_frame(*await process.receive(MESSAGE_LIMIT, VECTORS_LIMIT))
                reply = self._waiting.pop(message.pop("id"), None)
                if reply and not reply.done():
                    reply.set_result((message, vectors))
        except (asyncio.IncompleteReadError, OSError):
            pass  # its end is reported below
        except (ValueError, KeyError, TypeError):
            process.kill()  # its reply is invalid, so it is not used again
        finally:
            for reply in self._waiting.values():
                if not reply.done():
                    reply.set_exception(self._process_ended())
            self._waiting.clear()

    def _process_ended(self) -> LibraryFailed:
        return LibraryFailed(
            f"The process that holds the library below {self.folder} has ended.",
            hint="Try again: it is restarted, and confirmed writes are on disk. When it does not start, the disk may be "
            "full, or requirements.txt not installed.",
        )
