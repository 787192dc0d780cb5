"""One document of a session: read, split, embedded and searched in memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import ChunkKnobs
from core.errors import INTERNAL_ERROR, INTERNAL_ERROR_HINT, LibraryFailed, OpenQueryError
from core.library.add_document import embed_and_store, library_passages
from core.library.document_files import digest_of
from core.library.incoming_file import IncomingFile
from core.library.ingests import TaskState
from core.model import Article, Document, Extractor, LibraryPassage, Neighbour, SkipReason, Unreadable
from core.ports import Embed, Extract

if TYPE_CHECKING:
    from core.config.access import Access

log = logging.getLogger(__name__)

SESSION = "session"
"""The collection name under which a question finds the documents of its session."""

MOST_PASSAGES = 5_000
"""Passages of one document."""


class ReadingParts(Protocol):
    """What the reading of a document needs, and all documents of a process share."""

    extract: Extract
    embedder: Callable[[Access | None, str], Awaitable[Embed]]
    embed_slots: asyncio.Semaphore
    read_slots: asyncio.Semaphore
    """Bounds how many files are in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A file of a session, and its state."""

    name: str
    size: int
    """Bytes of the file."""
    content_type: str
    """The media type that it is read as, by its bytes and its name."""
    state: TaskState = TaskState.WAITING
    reason: str = ""
    """Why it failed, or what of it was left out."""
    pages: int = 0
    passages: int = 0
    """That can be found so far."""


@dataclass(slots=True, kw_only=True)
class SessionDocument:
    """A file with its passages and vectors. A newer file of the same name is another document."""

    file: SessionFile
    unread: int
    """Bytes of the file until its passages are complete: room is reserved for them."""
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

    # --- reading ------------------------------------------------------------------------------------------

    async def read(self, incoming: IncomingFile, access: Access, parts: ReadingParts) -> None:
        """Read and embed the file. What fails is told by its state."""
        try:
            await self._embed(incoming, access, parts)
        except Unreadable as why:
            self._fail(str(why))
        except OpenQueryError as error:
            self._fail(f"{error.message} {error.hint}".strip())
        except Exception:
            log.exception("a file of a session failed unexpectedly")
            self._fail(f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}")
        finally:
            self.unread = 0

    async def _extract(self, incoming: IncomingFile, extract: Extract) -> tuple[str, Article]:
        body = await asyncio.to_thread(incoming.read)
        source = Document(
            url=self.file.name, status=200, media_type=self.file.content_type, charset=None, body=body
        )
        return digest_of(body), await extract(source, Extractor.ACCURATE)

    def _fail(self, reason: str) -> None:
        self.passages, self.vectors = {}, None
        self.file = replace(self.file, state=TaskState.FAILED, reason=reason, passages=0)

    async def _embed(self, incoming: IncomingFile, access: Access, parts: ReadingParts) -> None:
        async with parts.read_slots:
            self.file = file = replace(self.file, state=TaskState.READING)
            digest, article = await self._extract(incoming, parts.extract)
        incoming.close()
        embed = await parts.embedder(access, SESSION)
        passages = await asyncio.to_thread(
            library_passages,
            article,
            document=digest,
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
        file = replace(
            file, state=TaskState.EMBEDDING, pages=len(article.page_starts), reason=article.left_out
        )

        def on_progress(count: int) -> None:
            self.file = replace(file, passages=count)

        on_progress(0)
        await embed_and_store(
            SESSION,
            passages,
            store=self,
            embed=embed,
            embed_slots=parts.embed_slots,
            on_progress=on_progress,
        )
        self.file = replace(file, state=TaskState.DONE, passages=len(passages))
