"""The run store: the events of every run in SQLite, appended as they happen by one writer thread.

A run whose process was killed is read back as interrupted, with every event that was written. When an event
cannot be written (a full disk), the later events of that run are dropped too, so that what is stored of a run
is always a prefix of it.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from core.errors import OpenQueryError, StoreFailed
from core.model import Phase
from core.run.codec import event_from_json, event_to_json, run_to_json
from core.run.events import Note, Record
from core.run.importer import LIMIT, run_from_json
from core.run.state import Run, RunStatus
from core.storage import migrations, run_schema, run_summaries
from core.storage.process_lock import ProcessLock
from core.storage.run_summaries import RunSummary
from core.storage.run_writer import NO_RUN, RunWriter, not_saved_message

log = logging.getLogger(__name__)

RUNS = "runs.sqlite"
"""The name of the file in the data folder."""
REMOTE_RUNS = 100
"""Live runs of other processes that are kept in memory, so that only new events are read."""

REMEMBERED_USERS = 10_000

_SET_USER = "INSERT OR REPLACE INTO run_users VALUES (?, ?)"
_LIVE = (RunStatus.QUEUED, RunStatus.RUNNING)
_OTHER_PROCESS = Note(
    Phase.PLAN,
    "This run is under way in another OpenQuery that uses the same data folder.",
    "It can be watched here, and stopped there.",
)


@dataclass(frozen=True, slots=True)
class _RemoteRun:
    """The events read so far of a live run of another process; `shown` is the run with a note about that."""

    events: int
    run: Run
    shown: Run


class RunStore:
    """Append-only storage of run events. Several processes may share the file; any thread may call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unusable = ""
        self._notice = ""
        self._next_numbers: dict[str, int] = {}
        self._live_here: set[str] = set()
        """Live runs that are recorded as under way in this process."""
        self._deleted: set[str] = set()
        """Deleted runs: a late event of one must not bring it back."""
        self._users: LRUCache[str, str] = LRUCache(REMEMBERED_USERS)
        """Of runs of this process, for one that has to be stored as a whole."""
        self._remote_runs: LRUCache[str, _RemoteRun] = LRUCache(REMOTE_RUNS)
        self._process_lock: ProcessLock | None = None
        self._writer: RunWriter | None = None
        self._closing = threading.Event()
        self._not_summarised: list[str] = []
        self._summariser: threading.Thread | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._open()
            except sqlite3.Error as error:
                if not migrations.is_damaged(error):
                    raise
                aside = migrations.rename_damaged(path)
                self._notice = (
                    f"The history was damaged ({error}). It was set aside as {aside}, and a new one begins. "
                    "Restore a backup under the old name, or see what sqlite3's .recover gets out of it."
                )
                log.warning("store: %s", self._notice)
                self._open()
        except migrations.NewerFile as error:
            self._unusable = (
                f"{error}, so this version does not use it: its runs are not shown and new ones are not saved. "
                "Get the newer OpenQuery, or set OPENQUERY_DATA to another folder."
            )
            return
        except (sqlite3.Error, OSError) as error:
            self._unusable = not_saved_message(path, error)
            log.warning("store: %s", self._unusable)
            return
        self._writer = RunWriter(path, self._connect)
        self._summariser = self._summarise_earlier_runs(self._writer)

    @property
    def problem(self) -> str:
        """Why runs are not being saved; else what happened to a damaged file; else empty."""
        return self._unusable or (self._writer.problem if self._writer else "") or self._notice

    def append(self, run: Run, record: Record) -> None:
        """Queue an event for writing, and return at once. `flush` waits until it is on disk.

        Args:
            run: the run after the event.
            record: the event.
        """
        if self._writer is None or run.id in self._deleted:
            return
        number = self._next_numbers.get(run.id)
        if number is None:
            number = self._read_next_number(run.id)
        self._next_numbers[run.id] = number + 1
        process = (
            self._process_lock.name
            if self._process_lock and run.live and run.id not in self._live_here
            else ""
        )
        (self._live_here.add if run.live else self._live_here.discard)(run.id)

        def write(db: sqlite3.Connection) -> None:
            if not run_summaries.write_summary(db, run, insert=not number):
                return  # another process has deleted it
            if process:
                db.execute("INSERT OR REPLACE INTO run_processes VALUES (?, ?)", (run.id, process))
            elif not run.live:
                db.execute("DELETE FROM run_processes WHERE run = ?", (run.id,))
            data = event_to_json(record.event)
            db.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (run.id, number, record.at, data))

        self._writer.put(run.id, write)

    def save(self, run: Run) -> None:
        """Queue an ended run for storing as a whole, with its vectors if it has any: one that was imported, or whose
        events could not be written when they happened."""
        user = self._users.get(run.id)

        def write(db: sqlite3.Connection) -> None:
            document = run_to_json(run, vectors=True)
            if len(document) > LIMIT:
                document = run_to_json(run)
            for statement in run_schema.CLEAR_RUN:
                db.execute(statement, (run.id,))
            run_summaries.write_summary(db, run, insert=True)
            db.execute("INSERT OR REPLACE INTO imported_runs VALUES (?, ?)", (run.id, document))
            if user:
                db.execute(_SET_USER, (run.id, user))

        if self._writer is not None and run.id not in self._deleted:
            self._writer.put(run.id, write, whole=True)

    def unsaved(self, run_id: str) -> str:
        """Why what was appended to the run so far is not on disk; empty: it is, as far as it was written by now.
        `flush` waits for what is still queued."""
        if self._writer is not None and not self._writer.failed(run_id):
            return ""
        return self.problem or f"Its events could not be written to {self.path}."

    def load(self, run_id: str) -> Run | None:
        """The stored run, or None. One that is under way in another process is live, and says so in a note.

        Raises:
            StoreFailed: when its events cannot be read.
        """
        if self._writer is None:
            return None
        self.flush()
        before = self._remote_runs.get(run_id, _RemoteRun(0, Run(), Run()))
        try:
            with closing(self._connect()) as db:
                rows = db.execute(
                    "SELECT at, event FROM records WHERE run = ? AND number >= ? ORDER BY number",
                    (run_id, before.events),
                ).fetchall()
                # Read after the events: they may lack the end of a run whose process ended it meanwhile.
                process, document = db.execute(
                    "SELECT (SELECT process FROM run_processes WHERE run = ?1), "
                    "(SELECT document FROM imported_runs WHERE run = ?1)",
                    (run_id,),
                ).fetchone()
        except sqlite3.Error as error:
            raise self._read_error(error) from error
        records = [Record(at=at, event=event_from_json(data)) for at, data in rows]
        base = before.run
        if document is not None and not before.events:
            base = replace(run_from_json(document), id=run_id)
        if not records and base.id == "":
            return None
        if self._is_elsewhere(process):
            return self._follow(run_id, before, base, records)
        self._remote_runs.pop(run_id, None)
        return Run.from_records(records, base)

    def set_user(self, run_id: str, user: str) -> None:
        """Put the run into the history of `user`."""
        self._users[run_id] = user
        if self._writer is not None:
            self._writer.put(run_id, lambda db: db.execute(_SET_USER, (run_id, user)))

    def user(self, run_id: str) -> str:
        """In whose history the run is; empty: nobody's.

        Raises:
            StoreFailed: when the file cannot be read.
        """
        if (user := self._users.get(run_id)) or self._writer is None:
            return user or ""
        self.flush()
        with self.transaction("The owner of the run cannot be read") as db:
            row = db.execute("SELECT user FROM run_users WHERE run = ?", (run_id,)).fetchone()
        return str(row[0]) if row else ""

    def history(self, limit: int, user: str | None = None) -> tuple[RunSummary, ...]:
        """Stored runs, newest first: those of one user, or all.

        Raises:
            StoreFailed: when the file cannot be read.
        """
        if self._writer is None:
            return ()
        self.flush()
        try:
            with closing(self._connect()) as db:
                rows = db.execute(run_summaries.LIST, (user, limit)).fetchall()
        except sqlite3.Error as error:
            raise self._read_error(error) from error
        return tuple(self._summary(*row) for row in rows)

    def tag(self, run_ids: Iterable[str], tag: str, *, remove: bool = False) -> None:
        """Add a tag to these runs, or remove it from them.

        Raises:
            BadInput: when the tag is empty or too long.
        """
        tag, tagged = run_summaries.checked_tag(tag), tuple(run_ids)
        change = run_summaries.remove_tag if remove else run_summaries.add_tag

        def write(db: sqlite3.Connection) -> None:
            for run_id in tagged:
                change(db, run_id, tag)

        if self._writer is not None:
            self._writer.put(NO_RUN, write)

    def delete(self, run_id: str) -> None:
        """Delete the run, after everything that was appended to it so far."""
        self._deleted.add(run_id)
        self._next_numbers.pop(run_id, None)
        self._remote_runs.pop(run_id, None)

        def delete(db: sqlite3.Connection) -> None:
            for statement in run_schema.DELETE_RUN:
                db.execute(statement, (run_id,))

        if self._writer is not None:
            self._writer.put(NO_RUN, delete)

    def flush(self) -> None:
        """Wait until everything appended so far is on disk."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        self._closing.set()
        if self._summariser is not None:
            self._summariser.join()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._process_lock:
            self._process_lock.close()
            self._process_lock = None

    def _open(self) -> None:
        migrations.migrate(self.path, run_schema.STEPS)
        self._process_lock = self._process_lock or ProcessLock(self.path.parent)
        with closing(self._connect()) as db, db:
            self._mark_interrupted(db)
            self._not_summarised = [run_id for (run_id,) in db.execute(run_summaries.NOT_SUMMARISED)]
        self._process_lock.sweep()

    def _summarise_earlier_runs(self, writer: RunWriter) -> threading.Thread | None:
        """Summarise in a thread what earlier versions stored without a summary. None when there is nothing to do."""
        if not self._not_summarised:
            return None

        def work() -> None:
            for run_id in self._not_summarised:
                if self._closing.is_set():
                    return
                try:
                    run = self.load(run_id)
                except OpenQueryError as error:
                    log.warning("store: run %s cannot be summarised: %s", run_id, error)
                    continue
                if run is not None and not run.live:
                    writer.put(NO_RUN, partial(run_summaries.write_summary, run=run))

        thread = threading.Thread(target=work, name="openquery-summaries", daemon=True)
        thread.start()
        return thread

    @contextmanager
    def transaction(self, failed: str) -> Iterator[sqlite3.Connection]:
        """A transaction on another table of the same file.

        Args:
            failed: the beginning of the message when it fails, such as "The preset was not saved".

        Raises:
            StoreFailed: when the file cannot be used.
        """
        if self._writer is None:
            raise StoreFailed(self.problem or "The run store is closed.")
        try:
            with closing(self._connect()) as db, db:
                yield db
        except sqlite3.Error as error:
            raise StoreFailed(
                f"{failed}: {error}.", hint=f"Check the space and rights of {self.path.parent}."
            ) from error

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=migrations.BUSY_SECONDS)
        db.execute("PRAGMA synchronous = NORMAL")
        return db

    def _read_next_number(self, run_id: str) -> int:
        try:
            with closing(self._connect()) as db:
                row = db.execute("SELECT max(number) FROM records WHERE run = ?", (run_id,)).fetchone()
        except sqlite3.Error as error:
            if self._writer is not None:
                self._writer.record_failure(error)
            return 0
        return 0 if row[0] is None else int(row[0]) + 1

    def _mark_interrupted(self, db: sqlite3.Connection) -> None:
        """Mark live runs whose process is gone as interrupted."""
        live = db.execute(
            "SELECT id, (SELECT process FROM run_processes WHERE run = id) FROM runs WHERE status IN (?, ?)",
            _LIVE,
        ).fetchall()
        for run_id, process in live:
            if not self._is_elsewhere(process):
                db.execute("UPDATE runs SET status = ? WHERE id = ?", (RunStatus.INTERRUPTED, run_id))
                db.execute("DELETE FROM run_processes WHERE run = ?", (run_id,))

    def _is_elsewhere(self, process: str | None) -> bool:
        """Whether `process` is another one that is alive."""
        lock = self._process_lock
        return bool(lock and process and process != lock.name and lock.is_alive(process))

    def _follow(self, run_id: str, before: _RemoteRun, base: Run, records: list[Record]) -> Run:
        """The live run with its new events; the same object as before when there are none."""
        if not records and before.events:
            return before.shown
        run = base
        for record in records:
            run = run.apply(record)
        shown = replace(run, notes=(*run.notes, _OTHER_PROCESS))
        self._remote_runs[run_id] = _RemoteRun(before.events + len(records), run, shown)
        return shown

    def _summary(self, *row: Any) -> RunSummary:
        *columns, process = row
        line = run_summaries.summary(columns)
        elsewhere = self._is_elsewhere(process)
        own = self._process_lock is not None and process == self._process_lock.name
        if line.status in _LIVE and not (elsewhere or own):
            return replace(line, status=RunStatus.INTERRUPTED)
        return replace(line, elsewhere=elsewhere) if elsewhere else line

    def _read_error(self, error: sqlite3.Error) -> StoreFailed:
        return StoreFailed(
            f"{self.path} cannot be read: {error}.",
            hint="If it stays so, stop OpenQuery, move the file away, and start again."
            if migrations.is_damaged(error)
            else "Try again in a moment.",
        )
