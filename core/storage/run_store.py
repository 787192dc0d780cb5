"""The run store: the events of every run in SQLite, appended by one writer thread.

A run whose process was killed is read back as interrupted, with every event that was written. If an event cannot be
written (a full disk), the later events of that run are dropped too, so that the stored events are always a prefix of
the run.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from cachetools import LRUCache

from core.errors import StoreFailed
from core.run.events import Record
from core.run.fold import folded_run
from core.run.recorded_run import RecordedRun
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.storage import migrations, run_records, run_schema, run_summaries
from core.storage.run_processes import RunProcesses
from core.storage.run_writer import NO_RUN, Change, RunWriter, not_saved_message, storage_hint

log = logging.getLogger(__name__)

REMEMBERED_USERS = 10_000

_NOT_STORED = -1
_NEXT_NUMBER = (
    "SELECT (SELECT coalesce(max(number) + 1, 0) FROM records WHERE run = id) FROM runs WHERE id = ?"
)
_SET_USER = "INSERT OR REPLACE INTO run_users VALUES (?, ?)"


class _Database(NamedTuple):
    """The writer of the file, and its processes."""

    writer: RunWriter
    processes: RunProcesses


class RunStore:
    """Append-only storage of run events. Several processes may share the file. Any thread may call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._unusable = self._notice = ""
        self._next_numbers: dict[str, int] = {}
        self._deleted: set[str] = set()
        """Deleted runs. A late event must not restore them."""
        self._users: LRUCache[str, str] = LRUCache(REMEMBERED_USERS)
        """The users of this process's runs, for storing a run as a whole."""
        self._database: _Database | None = None
        """None if the file cannot be used, or was closed."""
        self._lookup: sqlite3.Connection | None = None
        self._lookup_lock = threading.Lock()
        self.next_unsaved: Callable[[], Run | None] = lambda: None
        """Returns an ended run that could not be stored. It is stored after a write succeeds again."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                processes = self._open()
            except sqlite3.Error as error:
                if not migrations.is_damaged(error):
                    raise
                aside = migrations.rename_damaged(path)
                self._notice = (
                    f"The history was damaged ({error}). It was set aside as {aside}, and a new one begins. "
                    "Restore a backup under the old name, or see what sqlite3's .recover gets out of it."
                )
                log.warning("store: %s", self._notice)
                processes = self._open()
        except migrations.UnsupportedFile as error:
            self._unusable = (
                f"{error.message} Its runs are not shown and new ones are not saved. {error.hint}"
            )
        except (sqlite3.Error, OSError) as error:
            self._unusable = not_saved_message(path, error)
            log.warning("store: %s", self._unusable)
        else:
            self._database = _Database(RunWriter(path, self._connect, self._save_next), processes)

    @property
    def problem(self) -> str:
        """The reason why runs are not saved, the fate of a damaged file, or ""."""
        return self._unusable or (self._database.writer.problem if self._database else "") or self._notice

    def append(self, run: Run, record: Record) -> None:
        """Queue an event for writing, with the run after it. `flush` waits until it is on disk."""
        if self._database is None or run.id in self._deleted:
            return
        writer, processes = self._database
        if writer.failed(run.id) and not run.live:
            self.save(run)
            return
        if (number := self._next_numbers.get(run.id)) is None:
            number = self._read_next_number(writer, run.id)
        self._next_numbers[run.id] = number + 1
        process = processes.recorded(run)

        def write(db: sqlite3.Connection) -> None:
            if not run_summaries.write_summary(db, run, insert=not number):
                return  # another process has deleted the run
            if process:
                db.execute(*process)
            run_records.append(db, run.id, number, record)

        writer.put(run.id, write)

    def save(self, run: Run) -> None:
        """Queue an ended run for storing as a whole.

        Its vectors are included. The run was imported without events, or its events could not be written in time.
        """
        self.save_recorded(RecordedRun(run=run, base=run))

    def save_recorded(self, recorded: RecordedRun) -> None:
        """Queue an ended run for storing as a whole. Its events are included."""
        run = recorded.run
        user = self._users.get(run.id)
        if recorded.records:
            self._next_numbers[run.id] = len(recorded.records)

        def write(db: sqlite3.Connection) -> None:
            run_records.write(db, recorded)
            if user:
                db.execute(_SET_USER, (run.id, user))

        if run.id not in self._deleted:
            self._put(write, run.id)

    def unsaved(self, run_id: str) -> str:
        """Return why events of the run could not be saved, or "".

        `flush` waits for events that are still queued.
        """
        if self._database and not self._database.writer.failed(run_id):
            return ""
        return self.problem or f"Its events could not be written to {self.path}."

    def load(self, run_id: str) -> Run | None:
        """Return the stored run, or None. A run of another process may be live, with a note.

        Raises:
            StoreFailed: when its events cannot be read.
        """
        if self._database is None:
            return None
        self.flush()
        processes = self._database.processes
        before = processes.remote(run_id)
        with self._reading() as db:
            records, stored_base = run_records.read(db, run_id, first=before.events)
            # Read the process after the events, which may lack an end that was written meanwhile.
            process = db.execute("SELECT process FROM run_processes WHERE run = ?", (run_id,)).fetchone()
            next_number = db.execute(_NEXT_NUMBER, (run_id,)).fetchone()
        base = before.run if before.events else stored_base or before.run
        if not records and base.id == "":
            return None
        if process and processes.is_elsewhere(process[0]):
            return processes.follow(run_id, base, records)
        processes.forget(run_id)
        if next_number:
            self._next_numbers[run_id] = next_number[0]
        return folded_run(records, base)

    def recorded(self, run_id: str) -> RecordedRun | None:
        """Return a stored run with its written events, or None.

        Raises:
            StoreFailed: when its events cannot be read.
        """
        if self._database is None:
            return None
        self.flush()
        with self._reading() as db:
            records, base = run_records.read(db, run_id)
        return RecordedRun.folded(records, base) if records or base else None

    def set_user(self, run_id: str, user: str) -> None:
        """Put the run into the history of `user`."""
        self._users[run_id] = user
        self._put(lambda db: db.execute(_SET_USER, (run_id, user)))

    def user(self, run_id: str) -> str:
        """Return the user whose history has the run, or "".

        Raises:
            StoreFailed: when the file cannot be read.
        """
        if (user := self._users.get(run_id)) or self._database is None:
            return user or ""
        self.flush()
        with self.transaction("The owner of the run cannot be read") as db:
            row = db.execute("SELECT user FROM run_users WHERE run = ?", (run_id,)).fetchone()
        return str(row[0]) if row else ""

    def history(
        self,
        limit: int = 100,
        user: str | None = None,
        conversation: str | None = None,
        before: tuple[str, str] | None = None,
    ) -> tuple[RunSummary, ...]:
        """Return summaries of stored runs, newest first.

        `user` and `conversation` select the runs of one user and the turns of one conversation. `before` is the start
        and the id of the last run of the page before.

        Raises:
            StoreFailed: when the file cannot be read.
        """
        if self._database is None:
            return ()
        self.flush()
        processes = self._database.processes
        with self._reading() as db:
            rows = db.execute(
                run_summaries.LIST, (user, limit, conversation, *(before or (None, None)))
            ).fetchall()
        return tuple(processes.current(run_summaries.summary(columns), process) for *columns, process in rows)

    def mentioning(self, words: str) -> frozenset[str]:
        """Return the ids of the ended runs that have all words in their question, answer or titles of sources.

        Raises:
            StoreFailed: when the file cannot be read.
        """
        if self._database is None:
            return frozenset()
        self.flush()
        with self._reading() as db:
            return run_summaries.mentioning(db, words)

    def tag(self, run_ids: Iterable[str], tag: str, *, remove: bool = False) -> None:
        """Add a tag to these runs, or remove it.

        Raises:
            BadInput: when the tag is empty or too long.
        """
        tag, tagged = run_summaries.checked_tag(tag), tuple(run_ids)
        change = run_summaries.remove_tag if remove else run_summaries.add_tag

        def write(db: sqlite3.Connection) -> None:
            for run_id in tagged:
                change(db, run_id, tag)

        self._put(write)

    def rename(self, conversation: str, title: str) -> None:
        """Name a conversation. With "" it is called by its first question again.

        Raises:
            BadInput: when the title is too long.
        """
        title = run_summaries.checked_title(title)
        self._put(lambda db: run_summaries.set_title(db, conversation, title))

    def delete(self, run_id: str) -> None:
        """Delete the run after its queued events. It is deleted when this returns.

        Raises:
            StoreFailed: when the deletion could not be committed. The run is then still stored.
        """

        def delete(db: sqlite3.Connection) -> None:
            for statement in run_schema.DELETE_RUN:
                db.execute(statement, (run_id,))

        if self._database:
            writer, processes = self._database
            try:
                writer.commit(delete)
            except sqlite3.Error as error:
                raise StoreFailed(
                    f"The run was not deleted: {error}.", hint=storage_hint(self.path, error)
                ) from error
            processes.forget(run_id)
        self._deleted.add(run_id)
        self._next_numbers.pop(run_id, None)

    def is_outdated(self, run_id: str) -> bool:
        """Whether another process has deleted a run of this process, or added events to it."""
        if self._database is None or (stored := self._next_stored_number(run_id)) is None:
            return False
        if stored != _NOT_STORED:
            return stored > self._next_numbers.get(run_id, stored)
        self.flush()  # its first event may still be queued
        return not self.unsaved(run_id) and self._next_stored_number(run_id) == _NOT_STORED

    def _next_stored_number(self, run_id: str) -> int | None:
        """Return the number after a run's last event in the file, `_NOT_STORED`, or None if the file cannot be read."""
        with suppress(StoreFailed):
            rows = self.look_up(_NEXT_NUMBER, (run_id,), "The run cannot be read")
            return int(rows[0][0]) if rows else _NOT_STORED
        return None

    def look_up(self, query: str, values: Sequence[str], failed: str) -> list[Any]:
        """Return the rows of a short query.

        The connection stays open, because pages ask several times per drawing. Each opening has a dozen calls
        without Python's global lock, and a thread waits for the lock after each.

        Args:
            query: a SELECT in SQL.
            values: the values of its parameters.
            failed: the beginning of the error message.

        Raises:
            StoreFailed: when the file cannot be used.
        """
        self._require_open()
        with self._lookup_lock:
            try:
                if self._lookup is None:
                    self._lookup = self._connect()
                # `fetchone` would leave the statement open, and with it the transaction.
                return self._lookup.execute(query, values).fetchall()
            except sqlite3.Error as error:
                self._close_lookup()
                raise self._failure(failed, error) from error

    def _close_lookup(self) -> None:
        if self._lookup is not None:
            self._lookup.close()
            self._lookup = None

    def flush(self) -> None:
        """Wait until everything appended is on disk."""
        if self._database:
            self._database.writer.flush()

    def close(self) -> None:
        """Write queued events, and release the file."""
        if self._database:
            writer, processes = self._database
            writer.close()
            self._database = None
            with self._lookup_lock:
                self._close_lookup()
            processes.close()

    @contextmanager
    def transaction(self, failed: str) -> Iterator[sqlite3.Connection]:
        """Yield a transaction on another table of the file.

        Args:
            failed: the beginning of the error message, such as "The preset was not saved".

        Raises:
            StoreFailed: when the file cannot be used.
        """
        self._require_open()
        try:
            with closing(self._connect()) as db, db:
                yield db
        except sqlite3.Error as error:
            raise self._failure(failed, error) from error

    def _require_open(self) -> None:
        if self._database is None:
            raise StoreFailed(self.problem or "The run store is closed.")

    def _failure(self, failed: str, error: sqlite3.Error) -> StoreFailed:
        return StoreFailed(f"{failed}: {error}.", hint=storage_hint(self.path, error))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._connect()) as db:
                yield db
        except sqlite3.Error as error:
            hint = "Try again in a moment."
            if migrations.is_damaged(error):
                hint = "If it stays so, stop OpenQuery, move the file away, and start again."
            raise StoreFailed(f"{self.path} cannot be read: {error}.", hint=hint) from error

    def _save_next(self) -> None:
        if run := self.next_unsaved():
            self.save(run)

    def _put(self, change: Change, whole_run: str = NO_RUN) -> None:
        """Queue a change, if the file can be used. A change that stores the whole of a run names its id."""
        if self._database:
            self._database.writer.put(whole_run, change, whole=bool(whole_run))

    def _open(self) -> RunProcesses:
        migrations.migrate(self.path, run_schema.SCHEMA)
        processes = RunProcesses(self.path.parent)
        try:
            with closing(self._connect()) as db, db:
                processes.mark_interrupted(db)
        except BaseException:
            processes.close()
            raise
        return processes

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=migrations.BUSY_SECONDS, check_same_thread=False)
        db.execute("PRAGMA synchronous = NORMAL")
        return db

    def _read_next_number(self, writer: RunWriter, run_id: str) -> int:
        try:
            with closing(self._connect()) as db:
                row = db.execute("SELECT max(number) FROM records WHERE run = ?", (run_id,)).fetchone()
        except sqlite3.Error as error:
            writer.record_failure(error)
            return 0
        return 0 if row[0] is None else int(row[0]) + 1
