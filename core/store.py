"""Runs on disk: every event as it happens, in SQLite, written by one thread.

A run whose process was killed is read back as interrupted, with everything it had. One of whose events
could not be written (a full disk) keeps those before it and gets no further ones, so that what is stored
of a run is always a beginning of it, never a run with holes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.codec import event_from_json, event_to_json
from core.errors import StoreFailed
from core.events import Record
from core.run import Run, Status

log = logging.getLogger(__name__)

VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, question TEXT NOT NULL, started TEXT NOT NULL, status TEXT NOT NULL, seconds REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started DESC);
CREATE TABLE IF NOT EXISTS records (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, at REAL NOT NULL, event BLOB NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keepers (run TEXT PRIMARY KEY, keeper TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A line of the history."""

    id: str
    question: str
    started: str
    status: Status
    seconds: float


NO_RUN = ""


@dataclass(frozen=True, slots=True)
class _Write:
    """Something to do to a run on disk; with `NO_RUN` it is done whatever became of a run before."""

    run: str
    to: Callable[[sqlite3.Connection], None]


class Store:
    """An append-only book of events. `problem` says why nothing is kept, as long as nothing can be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._numbers: dict[str, int] = {}
        self._deleted: set[str] = set()
        """A run may still tell its end after it was deleted; that must not bring it back."""
        self._torn: set[str] = set()
        """Runs of which an event could not be written."""
        self._todo: queue.SimpleQueue[_Write | threading.Event | None] = queue.SimpleQueue()
        self._lock_file = -1
        self._writer: threading.Thread | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._connect() as db:
                found = db.execute("PRAGMA user_version").fetchone()[0]
                if found > VERSION:
                    self.problem = f"{path} was written by a newer OpenQuery; runs are not kept."
                    return
                db.executescript(_SCHEMA)
                db.execute(f"PRAGMA user_version = {VERSION}")
                self._mark_interrupted(db)
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
            return
        self._writer = threading.Thread(target=self._write, name="openquery-store", daemon=True)
        self._writer.start()

    def append(self, run: Run, record: Record) -> None:
        """Queue an event for writing. Returns at once; `flush` waits until it is on disk."""
        if self._writer is None or run.id in self._deleted:
            return
        number = self._numbers.get(run.id)
        if number is None:
            number = self._next_number(run.id)
        self._numbers[run.id] = number + 1
        row = (run.id, run.question, run.started, run.status, run.seconds)

        def write(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET status = excluded.status, seconds = excluded.seconds",
                row,
            )
            data = event_to_json(record.event)
            db.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (run.id, number, record.at, data))

        self._todo.put(_Write(run.id, write))

    def load(self, run_id: str) -> Run | None:
        """The stored run, or None.

        Raises:
            StoreFailed: when its events cannot be read.
        """
        if self._writer is None:
            return None
        self.flush()
        try:
            with self._connect() as db:
                rows = db.execute(
                    "SELECT at, event FROM records WHERE run = ? ORDER BY number", (run_id,)
                ).fetchall()
        except sqlite3.Error as error:
            raise StoreFailed(f"{self.path} cannot be read: {error}.") from error
        return Run.of(Record(at=at, event=event_from_json(data)) for at, data in rows) if rows else None

    def keep_for(self, run_id: str, keeper: str) -> None:
        """Say in whose history the run stands."""
        if self._writer is not None:
            statement = "INSERT OR REPLACE INTO keepers VALUES (?, ?)"
            self._todo.put(_Write(run_id, lambda db: _execute(db, statement, run_id, keeper)))

    def history(self, limit: int, keeper: str | None = None) -> tuple[Summary, ...]:
        """Stored runs, newest first: those of one keeper, or all."""
        if self._writer is None:
            return ()
        self.flush()
        try:
            with self._connect() as db:
                rows = db.execute(
                    "SELECT id, question, started, status, seconds FROM runs "
                    "WHERE ?1 IS NULL OR id IN (SELECT run FROM keepers WHERE keeper = ?1) "
                    "ORDER BY started DESC LIMIT ?2",
                    (keeper, limit),
                ).fetchall()
        except sqlite3.Error as error:
            raise StoreFailed(f"{self.path} cannot be read: {error}.") from error
        return tuple(
            Summary(id=i, question=q, started=t, status=Status(s), seconds=n) for i, q, t, s, n in rows
        )

    def delete(self, run_id: str) -> None:
        self._deleted.add(run_id)
        """Forget the run. Comes after everything appended to it so far."""
        self._numbers.pop(run_id, None)

        def forget(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM records WHERE run = ?", (run_id,))
            db.execute("DELETE FROM runs WHERE id = ?", (run_id,))
            db.execute("DELETE FROM keepers WHERE run = ?", (run_id,))

        self._todo.put(_Write(NO_RUN, forget))

    def flush(self) -> None:
        """Wait until everything appended so far is on disk."""
        if self._writer and self._writer.is_alive():
            done = threading.Event()
            self._todo.put(done)
            done.wait()

    def close(self) -> None:
        if self._writer:
            self._todo.put(None)
            self._writer.join()
            self._writer = None
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=10)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        return db

    def _next_number(self, run_id: str) -> int:
        try:
            with self._connect() as db:
                row = db.execute("SELECT max(number) FROM records WHERE run = ?", (run_id,)).fetchone()
        except sqlite3.Error as error:
            self._fail(error)
            return 0
        return 0 if row[0] is None else int(row[0]) + 1

    def _mark_interrupted(self, db: sqlite3.Connection) -> None:
        """Runs that a process left behind unfinished are interrupted, unless another process is at work.

        Every store holds a shared lock as long as it lives, so whoever gets the exclusive one is alone.
        """
        try:
            import fcntl
        except ImportError:  # no such locks on this system: the history may call a dead run running
            return
        self._lock_file = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            db.execute(
                "UPDATE runs SET status = ? WHERE status IN (?, ?)",
                (Status.INTERRUPTED, Status.RUNNING, Status.QUEUED),
            )
        fcntl.flock(self._lock_file, fcntl.LOCK_SH)

    def _write(self) -> None:
        """Commit whatever is queued as one transaction, so that a fast stream costs few disk writes."""
        db = self._connect()
        while True:
            batch = [self._todo.get()]
            while not self._todo.empty():
                batch.append(self._todo.get())
            self._commit(db, [item for item in batch if isinstance(item, _Write)])
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()
            if None in batch:
                db.close()
                return

    def _commit(self, db: sqlite3.Connection, writes: list[_Write]) -> None:
        writes = [write for write in writes if write.run not in self._torn]
        if not writes:
            return
        try:
            for write in writes:
                write.to(db)
            db.commit()
        except (sqlite3.Error, StoreFailed) as error:
            with contextlib.suppress(sqlite3.Error):
                db.rollback()
            if len(writes) > 1:
                for write in writes:  # one of them may be at fault for all
                    self._commit(db, [write])
                return
            self._torn |= {write.run for write in writes} - {NO_RUN}
            self._fail(error)
        else:
            self.problem = ""

    def _fail(self, error: Exception) -> None:
        self.problem = f"Runs are not being saved: {error}. Check the space and rights of {self.path.parent}."
        log.error("store: %s", self.problem)


def _execute(db: sqlite3.Connection, statement: str, *values: str) -> None:
    db.execute(statement, values)
