"""What became of what was added: one report for each document, and the whole of an ingest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


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
        return self in (TaskState.DONE, TaskState.FAILED, TaskState.SKIPPED)


class IngestState(StrEnum):
    """How an ingest as a whole stands."""

    LIVE = "live"
    DONE = "done"
    STOPPED = "stopped"
    """A person ended it; what was done stays."""
    INTERRUPTED = "interrupted"
    """The process ended, or the database or the embedder failed: it can go on where it stood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One document of an ingest, or a zip or a sitemap that documents came out of."""

    number: int
    """Its place in the ingest, counted from 0."""
    name: str
    """A file's name, with the zip or folder around it, or an address."""
    state: TaskState
    reason: str = ""
    """Why it failed or was skipped, or what of it was left out."""
    document: str = ""
    """The key of the document that it became, as in `Held`."""
    pages: int = 0
    passages: int = 0
    """In the collection so far."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """The state of an ingest at a moment. A page draws it and asks again."""

    id: str
    collection: str
    course: IngestState
    reports: tuple[Report, ...]
    started: str
    """ISO 8601, UTC."""
    seconds: float = 0.0
    message: str = ""
    """Why it was interrupted, and what to do."""
    verb: str = "add"
    """add, or re-embed."""

    @property
    def live(self) -> bool:
        return self.course is IngestState.LIVE

    @property
    def counts(self) -> Counter[TaskState]:
        """How many documents are in each state."""
        return Counter(report.state for report in self.reports)

    @property
    def ended(self) -> int:
        return sum(report.state.ended for report in self.reports)

    @property
    def passages(self) -> int:
        return sum(report.passages for report in self.reports)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A document in a collection. `key` names it in `Library`'s methods."""

    key: str
    """The SHA-256 of its bytes in hexadecimal, or `source:` and the source where another tool added it."""
    source: str
    passages: int
    title: str = ""
    url: str = ""
    media_type: str = ""
    size: int = 0
    """Bytes."""
    pages: int = 0
    """0 where it has none."""
    embedder: str = ""
    added_at: str = ""
    kept: bool = False
    """Whether its file is here, so that it can be opened and its pages drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A document's file, as it was added."""

    name: str
    media_type: str
    body: bytes
