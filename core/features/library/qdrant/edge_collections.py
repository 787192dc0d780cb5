"""The `Collections` port over Qdrant Edge: collections in a folder, without a server, in a worker process."""

import asyncio
import itertools
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adapters.worker_process import WorkerProcess
from core.errors import LibraryFailed
from core.features.library.qdrant.edge_protocol import (
    CONFIG,
    MESSAGE_LIMIT,
    NOTHING,
    VECTORS_LIMIT,
    from_frame,
    to_frame,
)
from core.features.library.qdrant.point_collections import PointCollections, PointId, Where
from core.features.library.qdrant.points import filter_of, no_collection, require_shape
from core.model import Collection, LibraryDocument
from core.model.library import checked_name
from core.text.sanitize import one_line, pluralize

_EXIT_TIMEOUT = 10.0
"""Seconds in which the process may write everything to disk and exit."""

Reply = tuple[dict[str, Any], NDArray[np.float32]]
BATCH = 256
"""Passages per write. Searches run between writes."""
_RETRY_SECONDS = 0.1
"""Seconds until the next attempt to open a collection that another process has open."""


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


class EdgeCollections(PointCollections):
    """The collections below `folder`. Two processes may share it, but not open one collection at the same time.

    A process closes its collections after `idle` seconds without a request. Another process waits for a collection up
    to `lock_timeout` seconds. A search compares with every passage (decision 0016).
    """

    def __init__(self, folder: Path, *, idle: float = 5.0, lock_timeout: float = 8.0) -> None:
        self.folder = folder
        self._process = EdgeProcess(folder, idle)
        self._lock_timeout = lock_timeout

    @property
    def identity(self) -> str:
        """The database's identity for cache keys. It never has a key."""
        return f"embedded {self.folder}"

    @property
    def pid(self) -> int | None:
        """The id of the worker process, or None without one."""
        return self._process.pid

    async def healthy(self) -> str:
        """Describe the folder in a line. Its process is started if the folder has collections.

        Raises:
            LibraryFailed: when the folder cannot be read, or the process does not start.
        """
        count = len(await self.names())
        if count:
            await self._process.ask("ping")
        return f"built in, {pluralize(count, 'collection')}, {self.folder}"

    async def names(self) -> tuple[str, ...]:
        """List all collections, sorted. Raises `LibraryFailed`."""
        return await asyncio.to_thread(_names, self.folder)

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        """Describe a collection: shape, size and embedder. Raises `LibraryFailed`."""
        name = checked_name(name)
        reply, _ = await self._ask("about", name, wait=wait)
        embedder = reply["embedder"]
        return Collection(
            name=name,
            width=reply["width"],
            distance=reply["distance"],
            vector=reply["vector"],
            passages=reply["passages"],
            embedder=embedder if isinstance(embedder, str) else "",
        )

    async def create(self, name: str, width: int) -> None:
        """Create a collection with cosine distance if needed.

        An existing collection must have this width. Raises `LibraryFailed`.
        """
        name = checked_name(name)
        reply, _ = await self._process.ask("create", name=name, width=width)
        if reply.get("refused") == "exists":
            shape, _ = await self._ask("shape", name)
            require_shape(Collection(name=name, **shape, passages=0), width)
        else:
            _checked(reply, name)

    async def drop(self, name: str) -> None:
        """Delete the collection if it exists. Raises `LibraryFailed`."""
        await self._ask("drop", checked_name(name))

    async def aclose(self) -> None:
        """End the worker process."""
        await self._process.aclose()

    def _batch_size(self, width: int) -> int:
        return BATCH

    async def _upsert(
        self, name: str, ids: list[PointId], vectors: NDArray[np.float32], payloads: list[dict[str, Any]]
    ) -> None:
        await self._ask("put", name, vectors, ids=ids, payloads=payloads)

    async def _query(
        self, name: str, vector: NDArray[np.float32], limit: int, where: Where | None, exact: bool
    ) -> Iterable[tuple[Any, Any, float, NDArray[np.float32]]]:
        reply, matrix = await self._ask(
            "nearest", name, vector[None], limit=limit, where=filter_of(where), exact=exact
        )
        rows = matrix.reshape(-1, len(vector))
        return zip(reply["ids"], reply["payloads"], reply["scores"], rows, strict=True)

    async def _retrieve(self, name: str, points: list[PointId]) -> Iterable[tuple[Any, Any]]:
        reply, _ = await self._ask("get", name, ids=points)
        return zip(reply["ids"], reply["payloads"], strict=True)

    async def _scroll(
        self, name: str, limit: int, after: PointId | None, where: Where | None
    ) -> tuple[Iterable[tuple[Any, Any]], Any]:
        reply, _ = await self._ask("scroll", name, limit=limit, after=after, where=filter_of(where))
        return zip(reply["ids"], reply["payloads"], strict=True), reply["further"]

    async def _documents(self, name: str, limit: int) -> Sequence[LibraryDocument]:
        reply, _ = await self._ask("documents", name, limit=limit)
        return [
            LibraryDocument(source=source, digest=digest, passages=count)
            for source, digest, count in reply["documents"]
        ]

    async def _remove(self, name: str, where: Where) -> None:
        await self._ask("remove", name, where=filter_of(where))

    async def _ask(
        self,
        do: str,
        name: str,
        vectors: NDArray[np.float32] = NOTHING,
        *,
        wait: bool = True,
        **arguments: Any,
    ) -> tuple[dict[str, Any], NDArray[np.float32]]:
        until = time.monotonic() + (self._lock_timeout if wait else 0.0)
        while True:
            reply, matrix = await self._process.ask(do, vectors, name=name, **arguments)
            if reply.get("refused") != "locked" or time.monotonic() >= until:
                break
            await asyncio.sleep(_RETRY_SECONDS)
        _checked(reply, name)
        if "mismatch" in reply:
            require_shape(Collection(name=name, **reply["mismatch"], passages=0), vectors.shape[1])
        return reply, matrix


def _names(folder: Path) -> tuple[str, ...]:
    try:
        names = [path.parent.name for path in folder.glob(f"*/{CONFIG}")]
    except OSError as error:
        raise LibraryFailed(
            f"The library below {folder} cannot be read ({error.strerror}).",
            hint="Set OPENQUERY_DATA to a folder that is yours.",
        ) from error
    return tuple(sorted(name for name in names if not name.startswith(".")))


def _checked(reply: dict[str, Any], name: str) -> None:
    """Raise the error in a reply.

    Raises:
        LibraryFailed: with the problem and the remedy.
    """
    if reply.get("refused") == "missing":
        raise no_collection(name)
    if reply.get("refused") == "locked":
        raise LibraryFailed(
            f"Another process has the collection {name} open.",
            hint="It is closed seconds after its last use: try again then. For several processes at once, set "
            "QDRANT_URL to a Qdrant server.",
        )
    if "failed" in reply:
        raise LibraryFailed(
            f"The collection {name} cannot be used: {one_line(reply['failed'], 200).rstrip('.')}.",
            hint="Is the disk full, or was its folder changed? Deleting the collection always works.",
        )
