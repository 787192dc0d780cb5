"""Collections on a Qdrant server or cluster: the `Collections` port over its REST interface."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from core.adapters.qdrant import replies
from core.adapters.qdrant.connection import QdrantConnection, QdrantReply
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
from core.errors import BadInput, LibraryFailed
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
        client: httpx.AsyncClient | None = None,
    ) -> None:
        """`client` is as `model_client`."""
        self._server = QdrantConnection(url, api_key, timeout=timeout, client=client)
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
        names = await self._ask(
            "", "", lambda result: [row["name"] for row in result["collections"]], method="GET"
        )
        return tuple(sorted(filter(_usable, names)))

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        """Shape, size and embedder of a collection. Raises `LibraryFailed`."""
        name = checked_name(name)
        first: dict[str, Any] = {"limit": 1, "with_payload": ["metadata.embedder"]}
        shape, passages, (points, _) = await asyncio.gather(
            self._described(name),
            self._ask(name, "/points/count", replies.count, {"exact": True}),
            self._ask(name, "/points/scroll", replies.page, first),
        )
        return Collection(
            name=name,
            width=shape.width,
            distance=shape.distance,
            vector=shape.vector,
            passages=passages,
            embedder=passage_of(*points[0]).embedder if points else "",
        )

    async def create(self, name: str, width: int) -> None:
        """An empty collection under cosine distance, unless there is one of that width. Raises `LibraryFailed`."""
        name = checked_name(name)
        if not await self._ask(name, "/exists", lambda result: result["exists"], method="GET"):
            vectors = {"vectors": {"size": width, "distance": "Cosine"}}
            try:
                await self._server.request("PUT", f"/{name}", replies.done, vectors)
                await self._index(name, (*KEYWORDS, *INTEGERS))
            except QdrantReply as answered:
                if answered.status != 409:  # another client created it first
                    raise self._server.refused(answered, name) from answered
        require_shape(await self._described(name), width)

    async def drop(self, name: str) -> None:
        """Delete the collection, if there is one. Raises `LibraryFailed`."""
        name = checked_name(name)
        await self._ask(name, "", replies.done, method="DELETE")
        self._shapes.pop(name, None)

    async def aclose(self) -> None:
        """Close nothing: the connections belong to the client."""

    # --- points -------------------------------------------------------------------------------------------

    def _batch_size(self, width: int) -> int:
        return max(1, NUMBERS_PER_REQUEST // width)

    async def _upsert(
        self, name: str, ids: list[PointId], vectors: NDArray[np.float32], payloads: list[dict[str, Any]]
    ) -> None:
        shape = await self._fitting(name, vectors.shape[1])
        rows = {shape.vector: vectors} if shape.vector else vectors
        batch = {"ids": ids, "vectors": rows, "payloads": payloads}
        await self._ask(name, "/points?wait=true", replies.done, {"batch": batch}, method="PUT")

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

        found = await self._filtered(name, where, "/points/query", replies.points, body)
        return [(point, payload, score, replies.vector(row, shape)) for point, payload, score, row in found]

    async def _retrieve(self, name: str, points: list[PointId]) -> Iterable[tuple[Any, Any]]:
        return await self._ask(name, "/points", replies.records, {"ids": points, "with_payload": True})

    async def _scroll(
        self, name: str, limit: int, after: PointId | None, where: Where | None
    ) -> tuple[Iterable[tuple[Any, Any]], Any]:
        body = {"limit": limit, "offset": after, "with_payload": True}
        return await self._filtered(name, where, "/points/scroll", replies.page, body)

    async def _documents(self, name: str, limit: int) -> Sequence[LibraryDocument]:
        for may_index in (True, False):
            try:
                return await self._faceted(name, limit)
            except QdrantReply:  # there is no index, or the server is too old to count by one
                if may_index:
                    await self._index(name, KEYWORDS)
        return await self._counted(name)

    async def _remove(self, name: str, where: Where) -> None:
        await self._filtered(name, where, "/points/delete?wait=true", replies.done, {})

    # --- asking -------------------------------------------------------------------------------------------

    async def _ask(
        self,
        name: str,
        path: str,
        read: Callable[[Any], T],
        body: dict[str, Any] | None = None,
        *,
        method: str = "POST",
    ) -> T:
        """The reply to a request about a collection, or about all where it has no name.

        Raises:
            LibraryFailed: when there is none. The shape of the collection is then read again the next time.
        """
        try:
            return await self._server.request(method, f"/{name}{path}" if name else path, read, body)
        except QdrantReply as answered:
            self._shapes.pop(name, None)
            raise self._server.refused(answered, name) from answered
        except LibraryFailed:
            self._shapes.pop(name, None)
            raise

    async def _filtered(
        self, name: str, where: Where | None, path: str, read: Callable[[Any], T], body: dict[str, Any]
    ) -> T:
        """The same under a filter. Where the server demands a payload index for it, one is created."""
        try:
            return await self._server.request(
                "POST", f"/{name}{path}", read, body | {"filter": filter_of(where)}
            )
        except QdrantReply as answered:
            self._shapes.pop(name, None)
            if not where or answered.status != 400 or "index" not in answered.message.lower():
                raise self._server.refused(answered, name) from answered
        await self._index(name, [f"metadata.{field}" for field in where])
        return await self._ask(name, path, read, body | {"filter": filter_of(where, plain=True)})

    async def _index(self, name: str, fields: Iterable[str]) -> None:
        """Create payload indexes on these fields, where the key allows it."""
        for field in fields:
            kind = "integer" if field.removeprefix("metadata.") in NUMBERS else "keyword"
            with suppress(QdrantReply):
                await self._server.request(
                    "PUT",
                    f"/{name}/index?wait=true",
                    replies.done,
                    {"field_name": field, "field_schema": kind},
                )

    async def _fitting(self, name: str, width: int) -> Collection:
        """The collection's shape, which fits vectors of this width. Raises `LibraryFailed` where it does not."""
        if name not in self._shapes:
            self._shapes[name] = await self._described(name)
        require_shape(self._shapes[name], width)
        return self._shapes[name]

    async def _described(self, name: str) -> Collection:
        return await self._ask(name, "", partial(replies.shape, name), method="GET")

    async def _faceted(self, name: str, limit: int) -> list[LibraryDocument]:
        """Documents, counted by the server.

        Raises:
            QdrantReply: when it cannot.
        """

        async def facet(key: str, where: dict[str, Any] | None = None) -> dict[str, int]:
            body = {"key": key, "limit": limit, "filter": where, "exact": True}
            return await self._server.request("POST", f"/{name}/facet", replies.facets, body)

        documents = await facet(DOCUMENT)
        documents.pop("", None)
        firsts = await self._sources(name, documents)
        foreign = await facet(SOURCE, equals(DOCUMENT, ""))
        unnamed = {"filter": without_source(), "exact": True}
        rest = await self._server.request("POST", f"/{name}/points/count", replies.count, unnamed)
        return [
            *(
                LibraryDocument(source=source, digest=document, passages=documents[document])
                for document, source in zip(documents, firsts, strict=True)
            ),
            *(LibraryDocument(source=source, passages=count) for source, count in foreign.items() if source),
            LibraryDocument(source="", passages=rest),
        ]

    async def _sources(self, name: str, documents: Iterable[str]) -> list[str]:
        """The source of each document: that of its first passage. Raises as above."""
        searches = [
            {"limit": 1, "with_payload": [SOURCE], "filter": equals(DOCUMENT, document)}
            for document in documents
        ]

        if not searches:
            return []
        return await self._server.request(
            "POST", f"/{name}/points/query/batch", replies.sources, {"searches": searches}
        )

    async def _counted(self, name: str) -> list[LibraryDocument]:
        """Documents, counted here, of the first `COUNTED` passages."""
        counts: Counter[tuple[str, str]] = Counter()
        after: Any = None
        while counts.total() < COUNTED:
            body = {"limit": MOST, "offset": after, "with_payload": KEYWORDS}
            records, after = await self._ask(name, "/points/scroll", replies.page, body)
            passages = (passage_of(*record) for record in records)
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
