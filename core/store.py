"""Runs on disk: every event as it happens, in SQLite, written by one thread.

A run whose process was killed is read back as interrupted, with everything it had.
"""

from __future__ import annotations

import logging
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
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A line of the history."""

    id: str
    question: str
    started: str
    status: Status
    seconds: float


class Store:
    """An append-only book of events. `problem` says why nothing is kept, when nothing can be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._numbers: dict[str, int] = {}
        self._todo: queue.SimpleQueue[Callable[[sqlite3.Connection], None] | None] = queue.SimpleQueue()
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
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
            return
        self._writer = threading.Thread(target=self._write, name="openquery-store", daemon=True)
        self._writer.start()

    def append(self, run: Run, record: Record) -> None:
        """Queue an event for writing. Returns at once; `flush` waits until it is on disk."""
        if self._writer is None:
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

        self._todo.put(write)

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

    def history(self, limit: int) -> tuple[Summary, ...]:
        """Stored runs, newest first."""
        if self._writer is None:
            return ()
        self.flush()
        try:
            with self._connect() as db:
                rows = db.execute(
                    "SELECT id, question, started, status, seconds FROM runs ORDER BY started DESC LIMIT ?",
                    (limit,),
                ).fetchall()
        except sqlite3.Error as error:
            raise StoreFailed(f"{self.path} cannot be read: {error}.") from error
        return tuple(
            Summary(id=i, question=q, started=t, status=Status(s), seconds=n) for i, q, t, s, n in rows
        )

    def delete(self, run_id: str) -> None:
        self._numbers.pop(run_id, None)
        self._todo.put(lambda db: _execute(db, "DELETE FROM records WHERE run = ?", run_id))
        self._todo.put(lambda db: _execute(db, "DELETE FROM runs WHERE id = ?", run_id))

    def flush(self) -> None:
        """Wait until everything appended so far is on disk."""
        if self._writer and self._writer.is_alive():
            done = threading.Event()
            self._todo.put(lambda _db: done.set())
            done.wait()

    def close(self) -> None:
        if self._writer:
            self._todo.put(None)
            self._writer.join()
            self._writer = None

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

    def _write(self) -> None:
        """Commit whatever is queued as one transaction, so that a fast stream costs few disk writes."""
        db = self._connect()
        while True:
            batch = [self._todo.get()]
            while not self._todo.empty():
                batch.append(self._todo.get())
            for write in batch:
                if write is None:
                    db.commit()
                    db.close()
                    return
                try:
                    write(db)
                except (sqlite3.Error, StoreFailed) as error:
                    self._fail(error)
            try:
                db.commit()
            except sqlite3.Error as error:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.problem = f"Runs are not being saved: {error}. Check the space and rights of {self.path.parent}."
        log.error("store: %s", self.problem)


def _execute(db: sqlite3.Connection, statement: str, *values: str) -> None:
    db.execute(statement, values)
