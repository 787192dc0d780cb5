"""Reading in a document of a collection: its passages in their order, those of a page, those around one."""

from __future__ import annotations

import asyncio

from core.library.catalogue import Catalogue
from core.model import LibraryPassage
from core.model.library import checked_name, passage_id
from core.ports import Collections

FOREIGN = "source:"
"""What the key of a document begins with that another tool added without saying which it is."""

_MOST = 1_000
"""Passages of one page."""


def key_of(document: str, source: str) -> str:
    """How a document is named here, by its digest where it has one, else by its source."""
    return document or f"{FOREIGN}{source}"


def where_is(document: str) -> dict[str, str | int]:
    """The filter for the passages of the document with this key."""
    if document.startswith(FOREIGN):
        return {"source": document.removeprefix(FOREIGN)}
    return {"document": document}


class DocumentReader:
    """Every method raises `BadInput` and `LibraryFailed` as those of `Library` do, which has the keys."""

    def __init__(self, collections: Collections, catalogue: Catalogue) -> None:
        self._collections = collections
        self._catalogue = catalogue

    async def in_order(
        self, name: str, document: str, after: str = "", limit: int = 50
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        """The document's next passages, and what to pass as `after` for more; "" at the end."""
        name, where = checked_name(name), where_is(document)
        if document.startswith(FOREIGN):
            return await self._collections.scroll(name, limit, after, where)
        entry = await asyncio.to_thread(self._catalogue.entry, name, document)
        embedder = entry.embedder if entry else ""
        if entry is None:
            first, _ = await self._collections.scroll(name, 1, "", where)
            embedder = first[0].embedder if first else ""
        start = int(after) if after.isdigit() else 0
        found = await self._from(name, document, embedder, start, limit + 1)
        if not found and not start:  # cut by a tool that numbers otherwise
            return await self._collections.scroll(name, limit, after, where)
        return found[:limit], str(start + limit) if len(found) > limit else ""

    async def on_page(self, name: str, document: str, page: int) -> tuple[LibraryPassage, ...]:
        """The passages that begin on a page, counted from 1."""
        found, _ = await self._collections.scroll(
            checked_name(name), _MOST, "", {**where_is(document), "page": page}
        )
        return tuple(sorted(found, key=lambda one: one.position))

    async def around(self, name: str, passage: LibraryPassage, reach: int) -> tuple[LibraryPassage, ...]:
        """The passage among those before and after it; alone where the order of its document is not known."""
        start = max(0, passage.position - reach)
        count = passage.position + reach + 1 - start
        found = await self._from(checked_name(name), passage.document, passage.embedder, start, count)
        return found if any(one.id == passage.id for one in found) else (passage,)

    async def one(self, name: str, passage: str) -> LibraryPassage | None:
        """The passage with this id; None when it is gone."""
        return next(iter(await self._collections.get(checked_name(name), [passage])), None)

    async def _from(
        self, name: str, document: str, embedder: str, start: int, count: int
    ) -> tuple[LibraryPassage, ...]:
        ids = [passage_id(document, place, embedder) for place in range(start, start + count)]
        return await self._collections.get(name, ids)
