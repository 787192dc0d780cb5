"""Where an ingest puts documents: one collection, by one embedder, cut by one set of knobs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from core.config.knobs import ChunkKnobs
from core.errors import LibraryFailed
from core.library.add_document import STORED_PASSAGES, library_passages, restored_passages
from core.library.fetch_task import FetchedTask
from core.library.ingest_records import Entry, Task
from core.library.run_page_documents import PAGE, read_page
from core.model import Article, Document, Extractor, LibraryPassage
from core.model.library import passage_id
from core.ports import Collections, Extract


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitDocument:
    """A document cut into passages. `entry` is what the catalogue will have of it; passages that were taken
    out of a collection have none."""

    passages: tuple[LibraryPassage, ...]
    entry: Entry | None = None
    left_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestTarget:
    """`embedder` is the identity of the model whose vectors the passages get."""

    collection: str
    embedder: str
    knobs: ChunkKnobs
    collections: Collections
    extract: Extract

    async def begun(self, document: str) -> bool:
        """Whether the collection has the document's first passage."""
        first = passage_id(document, 0, self.embedder)
        return bool(await self.collections.get(self.collection, [first]))

    async def take_out(self, task: Task) -> None:
        """Remove what is in the collection of a document that is not whole. One that is gone has nothing."""
        if task.digest and task.media_type != STORED_PASSAGES:
            with suppress(LibraryFailed):
                await self.collections.remove(self.collection, {"document": task.digest})

    async def cut(self, task: Task, found: FetchedTask) -> SplitDocument:
        """Read the document and cut it. Raises Unreadable: with the reason."""
        if task.media_type == STORED_PASSAGES:
            return SplitDocument(passages=restored_passages(found.body, self.embedder))
        url, article = await self._read(task, found)
        added_at = datetime.now(UTC).isoformat(timespec="seconds")
        passages = await asyncio.to_thread(
            library_passages,
            article,
            document=task.digest,
            source=task.name,
            url=url,
            added_at=added_at,
            embedder=self.embedder,
            knobs=self.knobs,
        )
        entry = Entry(
            collection=self.collection,
            digest=task.digest,
            source=task.name,
            media_type=task.media_type,
            charset=task.charset,
            size=len(found.body),
            title=article.title,
            url=url,
            pages=len(article.page_starts),
            passages=len(passages),
            embedder=self.embedder,
            added_at=added_at,
        )
        return SplitDocument(passages=passages, entry=entry, left_out=article.left_out)

    async def _read(self, task: Task, found: FetchedTask) -> tuple[str, Article]:
        """The document's address and article."""
        if task.media_type == PAGE:
            page = read_page(found.body)
            return page.url, page.article
        document = Document(
            url=found.url or task.name,
            status=200,
            media_type=task.media_type,
            charset=task.charset or None,
            body=found.body,
        )
        return found.url, await self.extract(document, Extractor.ACCURATE)
