"""Which documents are in which collection, and how far every ingest has come: SQLite, for several processes.

Files are written and deleted inside the transactions that begin or end their use, so that no process deletes
what another has just begun to use.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from core.errors import StoreFailed
from core.library.document_files import DocumentFiles
from core.library.ingest_records import Entry, IngestRecord, Taken, Task, TaskKind
from core.library.ingest_reports import IngestState, TaskState
from core.storage import migrations

T = TypeVar("T")

_JOBS_KEPT = 50
_FORGOTTEN_PART = 3600.0
"""Seconds after which a half-written file cannot be anybody's work under way."""

_STEPS = (
    """
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, collection TEXT NOT NULL, verb TEXT NOT NULL, embedder TEXT NOT NULL, knobs TEXT NOT NULL,
    started TEXT NOT NULL, course TEXT NOT NULL, stage TEXT NOT NULL, owner TEXT NOT NULL, message TEXT NOT NULL
) STRICT;
CREATE TABLE tasks (
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL, kind TEXT NOT NULL,
    name TEXT NOT NULL, place TEXT NOT NULL, digest TEXT NOT NULL, media_type TEXT NOT NULL, charset TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, pages INTEGER NOT NULL, excerpts INTEGER NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_digest ON tasks (digest);
CREATE TABLE documents (
    collection TEXT NOT NULL, digest TEXT NOT NULL, source TEXT NOT NULL, media_type TEXT NOT NULL,
    charset TEXT NOT NULL, size INTEGER NOT NULL, title TEXT NOT NULL, url TEXT NOT NULL, pages INTEGER NOT NULL,
    excerpts INTEGER NOT NULL, embedder TEXT NOT NULL, added_at TEXT NOT NULL,
    PRIMARY KEY (collection, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX documents_by_digest ON documents (digest)
""",
    """ALTER TABLE tasks RENAME COLUMN excerpts TO passages;
    ALTER TABLE documents RENAME COLUMN excerpts TO passages""",
)
"""The SQL from one version to the next."""
_IN_USE = """SELECT 1 FROM documents WHERE digest = ?1
    UNION ALL SELECT 1 FROM tasks WHERE digest = ?1 AND state NOT IN ('done', 'failed', 'skipped') LIMIT 1"""


class Catalogue:
    """Every call blocks for milliseconds, may come from any thread, and raises `StoreFailed` when the file
    cannot be read or written."""

    def __init__(self, path: Path, files: DocumentFiles) -> None:
        self.path = path
        self.files = files
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    # --- jobs ---------------------------------------------------------------------------------------------

    def begin(self, job: IngestRecord, tasks: Sequence[Taken] = ()) -> tuple[Task, ...]:
        """Write down a new job with its tasks; old jobs that have ended are forgotten."""
        with self._changing() as db:
            _insert(db, "jobs", job)
            added = self._append(db, job.id, tasks)
            db.execute(
                "DELETE FROM jobs WHERE course IN ('done', 'stopped') AND id NOT IN "
                "(SELECT id FROM jobs ORDER BY started DESC LIMIT ?)",
                (_JOBS_KEPT,),
            )
            return added

    def change(self, job: IngestRecord) -> None:
        """Write down the job as it is now."""
        with self._changing() as db:
            db.execute(
                "UPDATE jobs SET course = ?, stage = ?, message = ? WHERE id = ?",
                (job.course, job.stage, job.message, job.id),
            )

    def claim(self, job: IngestRecord, owner: str) -> bool:
        """Go on with a job that its owner left behind; False when another process was quicker, or it has ended."""
        with self._changing() as db:
            claimed = db.execute(
                "UPDATE jobs SET owner = ?, course = 'live', message = '' "
                "WHERE id = ? AND owner = ? AND course IN ('live', 'interrupted')",
                (owner, job.id, job.owner),
            )
            return claimed.rowcount == 1

    def unfinished(self) -> tuple[IngestRecord, ...]:
        """Jobs that are under way somewhere, or were."""
        return self._jobs("SELECT * FROM jobs WHERE course IN ('live', 'interrupted') ORDER BY started")

    def ended(self, collection: str) -> tuple[IngestRecord, ...]:
        """The latest jobs of a collection that have ended, the last one first."""
        chosen = (
            "SELECT * FROM jobs WHERE course IN ('done', 'stopped') AND collection = ? ORDER BY started DESC"
        )
        return self._jobs(chosen, collection)

    def _jobs(self, query: str, *values: str) -> tuple[IngestRecord, ...]:
        return tuple(_job(row) for row in self._read(query, *values))

    # --- tasks --------------------------------------------------------------------------------------------

    def add(self, job: str, tasks: Sequence[Taken]) -> tuple[Task, ...]:
        """Append tasks to a job, with the bytes to keep for them."""
        with self._changing() as db:
            return self._append(db, job, tasks)

    def _append(self, db: sqlite3.Connection, job: str, tasks: Sequence[Taken]) -> tuple[Task, ...]:
        numbers = "SELECT coalesce(max(number) + 1, 0) FROM tasks WHERE job = ?"
        (first,) = db.execute(numbers, (job,)).fetchone()
        added = []
        for number, (task, body) in enumerate(tasks, first):
            if body is not None:
                self.files.put(body, task.digest)
            added.append(replace(task, job=job, number=number))
            _insert(db, "tasks", added[-1])
        return tuple(added)

    def update(self, task: Task, body: bytes | None = None) -> None:
        """Write down a task as it is now; when it has ended, its bytes go unless a document needs them."""
        with self._changing() as db:
            if body is not None:
                self.files.put(body, task.digest)
            _insert(db, "tasks", task, replacing=True)
            if task.state.ended and task.digest:
                self._release(db, [task.digest])

    def tasks(self, job: str) -> tuple[Task, ...]:
        rows = self._read("SELECT * FROM tasks WHERE job = ? ORDER BY number", job)
        return tuple(_task(row) for row in rows)

    # --- documents ----------------------------------------------------------------------------------------

    def enter(self, task: Task, entry: Entry) -> None:
        """A document is whole in its collection, and the task that brought it is done."""
        with self._changing() as db:
            _insert(db, "documents", entry, replacing=True)
            _insert(db, "tasks", task, replacing=True)

    def entry(self, collection: str, digest: str) -> Entry | None:
        chosen = "SELECT * FROM documents WHERE collection = ? AND digest = ?"
        return next(iter(self._entries(chosen, collection, digest)), None)

    def entries(self, collection: str) -> tuple[Entry, ...]:
        """Those of a collection, latest first."""
        chosen = "SELECT * FROM documents WHERE collection = ? ORDER BY added_at DESC, source"
        return self._entries(chosen, collection)

    def anywhere(self, digest: str) -> Entry | None:
        """The document in whichever collection."""
        chosen = "SELECT * FROM documents WHERE digest = ? ORDER BY added_at DESC, source"
        return next(iter(self._entries(chosen, digest)), None)

    def forget(self, collection: str, digest: str | None = None) -> None:
        """Take one document of a collection off the list, or all; files that nothing else uses go too."""
        with self._changing() as db:
            gone = db.execute(
                "DELETE FROM documents WHERE collection = ?1 AND (?2 IS NULL OR digest = ?2) RETURNING digest",
                (collection, digest),
            ).fetchall()
            self._release(db, [row[0] for row in gone])

    def _entries(self, query: str, *values: str) -> tuple[Entry, ...]:
        rows = self._read(query, *values)
        return tuple(Entry(**dict(zip(_NAMES[Entry], row, strict=True))) for row in rows)

    # --- the file -----------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Delete files that nothing uses: those of a process that was killed while it wrote them down."""
        with self._changing() as db:
            self._release(db, list(self.files.digests()))
            self.files.tidy(time.time() - _FORGOTTEN_PART)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _release(self, db: sqlite3.Connection, digests: Iterable[str]) -> None:
        for digest in digests:
            if db.execute(_IN_USE, (digest,)).fetchone() is None:
                self.files.delete(digest)

    def _read(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        return self._with(lambda db: db.execute(question, values).fetchall())

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which no other process's can come between."""
        with self._lock, self._translated():
            db = self._opened()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                if db.in_transaction:  # SQLite itself ends it when the disk is full
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock, self._translated():
            return work(self._opened())

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreFailed(
                f"The library at {self.path.parent} cannot be read or written: {error}.",
                hint="Check the space and the rights of the data folder.",
            ) from error

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                migrations.migrate(self.path, _STEPS)
            except migrations.NewerFile as error:
                raise StoreFailed(f"{error}.", hint="Update, or use another data folder.") from error
            db = sqlite3.connect(
                self.path, timeout=migrations.BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            self._connection = db
        return self._connection


_NAMES = {kind: tuple(field.name for field in fields(kind)) for kind in (IngestRecord, Task, Entry)}


def _insert(
    db: sqlite3.Connection, table: str, row: IngestRecord | Task | Entry, *, replacing: bool = False
) -> None:
    names = _NAMES[type(row)]
    verb = "INSERT OR REPLACE" if replacing else "INSERT"
    marks = ", ".join("?" * len(names))
    db.execute(
        f"{verb} INTO {table} ({', '.join(names)}) VALUES ({marks})",
        [getattr(row, name) for name in names],
    )


def _job(row: Sequence[Any]) -> IngestRecord:
    values: dict[str, Any] = dict(zip(_NAMES[IngestRecord], row, strict=True))
    return IngestRecord(**{**values, "course": IngestState(values["course"])})


def _task(row: Sequence[Any]) -> Task:
    values: dict[str, Any] = dict(zip(_NAMES[Task], row, strict=True))
    return Task(**{**values, "kind": TaskKind(values["kind"]), "state": TaskState(values["state"])})
