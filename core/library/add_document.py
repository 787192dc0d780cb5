"""Split a document into passages, embed them and store them in a collection. Repeating it changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from core.config.knobs import ChunkKnobs
from core.errors import EmbedFailed
from core.library.vector_database import PassageStore
from core.model import Article, LibraryPassage, Page, SkipReason, Unreadable
from core.model.library import passage_id
from core.ports import Embed
from core.stages.chunk import passages_of

_BATCH = 256
"""Passages that are embedded and stored at a time, where the embedder does not want fewer."""


def library_passages(
    article: Article, *, document: str, source: str, url: str, added_at: str, embedder: str, knobs: ChunkKnobs
) -> tuple[LibraryPassage, ...]:
    """The passages of an article, each with its page and the section that it begins in. Blocks.

    No passage crosses the end of a page, so that a citation leads to exactly one page.

    Args:
        article: the text, with the offsets of its pages and sections.
        document: the digest of the document's bytes.
        source: the file's name, or the address that it was read from.
        url: the document's address on the web; empty for files.
        added_at: ISO 8601; the passages' date where the article has none.
        embedder: the identity of the model that will embed them.
        knobs: size and overlap of passages, in characters.

    Raises:
        Unreadable: EMPTY when the article has no text.
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
            author=article.author,
            language=article.language,
            page=article.page_at(start),
            created_at=article.date or added_at,
            document=document,
            position=position,
            embedder=embedder,
        )
        for position, (start, text) in enumerate(pieces)
    )


def _split_by_page(article: Article, knobs: ChunkKnobs) -> list[tuple[int, str]]:
    """Passages with their offsets in the article's text; passages without a letter are left out if others have one."""
    found: list[tuple[int, str]] = []
    for start, end in pairwise(dict.fromkeys((0, *article.page_starts, len(article.text)))):
        part = Page(key="", url="", title="", article=Article(text=article.text[start:end], extractor=""))
        found += ((start + passage.place.start, passage.text) for passage in passages_of(part, knobs))
    return [(start, text) for start, text in found if any(map(str.isalpha, text))] or found


async def embed_and_store(
    name: str,
    passages: Sequence[LibraryPassage],
    *,
    store: PassageStore,
    embed: Embed,
    embed_slots: asyncio.Semaphore,
    on_progress: Callable[[int], None],
) -> None:
    """Embed the passages that a collection does not have yet, and store them in it, batch by batch.

    Args:
        name: the collection.
        passages: all passages of a document, in order.
        store: the database of the collection.
        embed: the embedder of the collection.
        embed_slots: bounds the concurrent calls to the embedder.
        on_progress: called after each batch with the number of passages that are stored.

    Raises:
        EmbedFailed, LibraryFailed: the batches before the failure are stored.
    """
    size = max(1, min(embed.batch, _BATCH))
    for start in range(0, len(passages), size):
        batch = passages[start : start + size]
        stored = {one.id: one.content for one in await store.get(name, [one.id for one in batch])}
        missing = [one for one in batch if stored.get(one.id) != one.content]
        if missing:
            texts = list(dict.fromkeys(one.content for one in missing))
            async with embed_slots:
                vectors = await embed(texts)
            if vectors.shape[:1] != (len(texts),):
                raise EmbedFailed(
                    f"{embed.identity} gave {len(vectors)} vectors for {len(texts)} texts.",
                    hint="Check that the address is that of an embedding model.",
                )
            rows = {text: row for row, text in enumerate(texts)}
            await store.put(name, missing, vectors[np.array([rows[one.content] for one in missing])])
        on_progress(start + len(batch))
