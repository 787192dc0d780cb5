"""Documents that a visitor lays beside the questions of one session: in memory, and gone when it ends."""

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
from core.library.add_document import library_passages, put_all
from core.library.document_files import digest_of
from core.library.ingest_reports import TaskState
from core.library.search_ports import Findable, SearchableCollection
from core.model import Document, Extractor, LibraryPassage, Neighbour, SkipReason, Unreadable
from core.ports import Embed, Extract
from core.reading.file_types import ZIP, kind_of
from core.text.sanitize import one_line

if TYPE_CHECKING:
    from core.config.access import Access

log = logging.getLogger(__name__)

SESSION = "session"
"""The name by which a question chooses these documents, as it chooses a collection."""

MOST_FILES = 20
"""Of one session."""
MOST_PASSAGES = 5_000
"""Passages of one document."""
ROOM = 500_000_000
"""Bytes of all sessions of a process: texts, vectors, and the files that wait to be read."""

_NAME = 200
"""Characters of a name."""
_EMBED_CALLS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A file that a session has, and how far it is."""

    name: str
    size: int
    """Bytes of the file."""
    state: TaskState = TaskState.WAITING
    reason: str = ""
    """Why it failed, or what of it was left out."""
    pages: int = 0
    passages: int = 0
    """That are found by now."""


@dataclass(slots=True, kw_only=True)
class _Kept:
    """A document with what is kept of it. A newer one of the same name is another one."""

    file: SessionFile
    waiting: int
    """Bytes of a file that has not been read."""
    passages: dict[str, LibraryPassage] = field(default_factory=dict)
    vectors: NDArray[np.float32] | None = None
    """A row for each passage, in their order."""
    work: asyncio.Task[None] | None = None

    @property
    def held(self) -> int:
        """Bytes, about."""
        texts = sum(len(one.content) for one in self.passages.values())
        return self.waiting + texts + (0 if self.vectors is None else self.vectors.nbytes)

    async def get(self, _name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        return tuple(self.passages[one] for one in ids if one in self.passages)

    async def put(self, _name: str, passages: Sequence[LibraryPassage], vectors: NDArray[np.float32]) -> None:
        self.passages |= {one.id: one for one in passages}
        self.vectors = vectors if self.vectors is None else np.concatenate((self.vectors, vectors))
        self.vectors.flags.writeable = False

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[Neighbour]:
        """Raises LibraryFailed: when the vectors are of another width."""
        if self.vectors is None:
            return []
        if self.vectors.shape[1] != len(vector):
            raise LibraryFailed(
                f"{self.file.name} was embedded by another model than the question.", hint="Send it again."
            )
        passages, scores = tuple(self.passages.values()), self.vectors @ vector
        return [
            Neighbour(passage=passages[row], score=float(scores[row]), vector=self.vectors[row])
            for row in np.argsort(-scores, kind="stable")[:limit]
        ]


class FilesOfSessions:
    """The files of all sessions of a process: what they share, and how much they hold together."""

    def __init__(
        self,
        *,
        extract: Extract,
        embedder: Callable[[Access | None], Awaitable[Embed]],
        largest: int,
        room: int = ROOM,
    ) -> None:
        """`largest` is how many bytes a file may have, `room` how many all files together may take in memory."""
        self.extract, self.embedder, self.largest, self.room = extract, embedder, largest, room
        self.turns = asyncio.Semaphore(_EMBED_CALLS)
        self._open: WeakSet[SessionFiles] = WeakSet()

    def open(self) -> SessionFiles:
        files = SessionFiles(self)
        self._open.add(files)
        return files

    @property
    def held(self) -> int:
        """Bytes, about."""
        return sum(files.held for files in self._open)


class SessionFiles:
    """One visitor's documents. All calls belong to the engine's loop, but for `files` and `clear`."""

    def __init__(self, every: FilesOfSessions) -> None:
        self._all = every
        self._kept: dict[str, _Kept] = {}
        self._beside: tuple[SearchableCollection, SearchableCollection] | None = None
        self._loop = asyncio.get_running_loop()
        self.identity = f"session {secrets.token_hex(8)}"

    @property
    def files(self) -> tuple[SessionFile, ...]:
        """In the order in which they came."""
        return tuple(kept.file for kept in tuple(self._kept.values()))

    @property
    def held(self) -> int:
        """Bytes, about."""
        return sum(kept.held for kept in self._kept.values())

    async def add(self, name: str, body: bytes, access: Access) -> SessionFile:
        """Take a document, in the place of one of the same name; it is read and embedded in the background.

        Raises:
            BadInput: when it has no name or no room.
        """
        name = one_line(name, _NAME)
        if not name:
            raise BadInput("The file has no name.", hint="Give it one that ends in what it is, such as .pdf.")
        if name not in self._kept and len(self._kept) >= MOST_FILES:
            raise BadInput(
                f"A session has at most {MOST_FILES} files.", hint="Delete one that is no longer needed."
            )
        if len(body) > self._all.largest:
            raise BadInput(
                f"The file has {len(body):,} bytes; the limit is {self._all.largest:,}.",
                hint="Send it in parts, or ask the operator to raise OPENQUERY_FILE_MB.",
            )
        if self._all.held + len(body) > self._all.room:
            raise BadInput(
                "The server keeps as many files of sessions as it can for now.",
                hint="Delete some that are no longer needed, or try again later.",
            )
        self._drop(name)
        kept = _Kept(file=SessionFile(name=name, size=len(body)), waiting=len(body))
        self._kept[name] = kept
        kept.work = asyncio.create_task(self._read(kept, body, access))
        return kept.file

    async def remove(self, name: str) -> bool:
        """Forget a document; whether there was one."""
        return self._drop(one_line(name, _NAME))

    def _drop(self, name: str) -> bool:
        kept = self._kept.pop(name, None)
        if kept and kept.work:
            kept.work.cancel()
        return kept is not None

    def clear(self) -> None:
        """Forget everything."""

        def forget() -> None:
            for name in tuple(self._kept):
                self._drop(name)

        with suppress(RuntimeError):  # the loop has ended, and the files with it
            self._loop.call_soon_threadsafe(forget)

    def beside(self, shelf: SearchableCollection) -> SearchableCollection:
        """The visitor's documents under the name `session`, and all others where they were."""
        if self._beside is None or self._beside[0] is not shelf:
            self._beside = shelf, SearchableCollection(_Both(self, shelf.collections))
        return self._beside[1]

    # --- as a collection ----------------------------------------------------------------------------------

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        """The passages most similar to `vector`, compared with every one.

        Raises:
            LibraryFailed: when there are none, or they are of another width.
        """
        found = [one for kept in self._kept.values() for one in kept.nearest(vector, limit)]
        if not found:
            raise LibraryFailed(
                "No file of this session has been read.",
                hint="Send one with PUT /session/files/NAME and wait until its state is done.",
            )
        return tuple(sorted(found, key=lambda one: -one.score)[:limit])

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        every = tuple(self._kept.values())
        return tuple(kept.passages[one] for one in ids for kept in every if one in kept.passages)

    # --- reading ------------------------------------------------------------------------------------------

    async def _read(self, kept: _Kept, body: bytes, access: Access) -> None:
        try:
            await self._embedded(kept, body, access)
        except Unreadable as why:
            self._failed(kept, str(why))
        except OpenQueryError as error:
            self._failed(kept, f"{error.message} {error.hint}".strip())
        except Exception:
            log.exception("a session's file could not be read")
            self._failed(kept, f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}")
        finally:
            kept.waiting = 0

    def _failed(self, kept: _Kept, reason: str) -> None:
        kept.passages, kept.vectors = {}, None
        kept.file = replace(kept.file, state=TaskState.FAILED, reason=reason, passages=0)

    async def _embedded(self, kept: _Kept, body: bytes, access: Access) -> None:
        kept.file = file = replace(kept.file, state=TaskState.READING)
        media_type = await asyncio.to_thread(kind_of, file.name, body)
        if media_type == ZIP:
            raise Unreadable(SkipReason.UNSUPPORTED, "a zip; send the files that are in it")
        document = Document(url=file.name, status=200, media_type=media_type, charset=None, body=body)
        article = await self._all.extract(document, Extractor.ACCURATE)
        embed = await self._all.embedder(access)
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

        def told(count: int) -> None:
            kept.file = replace(file, passages=count)

        told(0)
        await put_all(SESSION, passages, collections=kept, embed=embed, turns=self._all.turns, told=told)
        kept.file = replace(file, state=TaskState.DONE, passages=len(passages))


class _Both:
    """A visitor's documents under their name, every other collection where it is."""

    def __init__(self, files: SessionFiles, others: Findable) -> None:
        self.files, self.others = files, others

    @property
    def identity(self) -> str:
        return f"{self.others.identity} and {self.files.identity}"

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        where: Findable = self.files if name == SESSION else self.others
        return await where.nearest(name, vector, limit)

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        where: Findable = self.files if name == SESSION else self.others
        return await where.get(name, ids)
