"""The common part of both Qdrant adapters: argument checks, and conversion between passages and points."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from core.features.library.qdrant.payload import to_payload
from core.features.library.qdrant.points import (
    MOST,
    checked_vectors,
    largest_first,
    neighbour,
    passage_of,
    point_id,
    point_ids,
)
from core.model import LibraryDocument, LibraryPassage, Neighbour
from core.model.library import checked_name

PointId = int | str
Where = Mapping[str, str | int]


class PointCollections(ABC):
    """The methods of the `Collections` port about passages, over requests about points.

    Every method raises `LibraryFailed`, and `BadInput` for an invalid name or filter.
    """

    async def put(self, name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        """Add passages, or replace them by id. `vectors`: shape (len(passages), width)."""
        name = checked_name(name)
        matrix, ids = checked_vectors(vectors, len(passages)), point_ids(passages)
        batch = self._batch_size(matrix.shape[1])
        for start in range(0, len(passages), batch):
            part = slice(start, start + batch)
            payloads = [to_payload(passage) for passage in passages[part]]
            await self._upsert(name, ids[part], matrix[part], payloads)

    async def nearest(
        self,
        name: str,
        vector: NDArray[np.float32],
        limit: int,
        where: Where | None = None,
        *,
        exact: bool = False,
    ) -> tuple[Neighbour, ...]:
        """Find the passages most similar to `vector`, best first. `exact` compares with every passage."""
        name, query = checked_name(name), checked_vectors(vector[None], 1)[0]
        points = await self._query(name, query, max(1, min(limit, MOST)), where, exact)
        return tuple(neighbour(*point) for point in points)

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """Return the passages with these ids, in order. Unknown ids are skipped."""
        name, points = checked_name(name), [point for point in map(point_id, ids) if point is not None]
        passages = {str(point): passage_of(point, load) for point, load in await self._retrieve(name, points)}
        return tuple(passages[str(point)] for point in points if str(point) in passages)

    async def scroll(
        self, name: str, limit: int, after: str = "", where: Where | None = None
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        """Return the next passages in the order of ids.

        The second result is the `after` of the next call, or "" at the end.
        """
        name, limit = checked_name(name), max(1, min(limit, MOST))
        points, following = await self._scroll(name, limit, point_id(after), where)
        return tuple(passage_of(*point) for point in points), "" if following is None else str(following)

    async def documents(self, name: str, limit: int = 1000) -> tuple[LibraryDocument, ...]:
        """List the documents, most passages first. Each has source, digest and number of passages."""
        return largest_first(await self._documents(checked_name(name), limit), limit)

    async def remove(self, name: str, where: Where) -> None:
        """Delete the passages that match. `where` must not be empty."""
        name = checked_name(name)
        if not where:
            raise BadInput(
                "Without a filter every passage would be removed.",
                hint="Name a document, or delete the collection.",
            )
        await self._remove(name, where)

    @abstractmethod
    def _batch_size(self, width: int) -> int:
        """Return the number of points in one request. Points have `width` dimensions."""

    @abstractmethod
    async def _upsert(
        self, name: str, ids: list[PointId], vectors: NDArray[np.float32], payloads: list[dict[str, Any]]
    ) -> None: ...

    @abstractmethod
    async def _query(
        self, name: str, vector: NDArray[np.float32], limit: int, where: Where | None, exact: bool
    ) -> Iterable[tuple[Any, Any, float, NDArray[np.float32]]]:
        """Find the nearest points: id, payload, score and vector."""

    @abstractmethod
    async def _retrieve(self, name: str, points: list[PointId]) -> Iterable[tuple[Any, Any]]:
        """Return id and payload of the existing points."""

    @abstractmethod
    async def _scroll(
        self, name: str, limit: int, after: PointId | None, where: Where | None
    ) -> tuple[Iterable[tuple[Any, Any]], Any]:
        """Return the next points, and the following id. Points are id and payload. The id is None or "" at the end."""

    @abstractmethod
    async def _documents(self, name: str, limit: int) -> Sequence[LibraryDocument]: ...

    @abstractmethod
    async def _remove(self, name: str, where: Where) -> None: ...
