"""The `Collections` port over the REST interface of a Qdrant server or cluster."""

import asyncio
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from core.errors import BadInput, LibraryFailed
from core.features.library.qdrant.connection import QdrantConnection, QdrantReply
from core.features.library.qdrant.payload import NUMBERS
from core.features.library.qdrant.point_collections import PointCollections, PointId, Where
from core.features.library.qdrant.points import (
    DOCUMENT,
    INTEGERS,
    KEYWORDS,
    MOST,
    NAMED,
    SOURCE,
    equals,
    filter_of,
    passage_of,
    require_shape,
    without_source,
)
from core.model import Collection, LibraryDocument
from core.model.library import checked_name
from core.text.sanitize import pluralize

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.http.models import Filter

T = TypeVar("T")
Call = Callable[["AsyncQdrantClient"], Awaitable[T]]
FilteredCall = Callable[["AsyncQdrantClient", "Filter | None"], Awaitable[T]]

NUMBERS_PER_REQUEST = 400_000
"""Float values of vectors in one request: some 8 MB of JSON, a quarter of a server's limit."""
COUNTED = 200_000
"""The maximum passages that are counted one by one. That is done if the server may not or cannot count by document."""


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
        """The database's identity for cache keys. It never has a key."""
        return f"qdrant {self._server.url}"

    @property
    def exposed(self) -> bool:
        """Whether the key is sent unencrypted to another machine."""
        return self._server.exposed

    async def healthy(self) -> str:
        """Describe the server in a line.

        Raises:
            LibraryFailed: when it does not answer.
        """
        count = len(await self.names())
        return f"{count} collection{'s' * (count != 1)} at {self._server.url}"

    async def names(self) -> tuple[str, ...]:
        """List the collections with valid names. `checked_name` accepts them, but a server allows others."""
        reply = await self._server.ask(lambda client: client.get_collections())
        return tuple(sorted(collection.name for collection in reply.collections if _usable(collection.name)))

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        """Describe a collection: shape, size and embedder. Raises `LibraryFailed`."""
        name = checked_name(name)
        shape, passages, (first, _) = await asyncio.gather(
            self._described(name),
            self._server.ask(lambda client: client.count(name, exact=True), name),
            self._server.ask(
                lambda client: client.scroll(name, limit=1, with_payload=["metadata.embedder"]), name
            ),
        )
        return Collection(
            name=name,
            width=shape.width,
            distance=shape.distance,
            vector=shape.vector,
            passages=passages.count,
            embedder=passage_of(first[0].id, first[0].payload).embedder if first else "",
        )

    async def create(self, name: str, width: int) -> None:
        """Create a collection with cosine distance if needed.

        An existing collection must have this width. Raises `LibraryFailed`.
        """
        name = checked_name(name)
        if not await self._server.ask(lambda client: client.collection_exists(name), name):
            models = await self._server.models()
            params = models.VectorParams(size=width, distance=models.Distance.COSINE)
            try:
                await self._server.request(lambda client: client.create_collection(name, params))
                await self._index(name, (*KEYWORDS, *INTEGERS))
            except QdrantReply as answered:
                if answered.status != 409:  # another client created it first
                    raise self._server.refused(answered, name) from answered
        require_shape(await self._described(name), width)

    async def drop(self, name: str) -> None:
        """Delete the collection if it exists. Raises `LibraryFailed`."""
        name = checked_name(name)
        self._shapes.pop(name, None)
        await self._server.ask(lambda client: client.delete_collection(name))

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
        models, rows = await self._server.models(), vectors.tolist()
        named_rows = {shape.vector: rows} if shape.vector else rows
        batch = models.Batch(ids=ids, vectors=named_rows, payloads=payloads)
        await self._of(name, lambda client: client.upsert(name, batch, wait=True))

    async def _query(
        self, name: str, vector: NDArray[np.float32], limit: int, where: Where | None, exact: bool
    ) -> Iterable[tuple[Any, Any, float, NDArray[np.float32]]]:
        shape = await self._fitting(name, len(vector))
        models = await self._server.models()
        reply = await self._filtered(
            name,
            where,
            lambda client, narrowed: client.query_points(
                name,
                query=vector.tolist(),
                using=shape.vector or None,
                limit=limit,
                query_filter=narrowed,
                search_params=models.SearchParams(exact=exact),
                with_payload=True,
                with_vectors=True,
            ),
        )
        return [(point.id, point.payload, point.score, _row(point.vector, shape)) for point in reply.points]

    async def _retrieve(self, name: str, points: list[PointId]) -> Iterable[tuple[Any, Any]]:
        records = await self._of(name, lambda client: client.retrieve(name, points, with_payload=True))
        return [(record.id, record.payload) for record in records]

    async def _scroll(
        self, name: str, limit: int, after: PointId | None, where: Where | None
    ) -> tuple[Iterable[tuple[Any, Any]], Any]:
        records, following = await self._filtered(
            name, where, lambda client, narrowed: client.scroll(name, narrowed, limit=limit, offset=after)
        )
        return [(record.id, record.payload) for record in records], following

    async def _documents(self, name: str, limit: int) -> Sequence[LibraryDocument]:
        for may_index in (True, False):
            try:
                return await self._faceted(name, limit)
            except QdrantReply:  # no index, or an old server cannot count by it
                if may_index:
                    await self._index(name, KEYWORDS)
        return await self._counted(name)

    async def _remove(self, name: str, where: Where) -> None:
        models = await self._server.models()

        def delete(client: "AsyncQdrantClient", narrowed: "Filter | None") -> Awaitable[Any]:
            if narrowed is None:
                raise ValueError("a filter is required")
            return client.delete(name, models.FilterSelector(filter=narrowed), wait=True)

        await self._filtered(name, where, delete)

    # --- asking -------------------------------------------------------------------------------------------

    async def _of(self, name: str, call: Call[T]) -> T:
        """Send a request about a collection. After a failure its shape is read again."""
        try:
            return await self._server.ask(call, name)
        except LibraryFailed:
            self._shapes.pop(name, None)
            raise

    async def _filtered(self, name: str, where: Where | None, call: FilteredCall[T]) -> T:
        """Send a request with a filter. If the server requires a payload index for it, the index is created."""
        narrowed = await self._filter(filter_of(where))
        try:
            return await self._server.request(lambda client: call(client, narrowed))
        except QdrantReply as answered:
            self._shapes.pop(name, None)
            if not where or answered.status != 400 or "index" not in answered.message.lower():
                raise self._server.refused(answered, name) from answered
        await self._index(name, [f"metadata.{field}" for field in where])
        plain = await self._filter(filter_of(where, plain=True))
        return await self._server.ask(lambda client: call(client, plain), name)

    async def _filter(self, json: dict[str, Any] | None) -> "Filter | None":
        """Return a filter in the client's types."""
        models = await self._server.models()
        return None if json is None else models.Filter.model_validate(json)

    async def _index(self, name: str, fields: Iterable[str]) -> None:
        """Create payload indexes for filters if the key allows it."""
        types = (await self._server.models()).PayloadSchemaType

        def create(field: str) -> Call[Any]:
            kind = types.INTEGER if field.removeprefix("metadata.") in NUMBERS else types.KEYWORD
            return lambda client: client.create_payload_index(name, field, kind, wait=True)

        for field in fields:
            with suppress(QdrantReply):
                await self._server.request(create(field))

    async def _fitting(self, name: str, width: int) -> Collection:
        """Return the collection's shape, if it fits `width`. Raises `LibraryFailed` otherwise."""
        if name not in self._shapes:
            self._shapes[name] = await self._described(name)
        require_shape(self._shapes[name], width)
        return self._shapes[name]

    async def _described(self, name: str) -> Collection:
        reply = await self._server.ask(lambda client: client.get_collection(name), name)
        described = reply.config.params.vectors
        vectors = described if isinstance(described, dict) else {"": described}
        vector, params = next(iter(vectors.items()), ("", None))
        if len(vectors) != 1 or params is None or params.multivector_config:
            return Collection(name=name, width=0, distance=NAMED, passages=0)
        distance = params.distance.value.lower()
        return Collection(name=name, width=params.size, distance=distance, passages=0, vector=vector)

    async def _faceted(self, name: str, limit: int) -> list[LibraryDocument]:
        """Count passages by document on the server.

        Raises:
            QdrantReply: when the server cannot.
        """

        models, without = await self._server.models(), await self._filter(without_source())

        async def facet(key: str, where: "Filter | None" = None) -> dict[str, int]:
            reply = await self._server.request(
                lambda client: client.facet(name, key, facet_filter=where, limit=limit, exact=True)
            )
            return {str(hit.value): hit.count for hit in reply.hits}

        documents = await facet(DOCUMENT)
        documents.pop("", None)
        queries = [
            models.QueryRequest(
                limit=1, with_payload=[SOURCE], filter=await self._filter(equals(DOCUMENT, document))
            )
            for document in documents
        ]
        replies = (
            await self._server.request(lambda client: client.query_batch_points(name, queries))
            if queries
            else []
        )
        foreign = await facet(SOURCE, await self._filter(equals(DOCUMENT, "")))
        rest = await self._server.request(lambda client: client.count(name, without, exact=True))
        return [
            *(
                LibraryDocument(source=_source(reply.points), digest=document, passages=documents[document])
                for document, reply in zip(documents, replies, strict=True)
            ),
            *(LibraryDocument(source=source, passages=count) for source, count in foreign.items() if source),
            LibraryDocument(source="", passages=rest.count),
        ]

    async def _counted(self, name: str) -> list[LibraryDocument]:
        """Count the first `COUNTED` passages by document here."""

        def scroll(after: Any) -> Call[Any]:
            fields = list(KEYWORDS)
            return lambda client: client.scroll(name, limit=MOST, offset=after, with_payload=fields)

        counts: Counter[tuple[str, str]] = Counter()
        after: Any = None
        while counts.total() < COUNTED:
            records, after = await self._of(name, scroll(after))
            passages = (passage_of(point.id, point.payload) for point in records)
            counts.update((passage.source, passage.document) for passage in passages)
            if after is None:
                break
        return [
            LibraryDocument(source=source, digest=of, passages=many) for (source, of), many in counts.items()
        ]


def _row(vectors: Any, shape: Collection) -> NDArray[np.float32]:
    """Return a point's vector. The server sends it alone or under its name.

    Raises:
        LibraryFailed: when it does not have the collection's width.
    """
    vector = vectors.get(shape.vector) if isinstance(vectors, dict) else vectors
    if not isinstance(vector, list) or len(vector) != shape.width:
        raise LibraryFailed(
            f"The server did not return vectors of {pluralize(shape.width, 'dimension')}.",
            hint="Choose another collection.",
        )
    return np.array(vector, dtype=np.float32)


def _source(points: Sequence[Any]) -> str:
    """Return the source of a document's first passage."""
    return passage_of(points[0].id, points[0].payload).source if points else ""


def _usable(name: str) -> bool:
    try:
        return checked_name(name) == name
    except BadInput:
        return False
