"""One document into a collection: cut into passages, embedded, put. Doing it again does nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from core.config.knobs import ChunkKnobs
from core.errors import EmbedFailed
from core.model import Article, LibraryPassage, Page, SkipReason, Unreadable
from core.model.library import passage_id
from core.ports import Embed
from core.stages.chunk import passages_of

STORED_PASSAGES = "application/vnd.openquery.excerpts+json"
"""The media type of passages that were taken out of a collection to be embedded anew."""

_TOGETHER = 256
"""Passages that are embedded and put at a time, where the embedder does not want fewer."""
_ADAPTER = TypeAdapter(tuple[LibraryPassage, ...])


def library_passages(
    article: Article, *, document: str, source: str, url: str, added_at: str, embedder: str, knobs: ChunkKnobs
) -> tuple[LibraryPassage, ...]:
    """The article's passages, each with its page and the section that it begins in. Takes a moment.

    No passage runs over the end of a page, so that a citation leads to the one page that it is on.

    Raises:
        Unreadable: EMPTY when there is not one.
    """
    pieces = _split_by_page(article, knobs)
    if not pieces:
        raise Unreadable(SkipReason.EMPTY, "there is no text in it")
    return tuple(
        LibraryPassage(
            id=passage_id(document, position, embedder),
            content=text,
            source=source,
            section=article.section_at(start),
            url=url,
            title=article.title or source,
            page=article.page_at(start),
            created_at=article.date or added_at,
            document=document,
            position=position,
            embedder=embedder,
        )
        for position, (start, text) in enumerate(pieces)
    )


def _split_by_page(article: Article, knobs: ChunkKnobs) -> list[tuple[int, str]]:
    """Passages with their offsets in the article's text; pages with nothing but a number on them have none."""
    found: list[tuple[int, str]] = []
    for start, end in pairwise(dict.fromkeys((0, *article.page_starts, len(article.text)))):
        part = Page(key="", url="", title="", article=Article(text=article.text[start:end], extractor=""))
        found += ((start + passage.place.start, passage.text) for passage in passages_of(part, knobs))
    return [(start, text) for start, text in found if any(map(str.isalpha, text))] or found


class Filled(Protocol):
    """As much of `Collections` as filling one needs."""

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]: ...
    async def put(
        self, name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]
    ) -> None: ...


async def put_all(
    name: str,
    passages: Sequence[LibraryPassage],
    *,
    collections: Filled,
    embed: Embed,
    turns: asyncio.Semaphore,
    told: Callable[[int], None],
) -> None:
    """Embed and put what is not there yet, telling how many are. `turns` bounds the calls under way.

    Raises:
        EmbedFailed, LibraryFailed: with those before it in the collection.
    """
    size = max(1, min(embed.batch, _TOGETHER))
    for start in range(0, len(passages), size):
        batch = passages[start : start + size]
        there = {one.id: one.content for one in await collections.get(name, [one.id for one in batch])}
        missing = [one for one in batch if there.get(one.id) != one.content]
        if missing:
            texts = list(dict.fromkeys(one.content for one in missing))
            async with turns:
                vectors = await embed(texts)
            if vectors.shape[:1] != (len(texts),):
                raise EmbedFailed(
                    f"{embed.identity} gave {len(vectors)} vectors for {len(texts)} texts.",
                    hint="Check that the address is that of an embedding model.",
                )
            rows = {text: row for row, text in enumerate(texts)}
            aligned = vectors[np.array([rows[one.content] for one in missing])]
            await collections.put(name, missing, aligned)
        told(start + len(batch))


def passages_body(passages: Sequence[LibraryPassage]) -> bytes:
    """Passages as they were found, to be kept while their collection is made anew."""
    return _ADAPTER.dump_json(tuple(passages))


def restored_passages(body: bytes, embedder: str) -> tuple[LibraryPassage, ...]:
    """Those passages for another embedder. What another tool added keeps its id, ours get the one that is due.

    Raises:
        Unreadable: BROKEN when the bytes are of another version.
    """
    try:
        found = _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise Unreadable(SkipReason.BROKEN, "the kept passages are of another version") from error
    return tuple(
        replace(
            one,
            embedder=embedder,
            id=passage_id(one.document, one.position, embedder) if one.document else one.id,
        )
        for one in found
        if one.content.strip()
    )
