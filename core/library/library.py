"""The document library: collections of a person's own documents, to add to, list, search, delete and re-embed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.config.knobs import ChunkKnobs
from core.errors import BadInput, LibraryFailed
from core.library.catalogue import Catalogue
from core.library.compatibility import check_embedder, open_or_create
from core.library.document_files import DocumentFiles, StoredFile
from core.library.document_reader import DocumentReader, document_filter
from core.library.example_questions import QUESTIONS, example_questions
from core.library.ingest_runner import IngestRunner
from core.library.ingest_sources import IngestSource
from core.library.ingests import Ingest
from core.library.plan_ingest import IngestLimits
from core.library.running_ingest import IngestPorts, RunningIngest
from core.library.stored_documents import PAGE, page_from_json
from core.library.vector_database import Collections
from core.model import Collection, LibraryDocument, Neighbour, Unreadable
from core.model.library import checked_name
from core.ports import Embed, Fetch, ReadingPool
from core.reading.file_types import PDF

if TYPE_CHECKING:
    from core.config.access import Access

_MOST_CONCURRENT_DOCUMENTS = 8
_EMBED_CALLS = 2
_MOST_FOREIGN = 1_000
"""Documents of other tools in one collection that are listed."""


class Library:
    """All collections of a data folder. Coroutines run on the engine's loop (from a page: `runs.call(...)`).

    `name` is a collection's name, and `access` what a visitor brings, for an embedder that needs a key.

    Raises:
        BadInput: by every method that takes a collection's name, when it is not valid.
        LibraryFailed: when the database does not answer or has no such collection.
        StoreFailed: when the data folder cannot be read or written.
    """

    def __init__(
        self,
        *,
        folder: Path,
        collections: Collections,
        embedder: Callable[[Access | None, str], Awaitable[Embed]],
        workers: ReadingPool,
        web: Fetch,
        limits: IngestLimits,
    ) -> None:
        """`folder` is the data folder: library.sqlite and documents/ are in it."""
        self.limits = limits
        """How much may be added."""
        self._folder = folder / "documents"
        self._files = DocumentFiles(self._folder)
        self._catalogue = Catalogue(folder / "library.sqlite", self._files)
        self.reader = DocumentReader(collections, self._catalogue)
        """Reads the passages of a document."""
        self._collections = collections
        self._embedder = embedder
        self._workers = workers
        self._ports = IngestPorts(
            catalogue=self._catalogue,
            collections=collections,
            extract=workers,
            web=web,
            limits=limits,
            concurrency=min(workers.count + 2, _MOST_CONCURRENT_DOCUMENTS),
            embed_slots=asyncio.Semaphore(_EMBED_CALLS),
        )
        self._ingests = IngestRunner(self._folder / "leases", self._ports, embedder)

    # --- collections --------------------------------------------------------------------------------------

    async def collections(self) -> dict[str, Collection | LibraryFailed]:
        """Every collection by its name, or the error with which it cannot be opened.

        Raises:
            LibraryFailed: when the database cannot list them.
        """
        names = await self._collections.names()
        found = await asyncio.gather(*map(self._describe, names))
        if any(isinstance(one, LibraryFailed) for one in found):
            still = await self._collections.names()  # a collection that was deleted meanwhile is no failure
            return {name: one for name, one in zip(names, found, strict=True) if name in still}
        return dict(zip(names, found, strict=True))

    async def _describe(self, name: str) -> Collection | LibraryFailed:
        try:
            return await self._collections.about(name, wait=False)
        except LibraryFailed as why:
            return why

    async def create(self, name: str, *, access: Access | None = None) -> Collection:
        """Create an empty collection for the current embedder; an existing one that fits is left as it is.

        Raises:
            LibraryFailed: also when there is one of another width, distance or model.
            EmbedFailed: when the embedder cannot be asked.
        """
        name = checked_name(name)
        return await open_or_create(self._collections, name, await self._embedder(access, name))

    async def embedder(self, name: str, access: Access | None = None) -> str:
        """The identity of the current embedder of a collection.

        Raises:
            ChatFailed: when its server cannot be asked.
        """
        return (await self._embedder(access, name)).identity

    async def drop(self, name: str) -> None:
        """Delete a collection with its documents; all ingests into it are stopped."""
        name = checked_name(name)
        async with self._ingests.stopped(name):
            await self._collections.drop(name)
            await asyncio.to_thread(self._catalogue.delete_documents, name)

    # --- documents ----------------------------------------------------------------------------------------

    async def documents(self, name: str) -> tuple[LibraryDocument, ...]:
        """The documents in a collection, latest first, then the 1,000 largest of those that other tools added."""
        name = checked_name(name)
        adding = [task for ingest in self.running(name) for task in ingest.progress.tasks]
        documents = await asyncio.to_thread(self._catalogue.documents, name)
        ours = {document.digest for document in documents} | {task.document for task in adding}
        counted = await self._collections.documents(name, len(documents) + len(adding) + _MOST_FOREIGN)
        foreign = [one for one in counted if not (one.digest and one.digest in ours)][:_MOST_FOREIGN]
        return (*documents, *foreign)

    async def example_questions(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Example questions about documents of these collections, or of all; see `example_questions`."""
        questions: list[str] = []
        for name in names or await self._collections.names():
            if len(questions) < QUESTIONS:
                questions.extend(example_questions(await self.documents(name)))
        return tuple(questions[:QUESTIONS])

    async def document(self, name: str, key: str) -> LibraryDocument | None:
        """The document with this key; None when it is not in the collection."""
        document = await asyncio.to_thread(self._catalogue.document, checked_name(name), key)
        return document or next((one for one in await self.documents(name) if one.key == key), None)

    async def delete(self, name: str, key: str) -> None:
        """Delete a document from a collection, and its file when no other collection has it.

        Raises:
            BadInput: while it is being added.
        """
        name = checked_name(name)
        if (name, key) in self._ports.active:
            raise BadInput(
                "This document is being added.", hint="Stop that first, or wait until it has ended."
            )
        await self._collections.remove(name, document_filter(key))
        await asyncio.to_thread(self._catalogue.delete_documents, name, key)

    async def search(
        self,
        name: str,
        text: str,
        limit: int = 10,
        where: Mapping[str, str | int] | None = None,
        *,
        exact: bool = False,
        access: Access | None = None,
    ) -> tuple[Neighbour, ...]:
        """The passages most similar to `text`, best first.

        Args:
            text: a question or a few words.
            limit: the most passages to return.
            where: metadata that passages must have, such as `{"source": "mills.pdf", "page": 3}`.
            exact: compare with every passage, where the database would use an approximate index.

        Raises:
            BadInput: when `text` is empty.
            LibraryFailed: also when the collection's vectors are of another width, distance or model.
            EmbedFailed: when the text cannot be embedded.
        """
        name = checked_name(name)
        if not text.strip():
            raise BadInput("There is nothing to search for.", hint="Type a few words.")
        embed = await self._embedder(access, name)
        (vector,) = await embed([text])
        found = await self._collections.nearest(name, vector, limit, where, exact=exact)
        for one in found:
            check_embedder(name, one.passage.embedder, embed.identity)
        return found

    async def file(self, key: str) -> StoredFile:
        """A document's file as it was added; of a run's page, its text.

        Raises:
            BadInput: when there is no such file.
        """
        document = await asyncio.to_thread(self._catalogue.document_in_any_collection, key)
        body = await asyncio.to_thread(self._files.get, key) if document else None
        if document is None or body is None:
            raise BadInput("There is no such file.", hint="Its document may have been deleted.")
        if document.media_type == PAGE:
            text = (await asyncio.to_thread(page_from_json, body)).article.text
            return StoredFile(
                name=f"{document.title or 'page'}.txt", media_type="text/plain", body=text.encode()
            )
        return StoredFile(name=document.source, media_type=document.media_type, body=body)

    async def page_image(self, key: str, page: int, width: int = 1_000) -> bytes:
        """A page of a PDF, counted from 1, as a PNG at most `width` pixels wide.

        Raises:
            BadInput: when there is no such PDF or page, or it cannot be drawn.
        """
        file = await self.file(key)
        if file.media_type != PDF:
            raise BadInput("Only pages of PDFs are drawn.", hint="Read the document's text instead.")
        try:
            return await self._workers.draw(file.body, page, width)
        except Unreadable as why:
            raise BadInput(f"Page {page} cannot be drawn: {why.detail or why.reason}.") from why

    # --- ingests ------------------------------------------------------------------------------------------

    async def ingest(
        self,
        name: str,
        sources: Sequence[IngestSource],
        *,
        knobs: ChunkKnobs | None = None,
        access: Access | None = None,
    ) -> RunningIngest:
        """Start to add documents, and return once they are stored; the collection is created when there is none.

        Raises:
            BadInput: when there is nothing to add, too much, or a folder that the operator does not allow; while
                the collection is being re-embedded.
            LibraryFailed: when the collection holds vectors of another width, distance or model.
            EmbedFailed: when the embedder cannot be asked.
        """
        return await self._ingests.start(checked_name(name), sources, knobs, access)

    async def reembed(
        self, name: str, *, knobs: ChunkKnobs | None = None, access: Access | None = None
    ) -> RunningIngest:
        """Start to embed the documents of a collection again with the current embedder.

        Documents are read again from their files; passages that other tools added keep text, metadata and ids.

        Raises:
            BadInput: while documents are being added to it, or it is being re-embedded.
            EmbedFailed: when the embedder cannot be asked.
        """
        return await self._ingests.start_reembedding(checked_name(name), knobs, access)

    def running(self, name: str = "") -> tuple[RunningIngest, ...]:
        """The ingests that this process works on, into one collection or all. May be called from any thread."""
        return self._ingests.running(name)

    async def latest(self, name: str) -> Ingest | None:
        """The ingest into a collection that ended last; None when there was none."""
        return await self._ingests.latest(checked_name(name))

    async def unfinished(self) -> tuple[Ingest, ...]:
        """Ingests whose process has ended, which `resume` continues."""
        return await self._ingests.unfinished()

    async def resume(self, *, access: Access | None = None) -> tuple[RunningIngest, ...]:
        """Resume every ingest whose process has ended; only one process resumes each.

        An ingest whose collection or embedder has changed stays unfinished, with the reason in its message.
        """
        return await self._ingests.resume(access)

    async def aclose(self) -> None:
        """Interrupt the running ingests, which can be resumed, and close the catalogue."""
        await self._ingests.aclose()
        self._catalogue.close()
