"""Whether a collection's vectors and an embedder's can be compared: only those of one model can.

Width and distance are the database's own to refuse, in `create`, `put` and `nearest`. Who made the vectors
only the passages tell.
"""

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
    await collections.create(name, await width_of(embed))
    about = await collections.about(name)
    refuse_others(name, about.embedder, embed.identity)
    return about


async def width_of(embed: Embed) -> int:
    """How many numbers its vectors have. Raises EmbedFailed."""
    return int((await embed(["width"])).shape[1])


def refuse_others(name: str, made_by: str, embedder: str) -> None:
    """Return when the vectors of a collection may be this embedder's; nobody knows of those without a maker.

    Raises:
        LibraryFailed: when another model made them.
    """
    if made_by and made_by != embedder:
        raise LibraryFailed(
            f"{name} was filled by {made_by}, whose vectors {embedder} cannot be compared with.",
            hint="Choose that model, another collection, or embed it anew.",
        )
