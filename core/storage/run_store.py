"""Runs on disk: every event as it happens, in SQLite, written by one thread.

A run whose process was killed is read back as interrupted, with everything it had. One of whose events
could not be written (a full disk) keeps those before it and gets no further ones, so that what is stored
of a run is always a beginning of it, never a run with holes.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from core.errors import StoreFailed
from core.model import Phase
from core.run.codec import event_from_json, event_to_json, run_to_json
from core.run.events import Note, Record
from core.run.importer import run_from_json
from core.run.state import Run, RunStatus
from core.storage import migrations
from core.storage.process_lock import ProcessLock
from core.storage.run_writer import NO_RUN, Writer, not_saved
from core.text.sanitize import encodable

log = logging.getLogger(__name__)

_STEPS = (
    """CREATE TABLE IF NOT EXISTS runs (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, started TEXT NOT NULL, status TEXT NOT NULL,
        seconds REAL NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started DESC);
    CREATE TABLE IF NOT EXISTS records (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL, at REAL NOT NULL, event BLOB NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID""",
    # Version 1 came with keepers and without. Holders are the processes that live runs are under way in;
    # documents are the beginnings of runs that were made elsewhere and read from a file.
    """CREATE TABLE IF NOT EXISTS keepers (run TEXT PRIMARY KEY, keeper TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE holders (run TEXT PRIMARY KEY, process TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE documents (run TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT""",
)

_LIVE = (RunStatus.QUEUED, RunStatus.RUNNING)
_ELSEWHERE = Note(
    Phase.PLAN,
    "This run is under way in another OpenQuery that uses the same data folder.",
    "It can be watched here, and stopped there.",
)


_FORGET = (
    "DELETE FROM runs WHERE id = ?",
    "DELETE FROM records WHERE run = ?",
    "DELETE FROM keepers WHERE run = ?",
    "DELETE FROM holders WHERE run = ?",
    "DELETE FROM documents WHERE run = ?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A line of the history. `elsewhere`: under way in another process that uses the same folder."""

    id: str
    question: str
    started: str
    status: RunStatus
    seconds: float
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class _Followed:
    """Another process's live run as far as it was read; `shown` says whose it is."""

    events: int
    run: Run
    shown: Run


class RunStore:
    """An append-only book of events that several processes may share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._trouble = ""
        self._notice = ""
        self._numbers: dict[str, int] = {}
        self._held: set[str] = set()
        """Runs that this process is known to hold."""
        self._deleted: set[str] = set()
        """A run may still tell its end after it was deleted; that must not bring it back."""
        self._followed: dict[str, _Followed] = {}
        self._lease: ProcessLock | None = None
        self._writer: Writer | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._open()
            except sqlite3.Error as error:
                if not migrations.damaged(error):
                    raise
                aside = migrations.set_aside(path)
                self._notice = (
                    f"The history was damaged ({error}). It was set aside as {aside}, and a new one begins. "
                    "Restore a backup under the old name, or see what sqlite3's .recover gets out of it."
                )
                log.warning("store: %s", self._notice)
                self._open()
        except migrations.NewerFile as error:
            self._trouble = (
                f"{error}, so this one leaves it alone: its runs are not shown and new ones not kept. "
                "Get the newer OpenQuery, or set OPENQUERY_DATA to another folder."
            )
            return
        except (sqlite3.Error, OSError) as error:
            self._trouble = not_saved(path, error)
            log.warning("store: %s", self._trouble)
            return
        self._writer = Writer(path, self._connect)

    @property
    def problem(self) -> str:
        """Why nothing is kept, as long as nothing can be; else what became of a damaged file."""
        return self._trouble or (self._writer.trouble if self._writer else "") or self._notice

    def append(self, run: Run, record: Record) -> None:
        """Queue an event for writing. Returns at once; `flush` waits until it is on disk."""
        if self._writer is None or run.id in self._deleted:
            return
        number = self._numbers.get(run.id)
        if number is None:
            number = self._next_number(run.id)
        self._numbers[run.id] = number + 1
        row = _row(run)
        holder = self._lease.name if self._lease and run.live and run.id not in self._held else ""
        (self._held.add if run.live else self._held.discard)(run.id)

        def write(db: sqlite3.Connection) -> None:
            if number and not _updated(db, run):
                return  # another process has deleted it
            if not number:
                db.execute(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?) "
                    "ON CONFLICT (id) DO UPDATE SET status = excluded.status, seconds = excluded.seconds",
                    row,
                )
            if holder:
                db.execute("INSERT OR REPLACE INTO holders VALUES (?, ?)", (run.id, holder))
            elif not run.live:
                db.execute("DELETE FROM holders WHERE run = ?", (run.id,))
            data = event_to_json(record.event)
            db.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (run.id, number, record.at, data))

        self._writer.put(run.id, write)

    def adopt(self, run: Run) -> None:
        """Keep a run that was made elsewhere and has ended, with its vectors where it has any."""
        row = _row(run)

        def write(db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", row)
            db.execute("INSERT INTO documents VALUES (?, ?)", (run.id, run_to_json(run, vectors=True)))

        if self._writer is not None:
            self._writer.put(run.id, write)

    def load(self, run_id: str) -> Run | None:
        """The stored run, or None. One that is under way in another process is live, and says so in a note.

        Raises:
            StoreFailed: when its events cannot be read.
        """
        if self._writer is None:
            return None
        self.flush()
        before = self._followed.get(run_id, _Followed(0, Run(), Run()))
        try:
            with closing(self._connect()) as db:
                rows = db.execute(
                    "SELECT at, event FROM records WHERE run = ? AND number >= ? ORDER BY number",
                    (run_id, before.events),
                ).fetchall()
                # Read after the events: a holder that let go meanwhile is one whose end may be missing.
                told = db.execute(
                    "SELECT (SELECT process FROM holders WHERE run = ?1), "
                    "(SELECT document FROM documents WHERE run = ?1)",
                    (run_id,),
                ).fetchone()
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        holder, document = told
        records = [Record(at=at, event=event_from_json(data)) for at, data in rows]
        begun = before.run
        if document is not None and not before.events:
            begun = replace(run_from_json(document), id=run_id)
        if not records and begun.id == "":
            return None
        if self._is_elsewhere(holder):
            return self._follow(run_id, before, begun, records)
        self._followed.pop(run_id, None)
        return Run.from_records(records, begun)

    def keep_for(self, run_id: str, keeper: str) -> None:
        """Say in whose history the run stands."""
        if self._writer is not None:
            statement = "INSERT OR REPLACE INTO keepers VALUES (?, ?)"
            self._writer.put(run_id, lambda db: db.execute(statement, (run_id, keeper)))

    def history(self, limit: int, keeper: str | None = None) -> tuple[RunSummary, ...]:
        """Stored runs, newest first: those of one keeper, or all."""
        if self._writer is None:
            return ()
        self.flush()
        try:
            with closing(self._connect()) as db:
                rows = db.execute(
                    "SELECT id, question, started, status, seconds, "
                    "(SELECT process FROM holders WHERE run = id) FROM runs "
                    "WHERE ?1 IS NULL OR id IN (SELECT run FROM keepers WHERE keeper = ?1) "
                    "ORDER BY started DESC LIMIT ?2",
                    (keeper, limit),
                ).fetchall()
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        return tuple(self._line(*row) for row in rows)

    def delete(self, run_id: str) -> None:
        """Forget the run. Comes after everything appended to it so far."""
        self._deleted.add(run_id)
        self._numbers.pop(run_id, None)
        self._followed.pop(run_id, None)

        def forget(db: sqlite3.Connection) -> None:
            for statement in _FORGET:
                db.execute(statement, (run_id,))

        if self._writer is not None:
            self._writer.put(NO_RUN, forget)

    def flush(self) -> None:
        """Wait until everything appended so far is on disk."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._lease:
            self._lease.close()
            self._lease = None

    def _open(self) -> None:
        migrations.bring_up_to_date(self.path, _STEPS)
        self._lease = self._lease or ProcessLock(self.path.parent)
        with closing(self._connect()) as db, db:
            self._mark_interrupted(db)
        self._lease.sweep()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=migrations.BUSY_SECONDS)
        db.execute("PRAGMA synchronous = NORMAL")
        return db

    def _next_number(self, run_id: str) -> int:
        try:
            with closing(self._connect()) as db:
                row = db.execute("SELECT max(number) FROM records WHERE run = ?", (run_id,)).fetchone()
        except sqlite3.Error as error:
            if self._writer is not None:
                self._writer.failed(error)
            return 0
        return 0 if row[0] is None else int(row[0]) + 1

    def _mark_interrupted(self, db: sqlite3.Connection) -> None:
        """Runs whose process is gone are interrupted."""
        live = db.execute(
            "SELECT id, (SELECT process FROM holders WHERE run = id) FROM runs WHERE status IN (?, ?)", _LIVE
        ).fetchall()
        for run_id, holder in live:
            if not self._is_elsewhere(holder):
                db.execute("UPDATE runs SET status = ? WHERE id = ?", (RunStatus.INTERRUPTED, run_id))
                db.execute("DELETE FROM holders WHERE run = ?", (run_id,))

    def _is_elsewhere(self, holder: str | None) -> bool:
        """Whether another process that lives is at work on the run."""
        lease = self._lease
        return bool(lease and holder and holder != lease.name and lease.held(holder))

    def _follow(self, run_id: str, before: _Followed, begun: Run, records: list[Record]) -> Run:
        """The live run with what was new. The very same as before when nothing was."""
        if not records and before.events:
            return before.shown
        run = begun
        for record in records:
            run = run.apply(record)
        shown = replace(run, notes=(*run.notes, _ELSEWHERE))
        self._followed[run_id] = _Followed(before.events + len(records), run, shown)
        return shown

    def _line(self, *row: object) -> RunSummary:
        run_id, question, started, status, seconds, holder = row
        elsewhere = self._is_elsewhere(str(holder or ""))
        own = self._lease is not None and holder == self._lease.name
        if status in _LIVE and not (elsewhere or own):
            status = RunStatus.INTERRUPTED
        return RunSummary(
            id=str(run_id),
            question=str(question),
            started=str(started),
            status=RunStatus(str(status)),
            seconds=float(str(seconds)),
            elsewhere=elsewhere,
        )

    def _unreadable(self, error: sqlite3.Error) -> StoreFailed:
        return StoreFailed(
            f"{self.path} cannot be read: {error}.",
            hint="If it stays so, stop OpenQuery, move the file away, and start again."
            if migrations.damaged(error)
            else "Try again in a moment.",
        )


def _row(run: Run) -> tuple[str, str, str, RunStatus, float]:
    return run.id, encodable(run.question), run.started, run.status, run.seconds


def _updated(db: sqlite3.Connection, run: Run) -> bool:
    statement = "UPDATE runs SET status = ?, seconds = ? WHERE id = ?"
    return bool(db.execute(statement, (run.status, run.seconds, run.id)).rowcount)
