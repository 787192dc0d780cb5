"""Documents of one session: on disk until they are read, then their passages in memory, and deleted when it ends."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput, LibraryFailed, OpenQueryError
from core.library.incoming_file import IncomingFile
from core.library.search_ports import SearchableCollections
from core.library.session_document import SESSION, SessionDocument, SessionFile
from core.library.vector_database import PassageSearch
from core.model import LibraryPassage, Neighbour, Unreadable
from core.ports import Embed, Extract
from core.reading.file_types import DOCUMENTS, ZIP, kind_of
from core.text.sanitize import one_line

if TYPE_CHECKING:
    from core.config.access import Access

MOST_FILES = 20
"""Of one session."""
MOST_UPLOADS = 16
"""Files that a process receives at the same time."""

_NAME = 200
"""Characters of a name."""
_EMBED_CALLS = 2
_IN_MEMORY = 2
"""Files whose bytes are in memory at the same time, to be read."""


class TooManyUploads(OpenQueryError):
    """Other files are being received. Try again."""


class SessionFilesPool:
    """What the files of all sessions of a process share: extractor, embedder and a limit of their size."""

    def __init__(
        self,
        *,
        extract: Extract,
        embedder: Callable[[Access | None, str], Awaitable[Embed]],
        folder: Path,
        largest: int,
        memory_limit: int,
    ) -> None:
        """Files that have not been read lie in `folder`. `largest` is the limit of one, `memory_limit` that of all, in bytes."""
        self.extract, self.embedder, self.folder = extract, embedder, folder
        self.largest, self.memory_limit = largest, memory_limit
        self.embed_slots = asyncio.Semaphore(_EMBED_CALLS)
        self.read_slots = asyncio.Semaphore(_IN_MEMORY)
        self._receiving = 0
        self._open: WeakSet[SessionFiles] = WeakSet()

    def open(self) -> SessionFiles:
        files = SessionFiles(self)
        self._open.add(files)
        return files

    async def receive(self, chunks: AsyncIterable[bytes]) -> IncomingFile:
        """A file from a client, to be added or closed. May be called on any loop.

        Raises:
            TooManyUploads: while `MOST_UPLOADS` others are being received.
            LibraryFailed: when it cannot be written to disk.
        """
        if self._receiving >= MOST_UPLOADS:
            raise TooManyUploads(
                f"{MOST_UPLOADS} files are being received.", hint="Send this one again in a few seconds."
            )
        self._receiving += 1
        file: IncomingFile | None = None
        try:
            file = IncomingFile(self.folder)
            await file.receive(chunks)
        except BaseException as error:
            if file:
                file.close()
            if isinstance(error, OSError):
                raise LibraryFailed(
                    f"The file could not be received: {error.strerror}.",
                    hint="Check the space and rights of the data folder.",
                ) from error
            raise
        finally:
            self._receiving -= 1
        return file

    @property
    def memory(self) -> int:
        """Bytes in memory, and of files on disk that have not been read, approximately."""
        return sum(files.memory for files in self._open)


class SessionFiles:
    """The documents of one session. All but `files` and `clear` must be called on the engine's loop."""

    def __init__(self, pool: SessionFilesPool) -> None:
        self._pool = pool
        self._documents: dict[str, SessionDocument] = {}
        self._combined: tuple[SearchableCollections, SearchableCollections] | None = None
        self._loop = asyncio.get_running_loop()
        self.identity = f"session {secrets.token_hex(8)}"

    @property
    def files(self) -> tuple[SessionFile, ...]:
        """In the order in which they were added."""
        return tuple(document.file for document in tuple(self._documents.values()))

    @property
    def memory(self) -> int:
        """Memory in bytes, approximately."""
        return sum(document.memory for document in self._documents.values())

    async def add(self, name: str, incoming: IncomingFile, access: Access) -> SessionFile:
        """Add a file, replacing one of the same name; it is read and embedded in the background, and then closed.

        Raises:
            BadInput: when it has no name, is too large or is no document, or there are too many files. A file of
                the same name stays then.
        """
        try:
            content_type = await self._checked(name := one_line(name, _NAME), incoming)
        except BaseException:
            incoming.close()
            raise
        self._drop(name)
        file = SessionFile(name=name, size=incoming.size, content_type=content_type)
        document = SessionDocument(file=file, unread=incoming.size)
        self._documents[name] = document
        document.work = asyncio.create_task(document.read(incoming, access, self._pool))
        document.work.add_done_callback(lambda _: incoming.close())  # also where it never began
        return document.file

    async def _checked(self, name: str, incoming: IncomingFile) -> str:
        """The media type of a file that may be added. Raises BadInput as `add` does."""
        if not name:
            raise BadInput("The file has no name.", hint="Give it one with an extension, such as .pdf.")
        if incoming.size > self._pool.largest:
            raise BadInput(
                f"The file has {incoming.size:,} bytes; the limit is {self._pool.largest:,}.",
                hint="Send it in parts, or ask the operator to raise OPENQUERY_FILE_MB.",
            )
        async with self._pool.read_slots:
            content_type = await asyncio.to_thread(lambda: _document_type(name, incoming.read()))
        if name not in self._documents and len(self._documents) >= MOST_FILES:
            raise BadInput(
                f"A session has at most {MOST_FILES} files.", hint="Delete one that is no longer needed."
            )
        if self._pool.memory + incoming.size > self._pool.memory_limit:
            raise BadInput(
                "The sessions of this server have reached its limit of memory.",
                hint="Delete some that are no longer needed, or try again later.",
            )
        return content_type

    async def remove(self, name: str) -> bool:
        """Delete a file; False when there was none."""
        return self._drop(one_line(name, _NAME))

    def _drop(self, name: str) -> bool:
        document = self._documents.pop(name, None)
        if document and document.work:
            document.work.cancel()
        return document is not None

    def clear(self) -> None:
        """Delete all files."""

        def delete() -> None:
            for name in tuple(self._documents):
                self._drop(name)

        with suppress(RuntimeError):  # the loop has ended, and the files with it
            self._loop.call_soon_threadsafe(delete)

    def combined_with(self, others: SearchableCollections) -> SearchableCollections:
        """These documents under the name `session`, and all other collections as they are."""
        if self._combined is None or self._combined[0] is not others:
            self._combined = others, SearchableCollections(_SessionAndCollections(self, others.collections))
        return self._combined[1]

    # --- as a collection ----------------------------------------------------------------------------------

    async def names(self) -> tuple[str, ...]:
        """The collection's name, once a file was added."""
        return (SESSION,) if self._documents else ()

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        """The passages most similar to `vector`, by exact search.

        Raises:
            LibraryFailed: when there are none, or their vectors have another width.
        """
        found = [one for document in self._documents.values() for one in document.nearest(vector, limit)]
        if not found:
            raise LibraryFailed(
                "No file of this session has been read.",
                hint="Send one with PUT /session/files/NAME and wait until its state is done.",
            )
        return tuple(sorted(found, key=lambda one: -one.score)[:limit])

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        documents = tuple(self._documents.values())
        return tuple(one.passages[key] for key in ids for one in documents if key in one.passages)


class _SessionAndCollections:
    """A session's documents under the name `session`, and all other collections under theirs."""

    def __init__(self, files: SessionFiles, others: PassageSearch) -> None:
        self.files, self.others = files, others

    @property
    def identity(self) -> str:
        return f"{self.others.identity} and {self.files.identity}"

    async def names(self) -> tuple[str, ...]:
        return (*await self.files.names(), *await self.others.names())

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        return await self._named(name).nearest(name, vector, limit)

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        return await self._named(name).get(name, ids)

    def _named(self, name: str) -> PassageSearch:
        return self.files if name == SESSION else self.others


def _document_type(name: str, body: bytes) -> str:
    """The media type of a document, by its bytes first.

    Raises:
        BadInput: when the bytes are no document.
    """
    try:
        media_type = kind_of(name, body)
    except Unreadable as why:
        raise BadInput(f"{name} cannot be read: {why.detail}.", hint=f"Send {DOCUMENTS}.") from why
    if media_type == ZIP:
        raise BadInput(
            f"{name} is a zip archive, not a document.", hint="Send the files that are in it, one by one."
        )
    return media_type
