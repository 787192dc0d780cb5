"""Documents of one's own in collections: added, listed, searched, deleted, embedded anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.knobs import ChunkKnobs
from core.library.items import Item
from core.library.reports import Held, Ingest, Kept
from core.model import Collection, Excerpt, Neighbour
from core.ports import Collections, Embed

if TYPE_CHECKING:
    from core.adapters.web import SafeWeb
    from core.adapters.workers import Workers
    from core.bootstrap import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much may be added. Sizes are bytes."""

    file: int = 50_000_000
    """Of one document."""
    files: int = 2_000
    """Documents in one ingest."""
    total: int = 10_000_000_000
    """All kept files together."""
    folders: tuple[Path, ...] = ()
    """Folders on the server's disk that may be added from."""


class Ingesting:
    """An ingest under way in this process. Everything may be called from any thread, but for `wait`."""

    @property
    def id(self) -> str:
        raise NotImplementedError

    @property
    def progress(self) -> Ingest:
        """How it stands now."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Stop it. What is in the collection stays, a document that was half in is taken out again."""
        raise NotImplementedError

    async def wait(self) -> Ingest:
        """Return when it has ended."""
        raise NotImplementedError


class Library:
    """All collections of a data folder. Coroutines belong to the engine's loop (from a page: `runs.call(...)`).

    Every method that takes a collection's name raises `BadInput` when it cannot be one and `LibraryFailed`
    when the database does not answer or has no such collection. `access` is what a visitor brings, for an
    embedder that needs a key.
    """

    def __init__(
        self,
        *,
        folder: Path,
        collections: Collections,
        embedder: Callable[[Access | None], Awaitable[Embed]],
        workers: Workers,
        web: SafeWeb,
        bounds: Bounds,
    ) -> None:
        """`folder` is the data folder: library.sqlite and library/ are in it."""

    async def collections(self) -> tuple[Collection, ...]:
        """All collections, by name."""
        raise NotImplementedError

    async def create(self, name: str, *, access: Access | None = None) -> Collection:
        """An empty collection as wide as the embedder's vectors.

        Raises:
            LibraryFailed: also when there is one of another width or distance.
            EmbedFailed: when the embedder cannot be asked.
        """
        raise NotImplementedError

    async def drop(self, name: str) -> None:
        """Delete a collection with its documents; ingests into it are stopped."""
        raise NotImplementedError

    async def documents(self, name: str) -> tuple[Held, ...]:
        """The documents in it, latest first; those that other tools added come last."""
        raise NotImplementedError

    async def excerpts(
        self, name: str, document: str, after: str = "", limit: int = 50
    ) -> tuple[tuple[Excerpt, ...], str]:
        """The document's next excerpts in their order, and what to pass as `after` for more; "" at the end."""
        raise NotImplementedError

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
        """The excerpts most similar to `text`, best first.

        Raises:
            BadInput: when `text` is empty.
            LibraryFailed: also when the collection's vectors are of another width, distance or model.
            EmbedFailed: when the text cannot be embedded.
        """
        raise NotImplementedError

    async def ingest(
        self,
        name: str,
        items: Sequence[Item],
        *,
        knobs: ChunkKnobs | None = None,
        access: Access | None = None,
    ) -> Ingesting:
        """Begin to add documents, making the collection when there is none. Returns once they are written down.

        Raises:
            BadInput: when there is nothing to add, too much, or a folder that the operator does not allow.
            LibraryFailed: when the collection holds vectors of another width, distance or model.
            EmbedFailed: when the embedder cannot be asked.
            StoreFailed: when the data folder cannot be written.
        """
        raise NotImplementedError

    async def delete(self, name: str, document: str) -> None:
        """Take a document out of a collection; its file goes with the last collection that has it."""
        raise NotImplementedError

    async def reembed(
        self, name: str, *, knobs: ChunkKnobs | None = None, access: Access | None = None
    ) -> Ingesting:
        """Begin to make the collection anew with the current embedder.

        Documents are read again from their files; what other tools added keeps its contents, metadata and ids.

        Raises:
            BadInput: while documents are being added to it.
        """
        raise NotImplementedError

    async def file(self, document: str) -> Kept:
        """The document's file as it was added. One that was a run's page comes as its text.

        Raises:
            BadInput: when there is no such file.
        """
        raise NotImplementedError

    async def page_image(self, document: str, page: int) -> bytes:
        """A page of a PDF, counted from 1, as a PNG.

        Raises:
            BadInput: when there is no such PDF or page, or it cannot be drawn.
        """
        raise NotImplementedError

    def under_way(self, name: str = "") -> tuple[Ingesting, ...]:
        """The ingests that this process works on: into one collection, or all."""
        raise NotImplementedError

    async def unfinished(self) -> tuple[Ingest, ...]:
        """Ingests that a process left behind, which `resume` goes on with."""
        raise NotImplementedError

    async def resume(self, *, access: Access | None = None) -> tuple[Ingesting, ...]:
        """Go on with every ingest that was left behind. None is worked on by two processes."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Interrupt what is under way; it can be resumed."""
