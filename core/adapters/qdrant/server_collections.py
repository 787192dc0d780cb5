"""Collections on a Qdrant server or cluster: the `Collections` port over its REST interface."""

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from core.adapters.qdrant import replies
from core.adapters.qdrant.connection import Body, QdrantConnection, QdrantReply
from core.adapters.qdrant.payload import NUMBERS
from core.adapters.qdrant.point_collections import PointCollections, PointId, Where
from core.adapters.qdrant.points import (
    DOCUMENT,
    INTEGERS,
    KEYWORDS,
    MOST,
    SOURCE,
    equals,
    filter_of,
    passage_of,
    require_shape,
    without_source,
)
from core.errors import BadInput
from core.model import Collection, LibraryDocument
from core.model.library import checked_name

T = TypeVar("T")

NUMBERS_PER_REQUEST = 400_000
"""Float values of vectors in one request: some 8 MB of JSON, a quarter of what a server takes."""
COUNTED = 200_000
"""Passages that are counted one by one where the server may not or cannot count by document."""


class ServerCollections(PointCollections):
    """The `Collections` port over one server. Its key is in no message."""

    def __init__(
        self,
        url: str,
        api_key: SecretStr | None = None,
        *,
        timeout: float = 30.0,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._server = QdrantConnection(url, api_key, timeout=timeout, trust=trust)
        self._shapes: dict[str, Collection] = {}

    @property
    def identity(self) -> str:
        """The database; stands for it in cache keys and never holds a key."""
        return f"qdrant {self._server.url}"

    @property
    def exposed(self) -> bool:
        """Whether the key is sent to another machine without encryption."""
        return self._server.exposed

    async def healthy(self) -> str:
        """A line about the server.

        Raises:
            LibraryFailed: when it does not answer.
        """
        count = len(await self.names())
        return f"{count} collection{'s' * (count != 1)} at {self._server.url}"

    async def names(self) -> tuple[str, ...]:
        """The collections whose names `checked_name` accepts; a server allows others."""
        return tuple(sorted(filter(_usable, await self._ask("", "", None, replies.names, "GET"))))

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        """Shape, size and embedder of a collection. Raises `LibraryFailed`."""
        name = checked_name(name)
        first = {"limit": 1, "with_payload": ["metadata.embedder"]}
        shape, passages, (points, _) = await asyncio.gather(
            self._described(name),
            self._ask(name, "/points/count", {"exact": True}, replies.count),
            self._ask(name, "/points/scroll", first, replies.page),
        )
        embedder = passage_of(*points[0]).embedder if points else ""
        described: Collection = replace(shape, passages=passages, embedder=embedder)
        return described

    async def create(self, name: str, width: int) -> None:
        """An empty collection under cosine distance, unless there is one of that width. Raises `LibraryFailed`."""
        name = checked_name(name)
        if not await self._ask(name, "/exists", None, itemgetter("exists"), "GET"):
            body = {"vectors": {"size": width, "distance": "Cosine"}}
            try:
                await self._request(name, "", body, replies.confirmed, "PUT")
                await self._index(name, (*KEYWORDS, *INTEGERS))
            except QdrantReply as answered:
                if answered.status != 409:  # another client created it first
                    raise self._server.refused(answered, name) from answered
        require_shape(await self._described(name), width)

    async def drop(self, name: str) -> None:
        """Delete the collection, if there is one. Raises `LibraryFailed`."""
        name = checked_name(name)
        self._shapes.pop(name, None)
        await self._ask(name, "", None, replies.confirmed, "DELETE")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    # --- points -------------------------------------------------------------------------------------------

    def _batch_size(self, width: int) -> int:
        return max(1, NUMBERS_PER_REQUEST // width)

    async def _upsert(
        self, name: str, ids: list[PointId], vectors: NDArray[np.float32], payloads: list[dict[str, Any]]
    ) -> None:
        shape = await self._fitting(name, vectors.shape[1])
        rows = {shape.vector: vectors} if shape.vector else vectors
        batch = {"ids": ids, "vectors": rows, "payloads": payloads}
        await self._ask(name, "/points?wait=true", {"batch": batch}, replies.status, "PUT")

    async def _query(
        self, name: str, vector: NDArray[np.float32], limit: int, where: Where | None, exact: bool
    ) -> Iterable[tuple[Any, Any, float, NDArray[np.float32]]]:
        shape = await self._fitting(name, len(vector))
        body = {
            "query": vector,
            "using": shape.vector or None,
            "limit": limit,
            "params": {"exact": exact},
            "with_payload": True,
            "with_vector": True,
        }
        return await self._filtered(name, where, "/points/query", body, partial(replies.neighbours, shape))

    async def _retrieve(self, name: str, points: list[PointId]) -> Iterable[tuple[Any, Any]]:
        return await self._ask(name, "/points", {"ids": points, "with_payload": True}, replies.points)

    async def _scroll(
        self, name: str, limit: int, after: PointId | None, where: Where | None
    ) -> tuple[Iterable[tuple[Any, Any]], Any]:
        body = {"limit": limit, "offset": after, "with_payload": True}
        return await self._filtered(name, where, "/points/scroll", body, replies.page)

    async def _documents(self, name: str, limit: int) -> Sequence[LibraryDocument]:
        for may_index in (True, False):
            try:
                return await self._faceted(name, limit)
            except QdrantReply:  # there is no index, or the server is too old to count by one
                if may_index:
                    await self._index(name, KEYWORDS)
        return await self._counted(name)

    async def _remove(self, name: str, where: Where) -> None:
        await self._filtered(name, where, "/points/delete?wait=true", {}, replies.status)

    # --- asking -------------------------------------------------------------------------------------------

    async def _request(
        self, name: str, rest: str, body: Body | None, read: Callable[[Any], T], method: str = "POST"
    ) -> T:
        """The reply to a request about a collection, whose name `rest` follows in the path; without a name about all.

        Raises:
            QdrantReply: when the server refuses. The collection's shape is then read again.
        """
        try:
            path = f"/collections/{name}{rest}" if name else "/collections"
            return await self._server.request(method, path, body, read)
        except QdrantReply:
            self._shapes.pop(name, None)
            raise

    async def _ask(
        self, name: str, rest: str, body: Body | None, read: Callable[[Any], T], method: str = "POST"
    ) -> T:
        """The same. Raises `LibraryFailed` also when the server refuses."""
        try:
            return await self._request(name, rest, body, read, method)
        except QdrantReply as answered:
            raise self._server.refused(answered, name) from answered

    async def _filtered(
        self, name: str, where: Where | None, rest: str, body: Body, read: Callable[[Any], T]
    ) -> T:
        """The same under a filter. Where the server demands a payload index for it, one is created."""
        try:
            return await self._request(name, rest, {**body, "filter": filter_of(where)}, read)
        except QdrantReply as answered:
            if not where or answered.status != 400 or "index" not in answered.message.lower():
                raise self._server.refused(answered, name) from answered
        await self._index(name, [f"metadata.{field}" for field in where])
        return await self._ask(name, rest, {**body, "filter": filter_of(where, plain=True)}, read)

    async def _index(self, name: str, fields: Iterable[str]) -> None:
        """Create payload indexes on these fields, where the key allows it."""
        for field in fields:
            kind = "integer" if field.removeprefix("metadata.") in NUMBERS else "keyword"
            body = {"field_name": field, "field_schema": kind}
            with suppress(QdrantReply):
                await self._request(name, "/index?wait=true", body, replies.status, "PUT")

    async def _fitting(self, name: str, width: int) -> Collection:
        """The collection's shape, which fits vectors of this width. Raises `LibraryFailed` where it does not."""
        if name not in self._shapes:
            self._shapes[name] = await self._described(name)
        require_shape(self._shapes[name], width)
        return self._shapes[name]

    async def _described(self, name: str) -> Collection:
        shape = partial(replies.shape, name)
        return await self._ask(name, "", None, shape, "GET")

    async def _faceted(self, name: str, limit: int) -> list[LibraryDocument]:
        """Documents, counted by the server.

        Raises:
            QdrantReply: when it cannot.
        """

        async def facet(key: str, where: Body | None = None) -> dict[str, int]:
            body = {"key": key, "limit": limit, "exact": True, "filter": where}
            return await self._request(name, "/facet", body, replies.counts)

        documents = await facet(DOCUMENT)
        documents.pop("", None)
        searches = [
            {"limit": 1, "with_payload": [SOURCE], "filter": equals(DOCUMENT, document)}
            for document in documents
        ]
        batch = {"searches": searches}
        sources = await self._request(name, "/points/query/batch", batch, replies.sources) if searches else []
        foreign = await facet(SOURCE, equals(DOCUMENT, ""))
        rest = await self._request(
            name, "/points/count", {"exact": True, "filter": without_source()}, replies.count
        )
        return [
            *(
                LibraryDocument(source=source, digest=document, passages=documents[document])
                for document, source in zip(documents, sources, strict=True)
            ),
            *(LibraryDocument(source=source, passages=count) for source, count in foreign.items() if source),
            LibraryDocument(source="", passages=rest),
        ]

    async def _counted(self, name: str) -> list[LibraryDocument]:
        """Documents, counted here, of the first `COUNTED` passages."""
        counts: Counter[tuple[str, str]] = Counter()
        after: Any = None
        while counts.total() < COUNTED:
            body = {"limit": MOST, "offset": after, "with_payload": KEYWORDS}
            points, after = await self._ask(name, "/points/scroll", body, replies.page)
            passages = (passage_of(*point) for point in points)
            counts.update((passage.source, passage.document) for passage in passages)
            if after is None:
                break
        return [
            LibraryDocument(source=source, digest=of, passages=many) for (source, of), many in counts.items()
        ]


def _usable(name: str) -> bool:
    try:
        return checked_name(name) == name
    except BadInput:
        return False
