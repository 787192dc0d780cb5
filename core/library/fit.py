"""Whether a collection's vectors and an embedder's can be compared."""

from __future__ import annotations

from core.errors import LibraryFailed
from core.model import Collection
from core.ports import Collections, Embed


async def opened(collections: Collections, name: str, embed: Embed) -> Collection:
    """The collection, made when there is none.

    Raises:
        LibraryFailed: when it is not for this embedder.
        EmbedFailed: when the embedder cannot be asked.
    """
    width = await width_of(embed)
    await collections.create(name, width)
    about = await collections.about(name)
    refuse_unlike(about, width, embed.identity)
    return about


async def width_of(embed: Embed) -> int:
    """How many numbers its vectors have. Raises EmbedFailed."""
    return int((await embed(["width"])).shape[1])


def refuse_unlike(about: Collection, width: int, embedder: str) -> None:
    """Vectors can be compared only with those of the same model.

    Raises:
        LibraryFailed: when the collection's are others.
    """
    if about.distance != "cosine" or about.width != width:
        raise LibraryFailed(
            f"{about.name} holds vectors of {about.width} numbers under {about.distance} distance; "
            f"{embedder} makes {width} for cosine.",
            hint="Choose the model that it was filled with, another collection, or embed it anew.",
        )
    if about.embedder and about.embedder != embedder:
        raise LibraryFailed(
            f"{about.name} was filled by {about.embedder}, whose vectors {embedder} cannot be compared with.",
            hint="Choose that model, another collection, or embed it anew.",
        )
