"""Requests to a Qdrant server in the types of the official client.

The types are imported inside functions: a caller with a client has already imported them, off the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.features.library.qdrant.payload import NUMBERS
from core.features.library.qdrant.points import DOCUMENT, SOURCE, equals, passage_of

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.http.models import Filter, Record, ScoredPoint

FilterJson = dict[str, Any]
"""A filter in the form of Qdrant's JSON."""


async def create(client: AsyncQdrantClient, *, name: str, width: int) -> None:
    """Create a collection with cosine distance."""
    from qdrant_client.http.models import Distance, VectorParams

    await client.create_collection(name, VectorParams(size=width, distance=Distance.COSINE))


async def index(client: AsyncQdrantClient, *, name: str, field: str) -> None:
    """Create a payload index on a field for filters."""
    from qdrant_client.http.models import PayloadSchemaType

    number = field.removeprefix("metadata.") in NUMBERS
    kind = PayloadSchemaType.INTEGER if number else PayloadSchemaType.KEYWORD
    await client.create_payload_index(name, field, kind, wait=True)


async def upsert(
    client: AsyncQdrantClient,
    *,
    name: str,
    ids: list[int | str],
    vectors: NDArray[np.float32],
    payloads: list[dict[str, Any]],
    vector: str = "",
) -> None:
    """Add points. `vector` is the name of the collection's vectors, if they have one."""
    from qdrant_client.http.models import Batch

    rows = vectors.tolist()
    batch = Batch(ids=ids, vectors={vector: rows} if vector else rows, payloads=payloads)
    await client.upsert(name, batch, wait=True)


async def nearest(
    client: AsyncQdrantClient,
    *,
    name: str,
    vector: NDArray[np.float32],
    using: str,
    limit: int,
    where: FilterJson | None,
    exact: bool,
) -> list[ScoredPoint]:
    """Find the points most similar to `vector`. They have payloads and vectors."""
    from qdrant_client.http.models import SearchParams

    reply = await client.query_points(
        name,
        query=vector.tolist(),
        using=using or None,
        limit=limit,
        query_filter=_filter(where),
        search_params=SearchParams(exact=exact),
        with_payload=True,
        with_vectors=True,
    )
    return reply.points


async def scroll(
    client: AsyncQdrantClient,
    *,
    name: str,
    limit: int,
    after: Any = None,
    where: FilterJson | None = None,
    fields: bool | Sequence[str] = True,
) -> tuple[list[Record], Any]:
    """Return the next points, and the following id. Points have these fields of their payload."""
    return await client.scroll(
        name,
        scroll_filter=_filter(where),
        limit=limit,
        offset=after,
        with_payload=fields if isinstance(fields, bool) else list(fields),
    )


async def remove(client: AsyncQdrantClient, *, name: str, where: FilterJson) -> None:
    """Delete the points that match."""
    from qdrant_client.http.models import Filter, FilterSelector

    selector = FilterSelector(filter=Filter.model_validate(where))
    await client.delete(name, selector, wait=True)


async def facet(
    client: AsyncQdrantClient, *, name: str, key: str, limit: int, where: FilterJson | None = None
) -> dict[str, int]:
    """Count points by a field's most frequent values."""
    reply = await client.facet(name, key, facet_filter=_filter(where), limit=limit, exact=True)
    return {str(hit.value): hit.count for hit in reply.hits}


async def count(client: AsyncQdrantClient, *, name: str, where: FilterJson | None = None) -> int:
    """Count the points that match. Without a filter all match."""
    return (await client.count(name, _filter(where), exact=True)).count


async def sources(client: AsyncQdrantClient, *, name: str, documents: Sequence[str]) -> list[str]:
    """Return the source of each document's first passage."""
    from qdrant_client.http.models import Filter, QueryRequest

    queries = [
        QueryRequest(limit=1, with_payload=[SOURCE], filter=Filter.model_validate(equals(DOCUMENT, document)))
        for document in documents
    ]
    replies = await client.query_batch_points(name, queries) if queries else []
    firsts = (reply.points[0] if reply.points else None for reply in replies)
    return [passage_of(first.id, first.payload).source if first else "" for first in firsts]


def _filter(json: FilterJson | None) -> Filter | None:
    from qdrant_client.http.models import Filter

    return None if json is None else Filter.model_validate(json)
