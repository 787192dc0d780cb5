"""The vector database that the library needs, and the check of its embedder.

Adapters match the protocols and inherit nothing. The database itself refuses another width or distance in `create`,
`put` and `nearest`. The model of the vectors is stored with the passages.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.errors import LibraryFailed
from core.model import Collection, LibraryDocument, LibraryPassage, Neighbour
from core.ports import Embed
from core.text.display import embedder_names


class PassageSearch(Protocol):
    """The part of `Collections` that a run needs."""

    @property
    def identity(self) -> str:
        """The name of the database, never with a key."""

    async def names(self) -> tuple[str, ...]:
        """Return the names of all collections, sorted."""

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        """Return the passages most similar to `vector`, best first."""

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """Return the passages with these ids, in this order, without unknown ids."""


class PassageStore(Protocol):
    """The part of `Collections` that storing passages needs."""

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """Return the passages with these ids, in this order, without unknown ids."""

    async def put(self, name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        """Add or replace passages, by id. `vectors` has shape (len(passages), width)."""


class Collections(PassageSearch, PassageStore, Protocol):
    """A vector database: collections of passages that are found by cosine similarity.

    `core.model.library.checked_name` checks names of collections. `where` requires exact values of metadata, such as
    `{"source": "mills.pdf", "page": 3}`. `identity` names the database and never holds a key. Every method raises
    `LibraryFailed` with a hint if the database does not answer, the collection does not exist, or the width does not
    fit.
    """

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        """Describe a collection.

        With `wait`, wait a moment if another process has it open, since that process may just be closing it.
        """

    async def create(self, name: str, width: int) -> None:
        """Create an empty collection with cosine distance, unless one of that width exists."""

    async def drop(self, name: str) -> None:
        """Delete the collection with its contents, if it exists."""

    async def nearest(
        self,
        name: str,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, str | int] | None = None,
        *,
        exact: bool = False,
    ) -> tuple[Neighbour, ...]:
        """Return the passages most similar to `vector`, best first. `exact` compares with all of them."""

    async def scroll(
        self, name: str, limit: int, after: str = "", where: Mapping[str, str | int] | None = None
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        """Return the next passages by id, and `after` for more, or "" at the end."""

    async def documents(self, name: str, limit: int = 1000) -> tuple[LibraryDocument, ...]:
        """Return the documents of the passages, most passages first.

        Each has source, digest and number of passages.
        """

    async def remove(self, name: str, where: Mapping[str, str | int]) -> None:
        """Delete the matching passages. `where` must not be empty."""

    async def aclose(self) -> None:
        """Close the connections to the database."""


async def open_or_create(collections: Collections, name: str, embed: Embed) -> Collection:
    """Return the collection, created if missing.

    Raises:
        LibraryFailed: when its vectors have another model, width or distance.
        EmbedFailed: when the embedder cannot be asked.
    """
    await collections.create(name, await embedding_width(embed))
    about = await collections.about(name)
    check_embedder(name, about.embedder, embed.identity)
    return about


async def embedding_width(embed: Embed) -> int:
    """Return the number of dimensions of an embedder's vectors.

    Raises:
        EmbedFailed: when the embedder cannot be asked.
    """
    return int((await embed(["width"])).vectors.shape[1])


def check_embedder(name: str, made_by: str, embedder: str) -> None:
    """Refuse an embedder that did not make the vectors of a collection.

    An empty `made_by` is unknown, and passes.

    Raises:
        LibraryFailed: when another model made the vectors.
    """
    if made_by and made_by != embedder:
        before, current = embedder_names(made_by, embedder)
        raise LibraryFailed(
            f"{name} was embedded by {before}; vectors of {current} cannot be compared with its own.",
            hint="Choose that model or another collection, or re-embed this one.",
        )
