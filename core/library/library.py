"""Documents of one's own in collections: added, listed, searched, deleted, embedded anew."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.config.knobs import ChunkKnobs
from core.errors import BadInput, LibraryFailed
from core.library.catalogue import Catalogue
from core.library.compatibility import opened, refuse_others
from core.library.document_files import DocumentFiles
from core.library.document_reader import DocumentReader, key_of, where_is
from core.library.ingest_records import Entry
from core.library.ingest_reports import Held, Ingest, Kept
from core.library.ingest_runner import IngestRunner
from core.library.ingest_sources import IngestSource
from core.library.ingest_tasks import IngestPorts, RunningIngest
from core.library.plan_ingest import IngestLimits
from core.library.run_page_documents import PAGE, read_page
from core.model import Collection, Neighbour, Unreadable
from core.model.library import checked_name
from core.ports import Collections, Embed
from core.reading.file_types import PDF

if TYPE_CHECKING:
    from core.adapters.web.extraction_pool import ExtractionPool
    from core.adapters.web.safe_client import SafeWeb
    from core.config.access import Access


_MOST_DOCUMENTS_AT_ONCE = 8
_EMBED_CALLS = 2
_MOST_OTHERS = 1_000
"""Documents of other tools in one collection that are listed."""


class Library:
    """All collections of a data folder. Coroutines belong to the engine's loop (from a page: `runs.call(...)`).

    Every method that takes a collection's name raises `BadInput` when it cannot be one and `LibraryFailed`
    when the database does not answer or has no such collection; `StoreFailed` when the data folder cannot be
    read or written. `access` is what a visitor brings, for an embedder that needs a key.
    """

    def __init__(
        self,
        *,
        folder: Path,
        collections: Collections,
        embedder: Callable[[Access | None], Awaitable[Embed]],
        workers: ExtractionPool,
        web: SafeWeb,
        bounds: IngestLimits,
    ) -> None:
        """`folder` is the data folder: library.sqlite and documents/ are in it."""
        self.bounds = bounds
        """How much may be added."""
        self._folder = folder / "documents"
        self._files = DocumentFiles(self._folder)
        self._catalogue = Catalogue(folder / "library.sqlite", self._files)
        self.leaves = DocumentReader(collections, self._catalogue)
        """For reading in documents."""
        self._collections = collections
        self._embedder = embedder
        self._workers = workers
        self._means = IngestPorts(
            catalogue=self._catalogue,
            collections=collections,
            extract=workers,
            web=web,
            bounds=bounds,
            at_once=min(workers.count + 2, _MOST_DOCUMENTS_AT_ONCE),
            turns=asyncio.Semaphore(_EMBED_CALLS),
        )
        self._ingests = IngestRunner(self._folder / "leases", self._means, embedder)

    # --- collections --------------------------------------------------------------------------------------

    async def collections(self) -> dict[str, Collection | LibraryFailed]:
        """Every collection by its name, or why it cannot be opened now.

        Raises:
            LibraryFailed: when the database does not even name them.
        """
        names = await self._collections.names()
        found = await asyncio.gather(*map(self._about, names))
        if any(isinstance(one, LibraryFailed) for one in found):
            there = await self._collections.names()  # what was deleted meanwhile is no failure
            return {name: one for name, one in zip(names, found, strict=True) if name in there}
        return dict(zip(names, found, strict=True))

    async def _about(self, name: str) -> Collection | LibraryFailed:
        try:
            return await self._collections.about(name, wait=False)
        except LibraryFailed as why:
            return why

    async def create(self, name: str, *, access: Access | None = None) -> Collection:
        """An empty collection as wide as the embedder's vectors; one of that name that fits is left as it is.

        Raises:
            LibraryFailed: also when there is one of another width, distance or model.
            EmbedFailed: when the embedder cannot be asked.
        """
        return await opened(self._collections, checked_name(name), await self._embedder(access))

    async def embedder(self, access: Access | None = None) -> str:
        """The identity of the model that embeds questions and documents now.

        Raises:
            ChatFailed: when the server that has it cannot be asked.
        """
        return (await self._embedder(access)).identity

    async def drop(self, name: str) -> None:
        """Delete a collection with its documents; ingests into it are stopped, those left behind too."""
        name = checked_name(name)
        async with self._ingests.ended(name):
            await self._collections.drop(name)
            await asyncio.to_thread(self._catalogue.forget, name)

    # --- documents ----------------------------------------------------------------------------------------

    async def documents(self, name: str) -> tuple[Held, ...]:
        """The documents in it, latest first; those that other tools added come last, the 1,000 largest of them."""
        name = checked_name(name)
        ingests = self.under_way(name)
        entries = await asyncio.to_thread(self._catalogue.entries, name)
        ours = len(entries) + sum(len(ingest.progress.reports) for ingest in ingests)
        holdings = await self._collections.holdings(name, ours + _MOST_OTHERS)
        kept = await asyncio.to_thread(
            lambda: {entry.digest for entry in entries if entry.digest in self._files}
        )
        known = {entry.digest for entry in entries}
        partial = {task.document for ingest in ingests for task in ingest.progress.reports}
        others = [
            Held(
                key=key_of(one.document, one.source),
                source=one.source,
                passages=one.passages,
            )
            for one in holdings
            if one.document not in known and not (one.document and one.document in partial)
        ][:_MOST_OTHERS]
        return (*(_held(entry, entry.digest in kept) for entry in entries), *others)

    async def document(self, name: str, key: str) -> Held | None:
        """The document with this key; None when it is not in the collection."""
        entry = await asyncio.to_thread(self._catalogue.entry, checked_name(name), key)
        if entry is None:
            return next((one for one in await self.documents(name) if one.key == key), None)
        return _held(entry, await asyncio.to_thread(self._files.__contains__, key))

    async def delete(self, name: str, document: str) -> None:
        """Take a document out of a collection; its file goes with the last collection that has it.

        Raises:
            BadInput: while it is being added.
        """
        name = checked_name(name)
        if (name, document) in self._means.active:
            raise BadInput(
                "This document is being added just now.", hint="Stop that first, or wait for its end."
            )
        await self._collections.remove(name, where_is(document))
        await asyncio.to_thread(self._catalogue.forget, name, document)

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

        Raises:
            BadInput: when `text` is empty.
            LibraryFailed: also when the collection's vectors are of another width, distance or model.
            EmbedFailed: when the text cannot be embedded.
        """
        name = checked_name(name)
        if not text.strip():
            raise BadInput("There is nothing to search for.", hint="Type a few words.")
        embed = await self._embedder(access)
        (vector,) = await embed([text])
        found = await self._collections.nearest(name, vector, limit, where, exact=exact)
        for one in found:
            refuse_others(name, one.passage.embedder, embed.identity)
        return found

    async def file(self, document: str) -> Kept:
        """The document's file as it was added. One that was a run's page comes as its text.

        Raises:
            BadInput: when there is no such file.
        """
        entry = await asyncio.to_thread(self._catalogue.anywhere, document)
        body = await asyncio.to_thread(self._files.get, document) if entry else None
        if entry is None or body is None:
            raise BadInput("There is no such file.", hint="Its document may have been deleted.")
        if entry.media_type == PAGE:
            text = (await asyncio.to_thread(read_page, body)).article.text
            return Kept(name=f"{entry.title or 'page'}.txt", media_type="text/plain", body=text.encode())
        return Kept(name=entry.source, media_type=entry.media_type, body=body)

    async def page_image(self, document: str, page: int, width: int = 1_000) -> bytes:
        """A page of a PDF, counted from 1, as a PNG at most `width` pixels wide.

        Raises:
            BadInput: when there is no such PDF or page, or it cannot be drawn.
        """
        kept = await self.file(document)
        if kept.media_type != PDF:
            raise BadInput("Only pages of PDFs are drawn.", hint="Read the document's text instead.")
        try:
            return await self._workers.draw(kept.body, page, width)
        except Unreadable as why:
            raise BadInput(f"Page {page} cannot be drawn: {why.detail or why.reason}.") from why

    # --- ingests ------------------------------------------------------------------------------------------

    async def ingest(
        self,
        name: str,
        items: Sequence[IngestSource],
        *,
        knobs: ChunkKnobs | None = None,
        access: Access | None = None,
    ) -> RunningIngest:
        """Begin to add documents, making the collection when there is none. Returns once they are written down.

        Raises:
            BadInput: when there is nothing to add, too much, or a folder that the operator does not allow; while
                the collection is being embedded anew.
            LibraryFailed: when the collection holds vectors of another width, distance or model.
            EmbedFailed: when the embedder cannot be asked.
        """
        return await self._ingests.begin(checked_name(name), items, knobs, access)

    async def reembed(
        self, name: str, *, knobs: ChunkKnobs | None = None, access: Access | None = None
    ) -> RunningIngest:
        """Begin to make the collection anew with the current embedder.

        Documents are read again from their files; what other tools added keeps its contents, metadata and ids.

        Raises:
            BadInput: while documents are being added to it, or it is being embedded anew already.
            EmbedFailed: when the embedder cannot be asked.
        """
        return await self._ingests.begin_anew(checked_name(name), knobs, access)

    def under_way(self, name: str = "") -> tuple[RunningIngest, ...]:
        """The ingests that this process works on: into one collection, or all. For any thread."""
        return self._ingests.under_way(name)

    async def latest(self, name: str) -> Ingest | None:
        """The ingest into a collection that ended last; None when there was none."""
        return await self._ingests.latest(checked_name(name))

    async def unfinished(self) -> tuple[Ingest, ...]:
        """Ingests that a process left behind, which `resume` goes on with."""
        return await self._ingests.unfinished()

    async def resume(self, *, access: Access | None = None) -> tuple[RunningIngest, ...]:
        """Go on with every ingest that was left behind. None is worked on by two processes.

        One whose collection or embedder is not what it was stays unfinished, and says why in its message.
        """
        return await self._ingests.resume(access)

    async def aclose(self) -> None:
        """Interrupt what is under way; it can be resumed."""
        await self._ingests.aclose()
        self._catalogue.close()


def _held(entry: Entry, kept: bool) -> Held:
    return Held(
        key=entry.digest,
        source=entry.source,
        passages=entry.passages,
        title=entry.title,
        url=entry.url,
        media_type=entry.media_type,
        size=entry.size,
        pages=entry.pages,
        embedder=entry.embedder,
        added_at=entry.added_at,
        kept=kept,
    )
