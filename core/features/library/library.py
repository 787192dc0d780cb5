"""The document library: collections of a person's own documents, to add to, list, search, delete and re-embed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol

from core.errors import BadInput, LibraryFailed
from core.features.library.add_document import IngestPorts, Read, read_document
from core.features.library.catalogue import Catalogue
from core.features.library.catalogue_schema import LIBRARY
from core.features.library.document_files import PAGE, DocumentFiles, StoredFile, page_from_json
from core.features.library.fetch_task import Fetch
from core.features.library.ingest_runner import IngestRunner
from core.features.library.ingests import IngestLimits
from core.features.library.vector_database import Collections, check_embedder, open_or_create
from core.model import Collection, LibraryDocument, LibraryPassage, Neighbour, Unreadable
from core.model.library import SOURCE_KEY, checked_name, passage_id
from core.ports import Embed, Extract
from core.reading.file_types import PDF
from core.text.sanitize import one_line

if TYPE_CHECKING:
    from core.config.access import Access


_MOST_CONCURRENT_DOCUMENTS = 8
_EMBED_CALLS = 2
_MOST_FOREIGN = 1_000
"""The most listed documents of other tools in one collection."""
_EXAMPLE_QUESTIONS = 3
_TITLE = 80
"""Characters of a title in an example question."""
_MOST_ON_PAGE = 1_000
"""The most passages of one page."""


class ReadingPool(Extract, Protocol):
    """An `Extract` over worker processes, which also draw pages of PDFs."""

    @property
    def count(self) -> int:
        """The number of documents read concurrently."""

    async def draw(self, body: bytes, page: int, width: int) -> bytes:
        """Draw a page of a PDF, from 1, as a PNG at most `width` pixels wide. Raises `Unreadable`."""


class ReadJobs(Read, Protocol):
    """A `Read` on workers."""

    @property
    def count(self) -> int:
        """The number of documents read concurrently."""


class Library:
    """All collections of a data folder. Coroutines run on the engine's loop (from a page: `runs.call(...)`).

    `name` is a collection's name. `access` is a visitor's access, for an embedder that needs a key.

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
        jobs: ReadJobs | None = None,
    ) -> None:
        """`folder` is the data folder, with library.sqlite and documents/.

        With `jobs`, documents are read there instead of by `workers`, as many at a time as they allow.
        """
        at_once = jobs.count + 2 if jobs else min(workers.count + 2, _MOST_CONCURRENT_DOCUMENTS)
        self.limits = limits
        """The limits of ingests and of the library."""
        self._files = DocumentFiles(folder / "documents")
        self._catalogue = Catalogue(folder / LIBRARY, self._files)
        self._collections = collections
        self._embedder = embedder
        self._workers = workers
        self._ports = IngestPorts(
            catalogue=self._catalogue,
            collections=collections,
            extract=workers,
            read=jobs or partial(read_document, extract=workers),
            web=web,
            limits=limits,
            concurrency=at_once,
            embed_slots=asyncio.Semaphore(at_once if jobs else _EMBED_CALLS),
        )
        self.ingests = IngestRunner(folder / "documents" / "leases", self._ports, embedder)
        """Adds documents to collections, and embeds them again."""

    # --- collections --------------------------------------------------------------------------------------

    async def collections(self) -> dict[str, Collection | LibraryFailed]:
        """Return every collection by name, or the error of opening it.

        Raises:
            LibraryFailed: when the database cannot list them.
        """
        names = await self._collections.names()
        described = dict(zip(names, await asyncio.gather(*map(self._describe, names)), strict=True))
        if any(isinstance(outcome, LibraryFailed) for outcome in described.values()):
            names = await self._collections.names()  # a collection that was deleted meanwhile is no failure
        return {name: outcome for name, outcome in described.items() if name in names}

    async def _describe(self, name: str) -> Collection | LibraryFailed:
        try:
            return await self._collections.about(name, wait=False)
        except LibraryFailed as why:
            return why

    async def collection(self, name: str) -> Collection:
        """Return a collection.

        Raises:
            CollectionMissing: when there is none of this name.
        """
        return await self._collections.about(checked_name(name))

    async def create(self, name: str, *, access: Access | None = None) -> Collection:
        """Create an empty collection for the current embedder, unless a fitting one exists.

        Raises:
            LibraryFailed: also when a collection of another width, distance or model exists.
            EmbedFailed: when the embedder cannot be asked.
        """
        name = checked_name(name)
        return await open_or_create(self._collections, name, await self._embedder(access, name))

    async def embedder(self, name: str, access: Access | None = None) -> str:
        """Return the identity of a collection's current embedder.

        Raises:
            ChatFailed: when its server cannot be asked.
        """
        return (await self._embedder(access, name)).identity

    async def drop(self, name: str) -> None:
        """Delete a collection with its documents, and stop all ingests into it."""
        name = checked_name(name)
        async with self.ingests.stopped(name):
            await self._collections.drop(name)
            await asyncio.to_thread(self._catalogue.delete_documents, name)

    # --- documents ----------------------------------------------------------------------------------------

    async def documents(self, name: str) -> tuple[LibraryDocument, ...]:
        """Return the documents in a collection, latest first.

        The 1,000 largest documents of other tools follow.
        """
        name = checked_name(name)
        adding = [task for ingest in self.ingests.running(name) for task in ingest.progress.tasks]
        documents = await asyncio.to_thread(self._catalogue.documents, name)
        ours = {document.digest for document in documents} | {task.document for task in adding}
        counted = await self._collections.documents(name, len(documents) + len(adding) + _MOST_FOREIGN)
        foreign = [document for document in counted if document.digest not in ours or not document.digest]

        return (*documents, *foreign[:_MOST_FOREIGN])

    async def example_questions(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Return questions made of the titles of documents.

        `names` are the collections, by default all.
        """
        questions: list[str] = []
        for name in names or await self._collections.names():
            if len(questions) < _EXAMPLE_QUESTIONS:
                questions.extend(_questions_about(await self.documents(name)))
        return tuple(questions[:_EXAMPLE_QUESTIONS])

    async def document(self, name: str, key: str) -> LibraryDocument | None:
        """Return the document with this key, or None."""
        document = await asyncio.to_thread(self._catalogue.document, checked_name(name), key)
        return document or next((d for d in await self.documents(name) if d.key == key), None)

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

    async def delete(self, name: str, key: str) -> None:
        """Delete a document from a collection, and its file if no other collection has it.

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
        """Return the `limit` passages most similar to `text`, best first.

        `where` is required metadata, such as `{"source": "mills.pdf", "page": 3}`. `exact` compares with every passage
        instead of an approximate index.

        Raises:
            BadInput: when `text` is empty.
            LibraryFailed: also when the collection's vectors are of another width, distance or model.
            EmbedFailed: when the text cannot be embedded.
        """
        name = checked_name(name)
        if not text.strip():
            raise BadInput("There is nothing to search for.", hint="Type a few words.")
        embed = await self._embedder(access, name)
        (vector,) = (await embed([text])).vectors
        neighbours = await self._collections.nearest(name, vector, limit, where, exact=exact)
        for neighbour in neighbours:
            check_embedder(name, neighbour.passage.embedder, embed.identity)
        return neighbours

    async def file(self, key: str) -> StoredFile:
        """Return a document's file as it was added, or the text of a run's page.

        Raises:
            BadInput: for a missing file.
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
        """Draw a page of a PDF, from 1, as a PNG at most `width` pixels wide.

        Raises:
            BadInput: when the PDF or page is missing, or cannot be drawn.
        """
        file = await self.file(key)
        if file.media_type != PDF:
            raise BadInput("Only pages of PDFs are drawn.", hint="Read the document's text instead.")
        try:
            return await self._workers.draw(file.body, page, width)
        except Unreadable as why:
            raise BadInput(f"Page {page} cannot be drawn: {why.detail or why.reason}.") from why

    async def aclose(self) -> None:
        """Interrupt the running ingests, which can be resumed, and close the catalogue."""
        await self.ingests.aclose()
        self._catalogue.close()


def _questions_about(documents: Iterable[LibraryDocument]) -> Iterable[str]:
    """Return a question about each document with passages.

    Documents with titles come first, then documents with only a file name.
    """
    titled_first = sorted((d for d in documents if d.passages), key=lambda document: not document.title)
    names = (d.title or (d.source if "://" in d.source else PurePath(d.source).stem) for d in titled_first)
    titles = (one_line(name, _TITLE) for name in names)
    return (f"What does “{title}” say?" for title in dict.fromkeys(filter(None, titles)))


def document_filter(key: str) -> dict[str, str | int]:
    """Return the metadata filter for the passages of the document with this key."""
    if key.startswith(SOURCE_KEY):
        return {"source": key.removeprefix(SOURCE_KEY)}
    return {"document": key}
