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
from core.features.library.catalogue import Catalogue
from core.features.library.document_files import PAGE, STORED_PASSAGES, page_from_json
from core.features.library.fetch_task import Fetch
from core.features.library.ingests import IngestLimits, IngestTask
from core.features.library.vector_database import Collections, PassageStore
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
"""The most passages to embed and store at a time. The embedder may want fewer."""


DocumentRead = tuple[LibraryDocument, tuple[LibraryPassage, ...]]
"""The document for the catalogue, and its passages."""


class Read(Protocol):
    """`read_document` with its own extractor, perhaps in another process."""

    async def __call__(self, task: IngestTask, body: bytes, embedder: str, knobs: ChunkKnobs) -> DocumentRead:
        """Read and split the document of a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestPorts:
    """The shared ports and limits of a process's ingests."""

    catalogue: Catalogue
    collections: Collections
    extract: Extract
    read: Read
    web: Fetch
    limits: IngestLimits
    concurrency: int
    """The number of documents of an ingest handled concurrently."""
    embed_slots: asyncio.Semaphore
    """Limits the concurrent calls to the embedder, so that a question need not wait behind many."""
    active: set[tuple[str, str]] = field(default_factory=set)
    """Collection and digest of each document that is being added."""


async def read_document(
    task: IngestTask, body: bytes, embedder: str, knobs: ChunkKnobs, extract: Extract
) -> DocumentRead:
    """Read and split the document of a task.

    Raises:
        Unreadable: with the reason, when the document has no article or no text.
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
    return await asyncio.to_thread(split_document, article, document, knobs)


async def remove_passages(collection: str, task: IngestTask, collections: Collections) -> None:
    """Remove the passages of an incomplete document. A deleted collection has none."""
    if task.digest and task.media_type != STORED_PASSAGES:
        with suppress(LibraryFailed):
            await collections.remove(collection, {"document": task.digest})


def split_document(
    article: Article, document: LibraryDocument, knobs: ChunkKnobs
) -> tuple[LibraryDocument, tuple[LibraryPassage, ...]]:
    """Return the passages of an article. Blocks.

    A section is that of a passage's beginning. No passage crosses the end of a page, so that a citation leads to
    exactly one page.

    Args:
        article: the text, with the offsets of its pages and sections.
        document: its known fields. The result also has title, time, pages and passages.
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
        left_out=article.left_out,
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
    """Return passages with their offsets in the article.

    Passages without a letter are dropped if others have letters.
    """
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
    """Embed and store the missing passages of a document, batch by batch.

    `embed_slots` limits the concurrent calls to the embedder. `on_progress` is called after each batch with the number
    of stored passages.

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
