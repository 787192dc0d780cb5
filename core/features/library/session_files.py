"""Documents of one session: on disk until read, then passages in memory.

They are deleted when the session ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import ChunkKnobs
from core.errors import INTERNAL_ERROR, INTERNAL_ERROR_HINT, BadInput, LibraryFailed, OpenQueryError
from core.features.library.add_document import embed_and_store, read_document
from core.features.library.document_files import digest_of
from core.features.library.ingests import IngestTask, TaskKind, TaskState
from core.features.library.search_ports import CombinedCollections, SearchableCollections
from core.model import LibraryPassage, Neighbour, SkipReason, Unreadable
from core.ports import Embed, Extract
from core.reading.file_types import DOCUMENTS, ZIP, kind_of
from core.text.sanitize import one_line

if TYPE_CHECKING:
    from core.config.access import Access

log = logging.getLogger(__name__)

SESSION = "session"
"""The collection name of the session's documents in a question."""
MOST_FILES = 20
"""The most files of one session."""
MOST_PASSAGES = 5_000
"""The most passages of one document."""

_NAME = 200
"""The most characters of a name."""
_EMBED_CALLS = 2
_IN_MEMORY = 2
"""The number of files in memory at the same time for reading."""


class SessionFilesPool:
    """The shared extractor, embedder and size limit for the files of all sessions."""

    def __init__(
        self,
        *,
        extract: Extract,
        embedder: Callable[[Access | None, str], Awaitable[Embed]],
        largest: int,
        memory_limit: int,
    ) -> None:
        """`largest` is the limit of one file, `memory_limit` of all, in bytes."""
        self.extract, self.embedder = extract, embedder
        self.largest, self.memory_limit = largest, memory_limit
        self.embed_slots = asyncio.Semaphore(_EMBED_CALLS)
        self.read_slots = asyncio.Semaphore(_IN_MEMORY)
        self._open: WeakSet[SessionFiles] = WeakSet()

    async def open(self) -> SessionFiles:
        """Return the files of a new session. Must run on the engine's loop."""
        files = SessionFiles(self)
        self._open.add(files)
        return files

    @property
    def memory(self) -> int:
        """Approximate bytes in memory, and of unread files on disk."""
        return sum(files.memory for files in self._open)


@dataclass(slots=True, kw_only=True)
class SessionFile:
    """A file with its passages and vectors. A newer file of the same name is a new object."""

    task: IngestTask
    """The name, media type and state of the file."""
    size: int
    """Bytes of the file."""
    unread: int
    """Bytes reserved for the file until its passages are complete."""
    points: dict[str, LibraryPassage] = field(default_factory=dict)
    """Passages by id."""
    vectors: NDArray[np.float32] | None = None
    """A row for each passage, in the same order."""
    work: asyncio.Task[None] | None = None

    @property
    def memory(self) -> int:
        """Approximate memory in bytes."""
        texts = sum(len(passage.content) for passage in self.points.values())
        return self.unread + texts + (0 if self.vectors is None else self.vectors.nbytes)

    async def get(self, _name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """Return the passages with these ids, without unknown ids."""
        return tuple(self.points[key] for key in ids if key in self.points)

    async def put(self, _name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        """Append passages with `vectors` of shape (len(passages), width)."""
        self.points |= {passage.id: passage for passage in passages}
        self.vectors = vectors if self.vectors is None else np.concatenate((self.vectors, vectors))
        self.vectors.flags.writeable = False

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[Neighbour]:
        """Return the passages most similar to `vector`, best first. Raises `LibraryFailed` for another width."""
        if self.vectors is None:
            return []
        if self.vectors.shape[1] != len(vector):
            message = f"{self.task.name} was embedded by another model than the question."
            raise LibraryFailed(message, hint="Send the file again.")
        passages, scores = tuple(self.points.values()), self.vectors @ vector
        return [
            Neighbour(passage=passages[row], score=float(scores[row]), vector=self.vectors[row])
            for row in np.argsort(-scores, kind="stable")[:limit]
        ]

    async def read(self, incoming: IO[bytes], access: Access, pool: SessionFilesPool) -> None:
        """Read and embed the file, and close it. A failure becomes its state."""
        try:
            await self._embed(incoming, access, pool)
        except OpenQueryError as error:
            self._fail(str(error))
        except Exception:
            log.exception("a file of a session failed unexpectedly")
            self._fail(f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}")
        finally:
            self.unread = 0

    def _fail(self, reason: str) -> None:
        self.points, self.vectors = {}, None
        self.task = replace(self.task, state=TaskState.FAILED, reason=reason, passages=0)

    async def _embed(self, incoming: IO[bytes], access: Access, pool: SessionFilesPool) -> None:
        embed = await pool.embedder(access, SESSION)
        async with pool.read_slots:
            self.task = task = replace(self.task, state=TaskState.READING)
            body = await asyncio.to_thread(_contents, incoming)
            task = replace(task, digest=digest_of(body))
            read = read_document(task, body, embed.identity, ChunkKnobs(), pool.extract)
            document, passages = await read
            del body
        incoming.close()
        if len(passages) > MOST_PASSAGES:
            raise Unreadable(
                SkipReason.TOO_LARGE,
                f"{len(passages):,} passages, where a session's file may have {MOST_PASSAGES:,}",
            )
        task = replace(task, state=TaskState.EMBEDDING, pages=document.pages, reason=document.left_out)

        def show_progress(count: int) -> None:
            self.task = replace(task, passages=count)

        show_progress(0)
        await embed_and_store(
            SESSION,
            passages,
            store=self,
            embed=embed,
            embed_slots=pool.embed_slots,
            on_progress=show_progress,
        )
        self.task = replace(task, state=TaskState.DONE, passages=len(passages))


class SessionFiles:
    """The documents of one session.

    All methods except `files` and `clear` must be called on the engine's loop.
    """

    def __init__(self, pool: SessionFilesPool) -> None:
        self._pool = pool
        self._files: dict[str, SessionFile] = {}
        self._combined: tuple[SearchableCollections, SearchableCollections] | None = None
        self._loop = asyncio.get_running_loop()
        self.identity = f"session {secrets.token_hex(8)}"

    @property
    def files(self) -> tuple[SessionFile, ...]:
        """The files in the order of adding."""
        return tuple(self._files.values())

    @property
    def memory(self) -> int:
        """Approximate memory in bytes."""
        return sum(file.memory for file in self.files)

    async def add(self, name: str, incoming: IO[bytes], access: Access) -> SessionFile:
        """Add a file, replacing a file of the same name.

        The file is read and embedded in the background, and then closed.

        Raises:
            BadInput: when it has no name, is too large or is no document, or there are too many files. An existing
                file of the same name then stays.
        """
        name, size = one_line(name, _NAME), os.fstat(incoming.fileno()).st_size
        try:
            media_type = await self._checked(name, size, incoming)
        except BaseException:
            incoming.close()
            raise
        self._drop(name)
        task = IngestTask(kind=TaskKind.FILE, name=name, media_type=media_type)
        file = self._files[name] = SessionFile(task=task, size=size, unread=size)
        file.work = asyncio.create_task(file.read(incoming, access, self._pool))
        file.work.add_done_callback(lambda _: incoming.close())  # also if the work never began
        return file

    async def _checked(self, name: str, size: int, incoming: IO[bytes]) -> str:
        """Return the media type of an acceptable file. Raises `BadInput` for any other."""
        if not name:
            raise BadInput("The file has no name.", hint="Give it one with an extension, such as .pdf.")
        if size > self._pool.largest:
            raise BadInput(
                f"The file has {size:,} bytes; the limit is {self._pool.largest:,}.",
                hint="Send it in parts, or ask the operator to raise OPENQUERY_FILE_MB.",
            )
        try:
            async with self._pool.read_slots:
                media_type = await asyncio.to_thread(lambda: kind_of(name, _contents(incoming)))
        except Unreadable as why:
            raise BadInput(f"{name} cannot be read: {why.detail}.", hint=f"Send {DOCUMENTS}.") from why
        if media_type == ZIP:
            raise BadInput(
                f"{name} is a zip archive, not a document.", hint="Send the files that are in it, one by one."
            )
        if name not in self._files and len(self._files) >= MOST_FILES:
            raise BadInput(
                f"A session has at most {MOST_FILES} files.", hint="Delete one that is no longer needed."
            )
        if self._pool.memory + size > self._pool.memory_limit:
            raise BadInput(
                "The sessions of this server have reached its limit of memory.",
                hint="Delete some that are no longer needed, or try again later.",
            )
        return media_type

    async def remove(self, name: str) -> bool:
        """Delete a file, and return whether it existed."""
        return self._drop(one_line(name, _NAME))

    def _drop(self, name: str) -> bool:
        file = self._files.pop(name, None)
        if file and file.work:
            file.work.cancel()
        return file is not None

    def clear(self) -> None:
        """Delete all files."""
        with suppress(RuntimeError):  # the loop has ended, and the files with it
            self._loop.call_soon_threadsafe(lambda: [self._drop(name) for name in tuple(self._files)])

    def combined_with(self, others: SearchableCollections) -> SearchableCollections:
        """Return these documents as collection `session`, with all other collections."""
        if self._combined is None or self._combined[0] is not others:
            combined = CombinedCollections(SESSION, self, others.collections)
            self._combined = others, SearchableCollections(combined)
        return self._combined[1]

    # --- as a collection ----------------------------------------------------------------------------------

    async def names(self) -> tuple[str, ...]:
        """Return the collection's name, once a file was added."""
        return (SESSION,) if self._files else ()

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        """Return the passages most similar to `vector`, by exact search.

        Raises:
            LibraryFailed: without passages, or when their vectors have another width.
        """
        neighbours = [neighbour for file in self.files for neighbour in file.nearest(vector, limit)]
        if not neighbours:
            raise LibraryFailed(
                "No file of this session has been read.",
                hint="Send one with PUT /session/files/NAME and wait until its state is done.",
            )
        return tuple(sorted(neighbours, key=lambda neighbour: -neighbour.score)[:limit])

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """Return the passages with these ids, without unknown ids."""
        return tuple(file.points[key] for key in ids for file in self.files if key in file.points)


def _contents(file: IO[bytes]) -> bytes:
    """Return the contents of a file. Blocks."""
    file.seek(0)
    return file.read()
