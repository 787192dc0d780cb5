"""The `Collections` port over Qdrant Edge: collections in a folder, without a server, in a worker process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adapters.qdrant.edge_process import EdgeProcess
from core.adapters.qdrant.edge_protocol import CONFIG, NOTHING
from core.adapters.qdrant.payload import to_payload
from core.adapters.qdrant.points import (
    MOST,
    checked_vectors,
    filter_of,
    largest_first,
    neighbour,
    no_collection,
    no_filter,
    passage_of,
    point_id,
    point_ids,
    require_shape,
)
from core.errors import LibraryFailed
from core.model import Collection, LibraryDocument, LibraryPassage, Neighbour
from core.model.library import checked_name
from core.text.sanitize import one_line

BATCH = 256
"""Passages per write; searches come in between."""
_RETRY_SECONDS = 0.1
"""Seconds until a collection that another process has open is tried again."""


class EdgeCollections:
    """The collections below `folder`. Two processes may use it, though not one collection at the same time.

    A process closes its collections after `idle` seconds without a request; another waits for one up to
    `lock_timeout` seconds. A search compares with every passage (decision 0016).
    """

    def __init__(
        self,
        folder: Path,
        *,
        idle: float = 5.0,
        lock_timeout: float = 8.0,
    ) -> None:
        self.folder = folder
        self._process = EdgeProcess(folder, idle)
        self._lock_timeout = lock_timeout

    @property
    def identity(self) -> str:
        """The database; stands for it in cache keys and never holds a key."""
        return f"embedded {self.folder}"

    @property
    def pid(self) -> int | None:
        """The id of the worker process, while there is one."""
        return self._process.pid

    async def healthy(self) -> str:
        """A line about the folder, whose process is started when there is anything in it.

        Raises:
            LibraryFailed: when it cannot be read, or the process does not start.
        """
        count = len(await self.names())
        if count:
            await self._process.ask("ping")
        return f"{count} collection{'s' * (count != 1)} embedded in {self.folder}"

    async def names(self) -> tuple[str, ...]:
        """All collections, sorted. Raises `LibraryFailed`."""
        return await asyncio.to_thread(_names, self.folder)

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        """Shape, size and embedder of a collection. Raises `LibraryFailed`."""
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
        """An empty collection under cosine distance, unless there is one of that width. Raises `LibraryFailed`."""
        name = checked_name(name)
        reply, _ = await self._process.ask("create", name=name, width=width)
        if reply.get("refused") == "exists":
            shape, _ = await self._ask("shape", name)
            require_shape(Collection(name=name, **shape, passages=0), width)
        else:
            _checked(reply, name)

    async def drop(self, name: str) -> None:
        """Delete the collection, if there is one. Raises `LibraryFailed`."""
        await self._ask("drop", checked_name(name))

    async def put(self, name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        """Add passages, or replace those with the same id. Raises `LibraryFailed`."""
        name = checked_name(name)
        vectors, ids = checked_vectors(vectors, len(passages)), point_ids(passages)
        for start in range(0, len(passages), BATCH):
            part = slice(start, start + BATCH)
            payloads = [to_payload(passage) for passage in passages[part]]
            await self._ask("put", name, vectors[part], ids=ids[part], payloads=payloads)

    async def nearest(
        self,
        name: str,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, str | int] | None = None,
        *,
        exact: bool = False,
    ) -> tuple[Neighbour, ...]:
        """The passages most similar to `vector`, best first. Raises `LibraryFailed`, and `BadInput` for a filter."""
        name = checked_name(name)
        vectors = checked_vectors(vector[None], 1)
        reply, matrix = await self._ask(
            "nearest", name, vectors, limit=min(limit, MOST), where=filter_of(where), exact=exact
        )
        rows = matrix.reshape(-1, vectors.shape[1])
        points = zip(reply["ids"], reply["payloads"], reply["scores"], rows, strict=True)
        return tuple(neighbour(*point) for point in points)

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """The passages with these ids, in this order, without unknown ids. Raises `LibraryFailed`."""
        points = [point for point in map(point_id, ids) if point is not None]
        reply, _ = await self._ask("get", checked_name(name), ids=points)
        passages = {passage.id: passage for passage in _passages(reply)}
        return tuple(passages[str(point)] for point in points if str(point) in passages)

    async def scroll(
        self, name: str, limit: int, after: str = "", where: Mapping[str, str | int] | None = None
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        """The next passages in the order of their ids, and `after` for more; "" at the end. Raises `LibraryFailed`."""
        reply, _ = await self._ask(
            "scroll",
            checked_name(name),
            limit=max(1, min(limit, MOST)),
            after=point_id(after),
            where=filter_of(where),
        )
        return _passages(reply), reply["further"]

    async def documents(self, name: str, limit: int = 1000) -> tuple[LibraryDocument, ...]:
        """The documents that passages name, most passages first. Raises `LibraryFailed`."""
        reply, _ = await self._ask("documents", checked_name(name), limit=limit)
        documents = [
            LibraryDocument(source=row[0], digest=row[1], passages=row[2]) for row in reply["documents"]
        ]
        return largest_first(documents, limit)

    async def remove(self, name: str, where: Mapping[str, str | int]) -> None:
        """Delete the passages that match. Raises `LibraryFailed`, and `BadInput` without a filter."""
        filtered = filter_of(where)
        if filtered is None:
            raise no_filter()
        name = checked_name(name)
        await self._ask("remove", name, where=filtered)

    async def aclose(self) -> None:
        """End the worker process."""
        await self._process.aclose()

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


def _passages(reply: dict[str, Any]) -> tuple[LibraryPassage, ...]:
    return tuple(passage_of(*point) for point in zip(reply["ids"], reply["payloads"], strict=True))


def _checked(reply: dict[str, Any], name: str) -> None:
    """Raise the error in a reply.

    Raises:
        LibraryFailed: with what happened and what to do.
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
