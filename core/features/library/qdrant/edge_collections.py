"""The `Collections` port over Qdrant Edge: collections in a folder, without a server, in a worker process."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import LibraryFailed
from core.features.library.qdrant.edge_process import EdgeProcess
from core.features.library.qdrant.edge_protocol import CONFIG, NOTHING
from core.features.library.qdrant.point_collections import PointCollections, PointId, Where
from core.features.library.qdrant.points import filter_of, no_collection, require_shape
from core.model import Collection, LibraryDocument
from core.model.library import checked_name
from core.text.sanitize import one_line, pluralize

BATCH = 256
"""Passages per write. Searches run between writes."""
_RETRY_SECONDS = 0.1
"""Seconds until the next attempt to open a collection that another process has open."""


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
