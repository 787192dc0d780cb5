"""The target of an ingest: one collection, with the embedder and the chunk knobs of its passages."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from core.config.knobs import ChunkKnobs
from core.errors import LibraryFailed
from core.library.add_document import library_passages
from core.library.ingests import IngestTask
from core.library.stored_documents import PAGE, STORED_PASSAGES, ReadPage, page_from_json
from core.library.vector_database import Collections
from core.model import Document, Extractor, LibraryDocument, LibraryPassage
from core.model.library import passage_id
from core.ports import Extract


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestTarget:
    """`embedder` is the identity of the model that embeds the passages."""

    collection: str
    embedder: str
    knobs: ChunkKnobs
    collections: Collections
    extract: Extract

    async def has_first_passage(self, document: str) -> bool:
        """Whether the collection has the first passage of the document with this digest."""
        first = passage_id(document, 0, self.embedder)
        return bool(await self.collections.get(self.collection, [first]))

    async def remove_partial(self, task: IngestTask) -> None:
        """Remove the passages of a document that is not complete; a deleted collection has none."""
        if task.digest and task.media_type != STORED_PASSAGES:
            with suppress(LibraryFailed):
                await self.collections.remove(self.collection, {"document": task.digest})

    async def extract_article(self, task: IngestTask, body: bytes) -> ReadPage:
        """The article of a document, and its address.

        Raises:
            Unreadable: when the document has no article, with the reason.
        """
        if task.media_type == PAGE:
            return page_from_json(body)
        document = Document(
            url=task.url or task.name,
            status=200,
            media_type=task.media_type,
            charset=task.charset or None,
            body=body,
        )
        return ReadPage(url=task.url, article=await self.extract(document, Extractor.ACCURATE))

    async def split(
        self, task: IngestTask, size: int, page: ReadPage
    ) -> tuple[LibraryDocument, tuple[LibraryPassage, ...]]:
        """The document as the catalogue stores it, and its passages. `size` is that of its file in bytes.

        Raises:
            Unreadable: EMPTY when it has no text.
        """
        added_at = datetime.now(UTC).isoformat(timespec="seconds")
        passages = await asyncio.to_thread(
            library_passages,
            page.article,
            document=task.digest,
            source=task.name,
            url=page.url,
            added_at=added_at,
            embedder=self.embedder,
            knobs=self.knobs,
        )
        document = LibraryDocument(
            source=task.name,
            passages=len(passages),
            digest=task.digest,
            title=page.article.title,
            url=page.url,
            media_type=task.media_type,
            charset=task.charset,
            size=size,
            pages=len(page.article.page_starts),
            embedder=self.embedder,
            added_at=added_at,
        )
        return document, passages
