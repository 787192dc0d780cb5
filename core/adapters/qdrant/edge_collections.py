"""Collections in Qdrant Edge: a folder, no server. The `Collections` port over a process of its own."""

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
from core.adapters.qdrant.index_builder import IndexBuilder
from core.adapters.qdrant.payload import to_payload
from core.adapters.qdrant.points import (
    MOST,
    everything,
    filter_of,
    fitting,
    neighbour,
    no_collection,
    ordered,
    passage_of,
    point_id,
    point_ids,
    rows,
)
from core.errors import LibraryFailed
from core.model import Collection, LibraryDocument, LibraryPassage, Neighbour
from core.model.library import checked_name
from core.text.sanitize import one_line

TOGETHER = 256
"""Passages written in one go; searches come in between."""
UNINDEXED = 20_000
"""Passages that a search compares one by one in a few milliseconds."""
_AGAIN = 0.1
"""Seconds until a collection that another process has open is tried again."""


class EdgeCollections:
    """The collections below `folder`. Two processes may use it, though not one collection at the same time.

    One lets go of a collection after `idle` seconds without a question; the other waits for it up to
    `patience` seconds. Searches compare with every passage until `unindexed` of them have come together;
    `quiet` seconds after the last change an index is then made, in the background.
    """

    def __init__(
        self,
        folder: Path,
        *,
        idle: float = 5.0,
        patience: float = 8.0,
        unindexed: int = UNINDEXED,
        quiet: float = 20.0,
    ) -> None:
        self.folder = folder
        self._process = EdgeProcess(folder, idle)
        self._patience = patience
        self._settling = IndexBuilder(self._process, unindexed, quiet)

    @property
    def identity(self) -> str:
        return f"embedded {self.folder}"

    @property
    def pid(self) -> int | None:
        """The process that holds the folder, while there is one."""
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
        return await asyncio.to_thread(_names, self.folder)

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        name = checked_name(name)
        told, _ = await self._ask("about", name, wait=wait)
        embedder = told["embedder"]
        return Collection(
            name=name,
            width=told["width"],
            distance=told["distance"],
            passages=told["passages"],
            embedder=embedder if isinstance(embedder, str) else "",
        )

    async def create(self, name: str, width: int) -> None:
        name = checked_name(name)
        told, _ = await self._process.ask("create", name=name, width=width)
        if told.get("refused") == "exists":
            shape, _ = await self._ask("shape", name)
            fitting(Collection(name=name, **shape, passages=0), width)
        else:
            _checked(told, name)

    async def drop(self, name: str) -> None:
        await self._ask("drop", checked_name(name))

    async def put(self, name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        name = checked_name(name)
        numbers, ids = rows(vectors, len(passages)), point_ids(passages)
        for start in range(0, len(passages), TOGETHER):
            part = slice(start, start + TOGETHER)
            payloads = [to_payload(passage) for passage in passages[part]]
            self._settling.changed(name)
            await self._ask("put", name, numbers[part], ids=ids[part], payloads=payloads)

    async def nearest(
        self,
        name: str,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, str | int] | None = None,
        *,
        exact: bool = False,
    ) -> tuple[Neighbour, ...]:
        name = checked_name(name)
        numbers = rows(vector[None], 1)
        told, found = await self._ask(
            "nearest", name, numbers, limit=min(limit, MOST), where=filter_of(where), exact=exact
        )
        self._settling.used(name)
        vectors = found.reshape(-1, numbers.shape[1])
        points = zip(told["ids"], told["payloads"], told["scores"], vectors, strict=True)
        return tuple(neighbour(*point) for point in points)

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        asked = [point for point in map(point_id, ids) if point is not None]
        told, _ = await self._ask("get", checked_name(name), ids=asked)
        found = {passage.id: passage for passage in _passages(told)}
        return tuple(found[str(point)] for point in asked if str(point) in found)

    async def scroll(
        self, name: str, limit: int, after: str = "", where: Mapping[str, str | int] | None = None
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        told, _ = await self._ask(
            "scroll",
            checked_name(name),
            limit=max(1, min(limit, MOST)),
            after=point_id(after),
            where=filter_of(where),
        )
        return _passages(told), told["further"]

    async def documents(self, name: str, limit: int = 1000) -> tuple[LibraryDocument, ...]:
        told, _ = await self._ask("documents", checked_name(name), limit=limit)
        held = [LibraryDocument(source=row[0], digest=row[1], passages=row[2]) for row in told["documents"]]
        return ordered(held, limit)

    async def remove(self, name: str, where: Mapping[str, str | int]) -> None:
        narrowed = filter_of(where)
        if narrowed is None:
            raise everything()
        name = checked_name(name)
        self._settling.changed(name)
        await self._ask("remove", name, where=narrowed)

    async def settle(self, name: str) -> bool:
        """Make the index for searches now; false when the collection is too small, or changed meanwhile.

        Raises:
            LibraryFailed: when it cannot be made.
        """
        return await self._settling.settle(checked_name(name))

    async def aclose(self) -> None:
        await self._settling.aclose()
        await self._process.aclose()

    async def _ask(
        self,
        do: str,
        name: str,
        numbers: NDArray[np.float32] = NOTHING,
        *,
        wait: bool = True,
        **arguments: Any,
    ) -> tuple[dict[str, Any], NDArray[np.float32]]:
        until = time.monotonic() + (self._patience if wait else 0.0)
        while True:
            told, found = await self._process.ask(do, numbers, name=name, **arguments)
            if told.get("refused") != "locked" or time.monotonic() >= until:
                break
            await asyncio.sleep(_AGAIN)
        _checked(told, name)
        if "unfit" in told:
            fitting(Collection(name=name, **told["unfit"], passages=0), numbers.shape[1])
        return told, found


def _names(folder: Path) -> tuple[str, ...]:
    try:
        found = [path.parent.name for path in folder.glob(f"*/{CONFIG}")]
    except OSError as error:
        raise LibraryFailed(
            f"The library below {folder} cannot be read ({error.strerror}).",
            hint="Set OPENQUERY_DATA to a folder that is yours.",
        ) from error
    return tuple(sorted(name for name in found if not name.startswith(".")))


def _passages(told: dict[str, Any]) -> tuple[LibraryPassage, ...]:
    return tuple(passage_of(*point) for point in zip(told["ids"], told["payloads"], strict=True))


def _checked(told: dict[str, Any], name: str) -> None:
    """Return when the answer is one.

    Raises:
        LibraryFailed: in words for a person.
    """
    if told.get("refused") == "missing":
        raise no_collection(name)
    if told.get("refused") == "locked":
        raise LibraryFailed(
            f"Another process has the collection {name} open.",
            hint="It lets go seconds after its last use: ask again then. For several processes at once, set "
            "QDRANT_URL to a Qdrant server.",
        )
    if "failed" in told:
        raise LibraryFailed(
            f"The collection {name} cannot be used: {one_line(told['failed'], 200).rstrip('.')}.",
            hint="Is the disk full, or was something in its folder changed? Deleting the collection always works.",
        )
