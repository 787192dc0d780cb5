"""What the catalogue writes down: ingests, their tasks, and the documents that came of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.library.add_document import STORED_PASSAGES
from core.library.ingest_reports import Ingest, IngestState, Report, TaskState
from core.reading.file_types import ZIP


class TaskKind(StrEnum):
    """What a task begins with."""

    FILE = "file"
    """Bytes that are kept."""
    PATH = "path"
    """A file on the server's disk."""
    ADDRESS = "address"
    SITEMAP = "sitemap"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRecord:
    """An ingest as it is written down. `knobs` is JSON, `stage` what must be done before its tasks.

    `owner` is the lease of the process that works on it, or that last did.
    """

    id: str
    collection: str
    verb: str
    embedder: str
    knobs: str
    started: str
    course: IngestState = IngestState.LIVE
    stage: str = ""
    owner: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing to add. `place` is a path or an address, `digest` that of its bytes once they are known.

    An empty `media_type` is judged when the bytes are there.
    """

    job: str = ""
    number: int = 0
    kind: TaskKind
    name: str
    place: str = ""
    digest: str = ""
    media_type: str = ""
    charset: str = ""
    state: TaskState = TaskState.WAITING
    reason: str = ""
    pages: int = 0
    passages: int = 0
    seconds: float = 0.0


Taken = tuple[Task, bytes | None]
"""A task, with the bytes to keep for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document that is whole in a collection."""

    collection: str
    digest: str
    source: str
    media_type: str
    charset: str
    size: int
    title: str
    url: str
    pages: int
    passages: int
    embedder: str
    added_at: str


def ingest_of(job: IngestRecord, tasks: Sequence[Task], seconds: float = 0.0) -> Ingest:
    """A job with its tasks, as a page draws it."""
    reports = tuple(
        Report(
            number=task.number,
            name=task.name,
            state=task.state,
            reason=task.reason,
            document=""
            if task.state is TaskState.FAILED or task.media_type in (ZIP, STORED_PASSAGES)
            else task.digest,
            pages=task.pages,
            passages=task.passages,
            seconds=task.seconds,
        )
        for task in sorted(tasks, key=lambda task: task.number)
    )
    return Ingest(
        id=job.id,
        collection=job.collection,
        course=job.course,
        reports=reports,
        started=job.started,
        seconds=seconds or sum(task.seconds for task in tasks),
        message=job.message,
        verb=job.verb,
    )
