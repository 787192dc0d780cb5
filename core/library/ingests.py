"""Values of ingests: what may be added, the limits of it, and ingests with their tasks as the catalogue stores them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from core.config.settings import Settings
from core.library.document_files import STORED_PASSAGES
from core.reading.file_types import ZIP
from core.run.state import Run


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file: a document, or a zip of documents. The name is only shown, never used as a path."""

    name: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Folder:
    """A file or a folder with all files below it on the server's disk, where the operator allows it."""

    path: Path


@dataclass(frozen=True, slots=True)
class Address:
    """A document on the web."""

    url: str


@dataclass(frozen=True, slots=True)
class Sitemap:
    """All addresses on its own host in a sitemap and the sitemaps nested in it."""

    url: str


@dataclass(frozen=True, slots=True)
class RunPages:
    """Pages as a run read them, without fetching them again."""

    run: Run


IngestSource = Upload | Folder | Address | Sitemap | RunPages


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestLimits:
    """Limits of an ingest and of the library. Sizes are bytes."""

    file: int = 50_000_000
    """One document."""
    files: int = 2_000
    """Documents in one ingest."""
    total: int = 10_000_000_000
    """All stored files together."""
    folders: tuple[Path, ...] = ()
    """Folders on the server's disk that may be added from."""

    @classmethod
    def from_settings(cls, settings: Settings, folders: Sequence[Path] = ()) -> IngestLimits:
        """The operator's limits, with further folders."""
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
    """Where the bytes of a task come from."""

    FILE = "file"
    """Uploaded: they are among the stored files."""
    PATH = "path"
    """A file on the server's disk."""
    ADDRESS = "address"
    """A document on the web."""
    SITEMAP = "sitemap"
    """A sitemap, which becomes one task for each address in it."""


class TaskState(StrEnum):
    """Where a document stands on its way into a collection."""

    WAITING = "waiting"
    READING = "reading"
    EMBEDDING = "embedding"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Nothing had to be done: it is there already, or the ingest was stopped before its turn."""

    @property
    def ended(self) -> bool:
        """Whether the document is in the collection, or will not get there."""
        return self in (TaskState.DONE, TaskState.FAILED, TaskState.SKIPPED)


class IngestState(StrEnum):
    """The state of an ingest as a whole."""

    LIVE = "live"
    DONE = "done"
    STOPPED = "stopped"
    """A person ended it; documents that are complete stay."""
    INTERRUPTED = "interrupted"
    """The process ended, or the database or the embedder failed: it can be resumed."""


class IngestAction(StrEnum):
    """What an ingest does."""

    ADD = "add"
    REEMBED = "re-embed"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestTask:
    """One thing to ingest: a document, or a zip or a sitemap that holds documents."""

    ingest: str = ""
    """The id of its ingest."""
    number: int = 0
    """Its position in the ingest, counted from 0."""
    kind: TaskKind
    name: str
    """A file's name, with the zip or folder that it is in, or an address."""
    location: str = ""
    """The path or the address that it is read from; empty for an upload."""
    digest: str = ""
    """SHA-256 of its bytes in hexadecimal; empty until they are read."""
    media_type: str = ""
    """Empty until its bytes are read."""
    charset: str = ""
    state: TaskState = TaskState.WAITING
    reason: str = ""
    """Why it failed or was skipped, or what of it was left out."""
    pages: int = 0
    passages: int = 0
    """In the collection so far."""
    seconds: float = 0.0
    body: bytes | None = field(default=None, repr=False, compare=False)
    """Bytes that are still to be stored; None once they are."""

    @property
    def document(self) -> str:
        """The key of the `LibraryDocument` that it becomes; empty where it becomes none."""
        becomes = self.state is not TaskState.FAILED and self.media_type not in (ZIP, STORED_PASSAGES)
        return self.digest if becomes else ""

    @property
    def url(self) -> str:
        """The document's address on the web; empty for files."""
        return "" if self.kind is TaskKind.PATH else self.location

    def stopped(self) -> IngestTask:
        """The task as it is once a person stopped its ingest."""
        return replace(self, state=TaskState.SKIPPED, passages=0, reason="stopped")

    @property
    def holds_documents(self) -> bool:
        """Whether it is a zip or a sitemap."""
        return self.kind is TaskKind.SITEMAP or self.media_type == ZIP


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """An ingest into one collection, with its tasks as they were at one moment."""

    id: str
    collection: str
    action: IngestAction
    embedder: str
    """The identity of the model."""
    knobs: str
    """The chunk knobs, as JSON."""
    started: str
    """ISO 8601, UTC."""
    state: IngestState = IngestState.LIVE
    stage: str = ""
    """What a re-embedding has to do before its tasks."""
    owner: str = ""
    """The lease of the process that works on it, or was the last to."""
    message: str = ""
    """Why it was interrupted, and what to do."""
    tasks: tuple[IngestTask, ...] = ()
    seconds: float = 0.0

    def with_tasks(self, tasks: Sequence[IngestTask], seconds: float = 0.0) -> Ingest:
        """The ingest with these tasks in order; without `seconds` it took as long as they did together."""
        ordered = tuple(sorted(tasks, key=lambda task: task.number))
        return replace(self, tasks=ordered, seconds=seconds or sum(task.seconds for task in ordered))

    @property
    def live(self) -> bool:
        """Whether a process works on it."""
        return self.state is IngestState.LIVE

    @property
    def counts(self) -> Counter[TaskState]:
        """How many tasks are in each state."""
        return Counter(task.state for task in self.tasks)

    @property
    def ended(self) -> int:
        """How many tasks have ended."""
        return sum(task.state.ended for task in self.tasks)

    @property
    def passages(self) -> int:
        """How many passages of it the collection has so far."""
        return sum(task.passages for task in self.tasks)
