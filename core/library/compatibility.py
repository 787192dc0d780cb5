"""Whether an embedder fits a collection: only vectors of the same model can be compared.

The database itself refuses another width or distance in `create`, `put` and `nearest`; which model made the
vectors is stored with the passages.
"""

from __future__ import annotations

from core.errors import LibraryFailed
from core.library.vector_database import Collections
from core.model import Collection
from core.ports import Embed
from core.text.display import embedder_names


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
    return int((await embed(["width"])).shape[1])


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
