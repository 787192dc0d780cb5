"""Passages of a document in a collection: in order, by page, or around a passage."""

import asyncio

from core.features.library.catalogue import Catalogue
from core.features.library.vector_database import Collections
from core.model import LibraryPassage
from core.model.library import SOURCE_KEY, checked_name, passage_id

_MOST_ON_PAGE = 1_000
"""The most passages of one page."""


def document_filter(key: str) -> dict[str, str | int]:
    """Return the metadata filter for the passages of the document with this key."""
    if key.startswith(SOURCE_KEY):
        return {"source": key.removeprefix(SOURCE_KEY)}
    return {"document": key}


class DocumentReader:
    """Reader of passages. Every method raises the `BadInput` and `LibraryFailed` of `Library`."""

    def __init__(self, collections: Collections, catalogue: Catalogue) -> None:
        self._collections = collections
        self._catalogue = catalogue

    async def passages(
        self, name: str, key: str, after: str = "", limit: int = 50
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        """Return the document's next passages, and `after` for more, or "" at the end."""
        name, where = checked_name(name), document_filter(key)
        if key.startswith(SOURCE_KEY):
            return await self._collections.scroll(name, limit, after, where)
        document = await asyncio.to_thread(self._catalogue.document, name, key)
        embedder = document.embedder if document else ""
        if document is None:
            first, _ = await self._collections.scroll(name, 1, "", where)
            embedder = first[0].embedder if first else ""
        start = int(after) if after.isdigit() else 0
        passages = await self._at_positions(name, key, embedder, start, limit + 1)
        if not passages and not start:  # another tool numbered its passages in another way
            return await self._collections.scroll(name, limit, after, where)
        return passages[:limit], str(start + limit) if len(passages) > limit else ""

    async def passages_on_page(self, name: str, key: str, page: int) -> tuple[LibraryPassage, ...]:
        """Return the passages that begin on a page."""
        passages, _ = await self._collections.scroll(
            checked_name(name), _MOST_ON_PAGE, "", {**document_filter(key), "page": page}
        )
        return tuple(sorted(passages, key=lambda passage: passage.position))

    async def passages_around(
        self, name: str, passage: LibraryPassage, reach: int
    ) -> tuple[LibraryPassage, ...]:
        """Return a passage with `reach` neighbours on each side.

        The passage is returned alone if the order is unknown.
        """
        start = max(0, passage.position - reach)
        count = passage.position + reach + 1 - start
        passages = await self._at_positions(
            checked_name(name), passage.document, passage.embedder, start, count
        )
        return passages if any(other.id == passage.id for other in passages) else (passage,)

    async def passage(self, name: str, passage: str) -> LibraryPassage | None:
        """Return the passage with this id, or None."""
        return next(iter(await self._collections.get(checked_name(name), [passage])), None)

    async def _at_positions(
        self, name: str, document: str, embedder: str, start: int, count: int
    ) -> tuple[LibraryPassage, ...]:
        ids = [passage_id(document, position, embedder) for position in range(start, start + count)]
        return await self._collections.get(name, ids)
