"""Values of ingests: sources, limits, and ingests with their tasks in the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from core.config.settings import Settings
from core.features.library.document_files import STORED_PASSAGES
from core.reading.file_types import ZIP
from core.run.state import Run


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded document or zip of documents. The name is only displayed, never used as a path."""

    name: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Folder:
    """A file, or a folder with all files below it, on the server's disk, if the operator allows it."""

    path: Path


@dataclass(frozen=True, slots=True)
class Address:
    """A document on the web."""

    url: str


@dataclass(frozen=True, slots=True)
class Sitemap:
    """All addresses in a sitemap and nested sitemaps, on the sitemap's own host."""

    url: str


@dataclass(frozen=True, slots=True)
class RunPages:
    """Pages of a run, which are not fetched again."""

    run: Run


IngestSource = Upload | Folder | Address | Sitemap | RunPages


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestLimits:
    """Limits of an ingest and of the library. Sizes are bytes."""

    file: int = 50_000_000
    """The size of one document."""
    files: int = 2_000
    """The number of documents in one ingest."""
    total: int = 10_000_000_000
    """The size of all stored files together."""
    folders: tuple[Path, ...] = ()
    """Folders on the server's disk from which documents may be added."""

    @classmethod
    def from_settings(cls, settings: Settings, folders: Sequence[Path] = ()) -> IngestLimits:
        """Return the operator's limits, with more allowed `folders`."""
        return cls(
            file=int(settings.file_megabytes * 1e6),
            files=settings.ingest_files,
            total=settings.library_megabytes * 1_000_000,
            folders=(
                *(Path(name.strip()) for name in settings.document_folders.split(",") if name.strip()),
                *folders,
            ),
        )


class TaskKind(StrEnum):
    """The origin of a task's bytes."""

    FILE = "file"
    """An upload, whose bytes are among the stored files."""
    PATH = "path"
    """A file on the server's disk."""
    ADDRESS = "address"
    """A document on the web."""
    SITEMAP = "sitemap"
    """A sitemap, which becomes one task per address."""


class TaskState(StrEnum):
    """The state of a document's way into a collection."""

    WAITING = "waiting"
    READING = "reading"
    EMBEDDING = "embedding"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    """The document exists already, is a picture or script of a folder, or its turn had not come at a stop."""

    @property
    def ended(self) -> bool:
        """Whether the task is done, failed or skipped."""
        return self in (TaskState.DONE, TaskState.FAILED, TaskState.SKIPPED)


class IngestState(StrEnum):
    """The state of an ingest as a whole."""

    LIVE = "live"
    DONE = "done"
    STOPPED = "stopped"
    """A person ended the ingest. Complete documents stay."""
    INTERRUPTED = "interrupted"
    """The process ended, or the database or the embedder failed. The ingest can be resumed."""


class IngestAction(StrEnum):
    """The action of an ingest."""

    ADD = "add"
    REEMBED = "re-embed"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestTask:
    """A document to ingest, or a zip or sitemap with documents."""

    ingest: str = ""
    """The id of the ingest."""
    number: int = 0
    """The position in the ingest, from 0."""
    kind: TaskKind
    name: str
    """A file's name with its zip or folder, or an address."""
    location: str = ""
    """The path or address of the bytes, or "" for an upload."""
    digest: str = ""
    """SHA-256 of the bytes in hexadecimal, or "" before they are read."""
    media_type: str = ""
    """The media type, or "" before the bytes are read."""
    charset: str = ""
    state: TaskState = TaskState.WAITING
    reason: str = ""
    """The reason of a failure or a skip, or a note on omitted parts."""
    pages: int = 0
    passages: int = 0
    """The number of passages in the collection so far."""
    seconds: float = 0.0
    body: bytes | None = field(default=None, repr=False, compare=False)
    """Bytes that are still to be stored, or None."""

    @property
    def document(self) -> str:
        """The key of the resulting `LibraryDocument`, or "" without a document."""
        becomes = self.state is not TaskState.FAILED and self.media_type not in (ZIP, STORED_PASSAGES)
        return self.digest if becomes else ""

    @property
    def url(self) -> str:
        """The document's address on the web, or "" for files."""
        return "" if self.kind is TaskKind.PATH else self.location

    def stopped(self) -> IngestTask:
        """Return the task as skipped, for a stopped ingest."""
        return replace(self, state=TaskState.SKIPPED, passages=0, reason="stopped")

    @property
    def holds_documents(self) -> bool:
        """Whether the task is a zip or a sitemap."""
        return self.kind is TaskKind.SITEMAP or self.media_type == ZIP


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """An ingest into one collection, with a snapshot of its tasks."""

    id: str
    collection: str
    action: IngestAction
    embedder: str
    """The identity of the embedding model."""
    knobs: str
    """The chunk knobs, as JSON."""
    started: str
    """ISO 8601, UTC."""
    state: IngestState = IngestState.LIVE
    stage: str = ""
    """The pending stage of a re-embedding before its tasks, or ""."""
    owner: str = ""
    """The lease of the process that works on the ingest, or did last."""
    message: str = ""
    """The reason of an interruption, with a hint."""
    tasks: tuple[IngestTask, ...] = ()
    seconds: float = 0.0

    def with_tasks(self, tasks: Sequence[IngestTask], seconds: float = 0.0) -> Ingest:
        """Return the ingest with these tasks in order.

        Without `seconds` the times of the tasks are added.
        """
        ordered = tuple(sorted(tasks, key=lambda task: task.number))
        return replace(self, tasks=ordered, seconds=seconds or sum(task.seconds for task in ordered))

    @property
    def live(self) -> bool:
        """Whether a process works on the ingest."""
        return self.state is IngestState.LIVE

    @property
    def counts(self) -> Counter[TaskState]:
        """The number of tasks in each state."""
        return Counter(task.state for task in self.tasks)

    @property
    def ended(self) -> int:
        """The number of ended tasks."""
        return sum(task.state.ended for task in self.tasks)

    @property
    def passages(self) -> int:
        """The number of its passages in the collection so far."""
        return sum(task.passages for task in self.tasks)
