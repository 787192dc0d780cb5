"""What the library needs of a vector database, and whether an embedder fits a collection of it.

Adapters match the protocols and inherit nothing. The database itself refuses another width or distance in `create`,
`put` and `nearest`; which model made the vectors is stored with the passages.
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
    """As much of `Collections` as a run needs."""

    @property
    def identity(self) -> str:
        """Names the database; never holds a key."""

    async def names(self) -> tuple[str, ...]:
        """All collections, sorted."""

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        """The passages most similar to `vector`, best first."""

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """The passages with these ids, in this order; unknown ids are left out."""


class PassageStore(Protocol):
    """As much of `Collections` as storing passages needs."""

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """The passages with these ids, in this order; unknown ids are left out."""

    async def put(self, name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        """Add passages, or replace those with the same id. `vectors`: shape (len(passages), width)."""


class Collections(PassageSearch, PassageStore, Protocol):
    """A vector database: collections of passages that are found by cosine similarity.

    Collection names are those that `core.model.library.checked_name` accepts. `where` narrows to passages
    whose metadata has exactly these values, such as `{"source": "mills.pdf", "page": 3}`. `identity` names
    the database and never holds a key. Every method raises `LibraryFailed` with what to do: when the
    database does not answer, when there is no such collection, when the width does not fit.
    """

    async def about(self, name: str, *, wait: bool = True) -> Collection:
        """`wait` for a moment when another process has it open, which may just be letting go of it."""

    async def create(self, name: str, width: int) -> None:
        """An empty collection under cosine distance; nothing happens when there is one of that width."""

    async def drop(self, name: str) -> None:
        """Delete the collection with all in it; nothing happens when there is none."""

    async def nearest(
        self,
        name: str,
        vector: NDArray[np.float32],
        limit: int,
        where: Mapping[str, str | int] | None = None,
        *,
        exact: bool = False,
    ) -> tuple[Neighbour, ...]:
        """The passages most similar to `vector`, best first. `exact` compares with every one of them."""

    async def scroll(
        self, name: str, limit: int, after: str = "", where: Mapping[str, str | int] | None = None
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        """The next passages in the order of their ids, and what to pass as `after` for more; "" at the end."""

    async def documents(self, name: str, limit: int = 1000) -> tuple[LibraryDocument, ...]:
        """The documents that its passages name, most passages first: source, digest and number of passages."""

    async def remove(self, name: str, where: Mapping[str, str | int]) -> None:
        """Delete the passages that match; `where` must not be empty."""

    async def aclose(self) -> None:
        """Close the connections to the database."""


async def open_or_create(collections: Collections, name: str, embed: Embed) -> Collection:
    """The collection, created when there is none.

    Raises:
        LibraryFailed: when another model made its vectors, or they have another width or distance.
        EmbedFailed: when the embedder cannot be asked.
    """
    await collections.create(name, await embedding_width(embed))
    about = await collections.about(name)
    check_embedder(name, about.embedder, embed.identity)
    return about


async def embedding_width(embed: Embed) -> int:
    """The number of dimensions of an embedder's vectors.

    Raises:
        EmbedFailed: when the embedder cannot be asked.
    """
    return int((await embed(["width"])).vectors.shape[1])


def check_embedder(name: str, made_by: str, embedder: str) -> None:
    """Refuse an embedder that did not make the vectors of a collection; an empty `made_by` is unknown, and passes.

    Raises:
        LibraryFailed: when another model made them.
    """
    if made_by and made_by != embedder:
        before, current = embedder_names(made_by, embedder)
        raise LibraryFailed(
            f"{name} was embedded by {before}; vectors of {current} cannot be compared with its own.",
            hint="Choose that model or another collection, or re-embed this one.",
        )
