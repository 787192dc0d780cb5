"""A `Collections` port in memory, compared by numpy: for tests of what uses a vector database, not of one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.errors import LibraryFailed
from core.model import Collection, LibraryDocument, LibraryPassage, Neighbour


@dataclass
class _Points:
    width: int
    points: dict[str, tuple[LibraryPassage, NDArray[np.float32]]] = field(default_factory=dict)


class InMemory:
    """`down` makes every call fail, as a database does that went away."""

    identity = "memory"

    def __init__(self) -> None:
        self.collections: dict[str, _Points] = {}
        self.down = False

    def _of(self, name: str) -> _Points:
        if self.down:
            raise LibraryFailed("The database does not answer.", hint="Start it.")
        if name not in self.collections:
            raise LibraryFailed(f"There is no collection {name}.", hint="Create it.")
        return self.collections[name]

    async def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.collections))

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        found = self._of(name)
        embedder = next((one.embedder for one, _ in found.points.values()), "")
        return Collection(
            name=name, width=found.width, distance="cosine", passages=len(found.points), embedder=embedder
        )

    async def create(self, name: str, width: int) -> None:
        if self.down:
            self._of(name)
        if self.collections.setdefault(name, _Points(width)).width != width:
            raise LibraryFailed(f"{name} has another width.", hint="Re-embed it.")

    async def drop(self, name: str) -> None:
        self.collections.pop(name, None)

    async def put(self, name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        found = self._of(name)
        if vectors.shape != (len(passages), found.width):
            raise LibraryFailed(f"{name} has another width.", hint="Re-embed it.")
        found.points |= {one.id: (one, vector) for one, vector in zip(passages, vectors, strict=True)}

    async def nearest(
        self,
        name: str,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, str | int] | None = None,
        *,
        exact: bool = False,
    ) -> tuple[Neighbour, ...]:
        found = self._of(name)
        if len(vector) != found.width:
            raise LibraryFailed(f"{name} has another width.", hint="Re-embed it.")
        found = [
            Neighbour(passage=one, score=float(other @ vector), vector=other)
            for one, other in found.points.values()
            if _matches(one, where)
        ]
        return tuple(sorted(found, key=lambda one: -one.score)[:limit])

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        points = self._of(name).points
        return tuple(points[key][0] for key in ids if key in points)

    async def scroll(
        self, name: str, limit: int, after: str = "", where: Mapping[str, str | int] | None = None
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        points = self._of(name).points
        keys = sorted(key for key, (one, _) in points.items() if key > after and _matches(one, where))
        return tuple(points[key][0] for key in keys[:limit]), keys[limit - 1] if len(keys) > limit else ""

    async def documents(self, name: str, limit: int = 1000) -> tuple[LibraryDocument, ...]:
        counts = Counter((one.source, one.document) for one, _ in self._of(name).points.values())
        return tuple(
            LibraryDocument(source=source, digest=document, passages=count)
            for (source, document), count in counts.most_common(limit)
        )

    async def remove(self, name: str, where: Mapping[str, str | int]) -> None:
        points = self._of(name).points
        for key in [key for key, (one, _) in points.items() if _matches(one, where)]:
            del points[key]

    async def aclose(self) -> None:
        pass


def _matches(passage: LibraryPassage, where: Mapping[str, str | int] | None) -> bool:
    return all(getattr(passage, key) == value for key, value in (where or {}).items())
