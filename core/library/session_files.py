"""Documents of one session, in memory: added, searched by its questions alone, and deleted when it ends."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import ChunkKnobs
from core.errors import INTERNAL_ERROR, INTERNAL_ERROR_HINT, BadInput, LibraryFailed, OpenQueryError
from core.library.add_document import embed_and_store, library_passages
from core.library.document_files import digest_of
from core.library.ingests import TaskState
from core.library.search_ports import SearchableCollections
from core.model import Document, Extractor, LibraryPassage, Neighbour, SkipReason, Unreadable
from core.ports import Embed, Extract, PassageSearch
from core.reading.file_types import ZIP, kind_of
from core.text.sanitize import one_line

if TYPE_CHECKING:
    from core.config.access import Access

log = logging.getLogger(__name__)

SESSION = "session"
"""The collection name under which a question finds these documents."""

MOST_FILES = 20
"""Of one session."""
MOST_PASSAGES = 5_000
"""Passages of one document."""
MEMORY = 500_000_000
"""Memory of all sessions of a process in bytes: texts, vectors, and files that wait to be read."""

_NAME = 200
"""Characters of a name."""
_EMBED_CALLS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A file of a session, and its state."""

    name: str
    size: int
    """Bytes of the file."""
    state: TaskState = TaskState.WAITING
    reason: str = ""
    """Why it failed, or what of it was left out."""
    pages: int = 0
    passages: int = 0
    """That can be found so far."""


@dataclass(slots=True, kw_only=True)
class _SessionDocument:
    """A file with its passages and vectors. A newer file of the same name is another document."""

    file: SessionFile
    unread: int
    """Bytes of the file while it has not been read."""
    passages: dict[str, LibraryPassage] = field(default_factory=dict)
    vectors: NDArray[np.float32] | None = None
    """A row for each passage, in their order."""
    work: asyncio.Task[None] | None = None

    @property
    def memory(self) -> int:
        """Memory in bytes, approximately."""
        texts = sum(len(one.content) for one in self.passages.values())
        return self.unread + texts + (0 if self.vectors is None else self.vectors.nbytes)

    async def get(self, _name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        return tuple(self.passages[one] for one in ids if one in self.passages)

    async def put(self, _name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        self.passages |= {one.id: one for one in passages}
        self.vectors = vectors if self.vectors is None else np.concatenate((self.vectors, vectors))
        self.vectors.flags.writeable = False

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[Neighbour]:
        """The passages most similar to `vector`, best first.

        Raises:
            LibraryFailed: when the vectors have another width.
        """
        if self.vectors is None:
            return []
        if self.vectors.shape[1] != len(vector):
            raise LibraryFailed(
                f"{self.file.name} was embedded by another model than the question.",
                hint="Send the file again.",
            )
        passages, scores = tuple(self.passages.values()), self.vectors @ vector
        return [
            Neighbour(passage=passages[row], score=float(scores[row]), vector=self.vectors[row])
            for row in np.argsort(-scores, kind="stable")[:limit]
        ]


class SessionFilesPool:
    """What the files of all sessions of a process share: extractor, embedder and a limit of memory."""

    def __init__(
        self,
        *,
        extract: Extract,
        embedder: Callable[[Access | None], Awaitable[Embed]],
        largest: int,
        memory_limit: int = MEMORY,
    ) -> None:
        """`largest` is the limit of one file, `memory_limit` that of all files together in memory, in bytes."""
        self.extract, self.embedder, self.largest, self.memory_limit = (
            extract,
            embedder,
            largest,
            memory_limit,
        )
        self.embed_slots = asyncio.Semaphore(_EMBED_CALLS)
        self._open: WeakSet[SessionFiles] = WeakSet()

    def open(self) -> SessionFiles:
        files = SessionFiles(self)
        self._open.add(files)
        return files

    @property
    def memory(self) -> int:
        """Memory in bytes, approximately."""
        return sum(files.memory for files in self._open)


class SessionFiles:
    """The documents of one session. All but `files` and `clear` must be called on the engine's loop."""

    def __init__(self, pool: SessionFilesPool) -> None:
        self._pool = pool
        self._documents: dict[str, _SessionDocument] = {}
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

    async def add(self, name: str, body: bytes, access: Access) -> SessionFile:
        """Add a file, replacing one of the same name; it is read and embedded in the background.

        Raises:
            BadInput: when it has no name or is too large, or there are too many files.
        """
        name = one_line(name, _NAME)
        if not name:
            raise BadInput("The file has no name.", hint="Give it one with an extension, such as .pdf.")
        if name not in self._documents and len(self._documents) >= MOST_FILES:
            raise BadInput(
                f"A session has at most {MOST_FILES} files.", hint="Delete one that is no longer needed."
            )
        if len(body) > self._pool.largest:
            raise BadInput(
                f"The file has {len(body):,} bytes; the limit is {self._pool.largest:,}.",
                hint="Send it in parts, or ask the operator to raise OPENQUERY_FILE_MB.",
            )
        if self._pool.memory + len(body) > self._pool.memory_limit:
            raise BadInput(
                "The sessions of this server have reached its limit of memory.",
                hint="Delete some that are no longer needed, or try again later.",
            )
        self._drop(name)
        document = _SessionDocument(file=SessionFile(name=name, size=len(body)), unread=len(body))
        self._documents[name] = document
        document.work = asyncio.create_task(self._read(document, body, access))
        return document.file

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

    # --- reading ------------------------------------------------------------------------------------------

    async def _read(self, document: _SessionDocument, body: bytes, access: Access) -> None:
        try:
            await self._embed(document, body, access)
        except Unreadable as why:
            self._failed(document, str(why))
        except OpenQueryError as error:
            self._failed(document, f"{error.message} {error.hint}".strip())
        except Exception:
            log.exception("a file of a session failed unexpectedly")
            self._failed(document, f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}")
        finally:
            document.unread = 0

    def _failed(self, document: _SessionDocument, reason: str) -> None:
        document.passages, document.vectors = {}, None
        document.file = replace(document.file, state=TaskState.FAILED, reason=reason, passages=0)

    async def _embed(self, document: _SessionDocument, body: bytes, access: Access) -> None:
        document.file = file = replace(document.file, state=TaskState.READING)
        media_type = await asyncio.to_thread(kind_of, file.name, body)
        if media_type == ZIP:
            raise Unreadable(SkipReason.UNSUPPORTED, "a zip; send the files that are in it")
        source = Document(url=file.name, status=200, media_type=media_type, charset=None, body=body)
        article = await self._pool.extract(source, Extractor.ACCURATE)
        embed = await self._pool.embedder(access)
        passages = await asyncio.to_thread(
            library_passages,
            article,
            document=digest_of(body),
            source=file.name,
            url="",
            added_at=datetime.now(UTC).isoformat(timespec="seconds"),
            embedder=embed.identity,
            knobs=ChunkKnobs(),
        )
        if len(passages) > MOST_PASSAGES:
            raise Unreadable(
                SkipReason.TOO_LARGE,
                f"{len(passages):,} passages, where a session's file may have {MOST_PASSAGES:,}",
            )
        pages = len(article.page_starts)
        file = replace(file, state=TaskState.EMBEDDING, pages=pages, reason=article.left_out)

        def on_progress(count: int) -> None:
            document.file = replace(file, passages=count)

        on_progress(0)
        await embed_and_store(
            SESSION,
            passages,
            store=document,
            embed=embed,
            embed_slots=self._pool.embed_slots,
            on_progress=on_progress,
        )
        document.file = replace(file, state=TaskState.DONE, passages=len(passages))


class _SessionAndCollections:
    """A session's documents under the name `session`, and all other collections under theirs."""

    def __init__(self, files: SessionFiles, others: PassageSearch) -> None:
        self.files, self.others = files, others

    @property
    def identity(self) -> str:
        return f"{self.others.identity} and {self.files.identity}"

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        return await self._named(name).nearest(name, vector, limit)

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        return await self._named(name).get(name, ids)

    def _named(self, name: str) -> PassageSearch:
        return self.files if name == SESSION else self.others
