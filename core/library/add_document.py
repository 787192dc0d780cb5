"""Steps of adding a document to a collection: read, split, embed and store. Repeating them changes nothing."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Protocol

import numpy as np

from core.config.knobs import ChunkKnobs
from core.errors import EmbedFailed, LibraryFailed
from core.library.catalogue import Catalogue
from core.library.document_files import PAGE, STORED_PASSAGES, page_from_json
from core.library.fetch_task import Fetch
from core.library.ingests import IngestLimits, IngestTask
from core.library.vector_database import Collections, PassageStore
from core.model import (
    Article,
    Document,
    Extractor,
    LibraryDocument,
    LibraryPassage,
    Page,
    SkipReason,
    Unreadable,
)
from core.model.library import passage_id
from core.ports import Embed, Extract
from core.stages.chunk import passages_of
from core.text.sanitize import pluralize

_BATCH = 256
"""Passages that are embedded and stored at a time, where the embedder does not want fewer."""


DocumentRead = tuple[str, LibraryDocument, tuple[LibraryPassage, ...]]
"""What was left out of a document, in words; the document as the catalogue stores it; and its passages."""


class Read(Protocol):
    """`read_document` with an extractor of its own, perhaps in another process."""

    async def __call__(self, task: IngestTask, body: bytes, embedder: str, knobs: ChunkKnobs) -> DocumentRead:
        """As `read_document`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestPorts:
    """What the ingests of a process share."""

    catalogue: Catalogue
    collections: Collections
    extract: Extract
    read: Read
    web: Fetch
    limits: IngestLimits
    concurrency: int
    """Documents of one ingest that are worked on at a time."""
    embed_slots: asyncio.Semaphore
    """Bounds the concurrent calls to the embedder, so that a question does not wait behind many."""
    active: set[tuple[str, str]] = field(default_factory=set)
    """Collection and digest of each document that is being added."""


async def read_document(
    task: IngestTask, body: bytes, embedder: str, knobs: ChunkKnobs, extract: Extract
) -> DocumentRead:
    """The document of a task, read and split; see `split_document`.

    Raises:
        Unreadable: when the document has no article or no text, with the reason.
    """
    url = task.url
    if task.media_type == PAGE:
        page = page_from_json(body)
        url, article = page.url, page.article
    else:
        fetched = Document(
            url=url or task.name,
            status=200,
            media_type=task.media_type,
            charset=task.charset or None,
            body=body,
        )
        article = await extract(fetched, Extractor.ACCURATE)
    document = LibraryDocument(
        source=task.name,
        passages=0,
        digest=task.digest,
        url=url,
        media_type=task.media_type,
        charset=task.charset,
        size=len(body),
        embedder=embedder,
    )
    return article.left_out, *await asyncio.to_thread(split_document, article, document, knobs)


async def remove_passages(collection: str, task: IngestTask, collections: Collections) -> None:
    """Remove the passages of a document that is not complete; a deleted collection has none."""
    if task.digest and task.media_type != STORED_PASSAGES:
        with suppress(LibraryFailed):
            await collections.remove(collection, {"document": task.digest})


def split_document(
    article: Article, document: LibraryDocument, knobs: ChunkKnobs
) -> tuple[LibraryDocument, tuple[LibraryPassage, ...]]:
    """The passages of an article, each with its page and the section that it begins in. Blocks.

    No passage crosses the end of a page, so that a citation leads to exactly one page.

    Args:
        article: the text, with the offsets of its pages and sections.
        document: what is known of it before it is split; the result also has title, time, pages and passages.
        knobs: size and overlap of passages, in characters.

    Raises:
        Unreadable: EMPTY when the article has no text.
    """
    pieces = _split_by_page(article, knobs)
    if not pieces:
        raise Unreadable(SkipReason.EMPTY, "there is no text in it")
    document = replace(
        document,
        title=article.title,
        added_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pages=len(article.page_starts),
        passages=len(pieces),
    )
    passages = tuple(
        LibraryPassage(
            id=passage_id(document.digest, position, document.embedder),
            content=text,
            source=document.source,
            section=article.section_at(start),
            url=document.url,
            title=article.title or document.source,
            author=article.author,
            language=article.language,
            page=article.page_at(start),
            created_at=article.date or document.added_at,
            document=document.digest,
            position=position,
            embedder=document.embedder,
        )
        for position, (start, text) in enumerate(pieces)
    )
    return document, passages


def _split_by_page(article: Article, knobs: ChunkKnobs) -> list[tuple[int, str]]:
    """Passages with their offsets in the article's text; passages without a letter are left out if others have one."""
    pieces: list[tuple[int, str]] = []
    for start, end in pairwise(dict.fromkeys((0, *article.page_starts, len(article.text)))):
        part = Page(key="", url="", title="", article=Article(text=article.text[start:end], extractor=""))
        pieces += ((start + passage.place.start, passage.text) for passage in passages_of(part, knobs))
    return [(start, text) for start, text in pieces if any(map(str.isalpha, text))] or pieces


async def embed_and_store(
    name: str,
    passages: Sequence[LibraryPassage],
    *,
    store: PassageStore,
    embed: Embed,
    embed_slots: asyncio.Semaphore,
    on_progress: Callable[[int], None],
) -> None:
    """Embed the passages of a document that a collection does not have yet, and store them in it, batch by batch.

    `embed_slots` bounds the concurrent calls to the embedder; `on_progress` is called after each batch with the number of
    passages that are stored.

    Raises:
        EmbedFailed, LibraryFailed: the batches before the failure are stored.
    """
    size = max(1, min(embed.batch, _BATCH))
    for start in range(0, len(passages), size):
        batch = passages[start : start + size]
        stored = {passage.id: passage.content for passage in await store.get(name, [p.id for p in batch])}
        missing = [passage for passage in batch if stored.get(passage.id) != passage.content]
        if missing:
            texts = list(dict.fromkeys(passage.content for passage in missing))
            async with embed_slots:
                vectors = (await embed(texts)).vectors
            if vectors.shape[:1] != (len(texts),):
                raise EmbedFailed(
                    f"{embed.identity} gave {pluralize(len(vectors), 'vector')} for {pluralize(len(texts), 'text')}.",
                    hint="Check that the address is that of an embedding model.",
                )
            rows = {text: row for row, text in enumerate(texts)}
            await store.put(name, missing, vectors[np.array([rows[passage.content] for passage in missing])])
        on_progress(start + len(batch))
