"""The writer thread of the run store: queued changes, batched into one transaction."""

import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from core.errors import StoreFailed

log = logging.getLogger(__name__)

NO_RUN = ""

Change = Callable[[sqlite3.Connection], object]
_IN_USE = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))


@dataclass(frozen=True, slots=True)
class _Write:
    """A queued change to a run.

    After a failure, changes to the run are dropped, except with `NO_RUN` or if the `whole` run is stored again.
    """

    run: str
    change: Change
    whole: bool = False
    committed: Future[None] | None = None
    """Resolved when the change is on disk or has failed."""


class RunWriter:
    """Makes changes in the order in which they are queued.

    After a change to a run fails, later changes to it are dropped, so that the stored run has no gaps, until the whole
    run could be stored.
    """

    def __init__(
        self,
        path: Path,
        connect: Callable[[], sqlite3.Connection],
        written: Callable[[], object] = lambda: None,
    ) -> None:
        """`written` is called after a successful change if changes to other runs have failed.

        The disk may have space again.
        """
        self._path = path
        self._connect = connect
        self._written = written
        self.problem = ""
        """The reason why the latest change failed, or ""."""
        self._db: sqlite3.Connection | None = None
        self._failed_runs: set[str] = set()
        """Runs with an event that could not be written."""
        self._queue: queue.SimpleQueue[_Write | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="openquery-store", daemon=True)
        self._thread.start()

    def put(self, run_id: str, change: Change, *, whole: bool = False) -> None:
        """Queue a change. `whole`: the change stores all of the run."""
        self._queue.put(_Write(run_id, change, whole))

    def commit(self, change: Change) -> None:
        """Make a change after all queued changes, and await its commit.

        Raises:
            Exception: the error of SQLite or of the change. Nothing was changed then.
        """
        committed: Future[None] = Future()
        self._queue.put(_Write(NO_RUN, change, committed=committed))
        committed.result()

    def failed(self, run_id: str) -> bool:
        """Whether a change to the run failed, and the whole run was not stored since."""
        return run_id in self._failed_runs

    def flush(self) -> None:
        """Wait until everything queued is on disk."""
        if self._thread.is_alive():
            flushed = threading.Event()
            self._queue.put(flushed)
            flushed.wait()

    def close(self) -> None:
        """Write queued changes, and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def record_failure(self, error: Exception) -> None:
        """Log a failure, and show it as `problem` until a change succeeds."""
        self.problem = not_saved_message(self._path, error)
        expected = isinstance(error, (sqlite3.Error, StoreFailed))
        log.error("store: %s", self.problem, exc_info=None if expected else error)

    def _work(self) -> None:
        closing = False
        while not (closing and self._queue.empty()):  # the last write may queue failed runs again
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            try:
                self._commit([item for item in batch if isinstance(item, _Write)])
            finally:
                for item in batch:
                    if isinstance(item, threading.Event):
                        item.set()
            closing = closing or None in batch
        if self._db is not None:
            self._db.close()

    def _commit(self, writes: list[_Write]) -> None:
        writes = [write for write in writes if write.whole or write.run not in self._failed_runs]
        if not writes:
            return
        try:
            self._db = self._db or self._connect()
            for write in writes:
                write.change(self._db)
            self._db.commit()
        except Exception as error:  # any error, because all other runs depend on this thread
            if self._db is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._db.rollback()
            if len(writes) > 1:
                for write in writes:  # one write may have failed the whole batch
                    self._commit([write])
                return
            self._failed_runs |= {write.run for write in writes} - {NO_RUN}
            self.record_failure(error)
            for write in writes:
                if write.committed:
                    write.committed.set_exception(error)
        else:
            self._failed_runs -= {write.run for write in writes if write.whole}
            self.problem = ""
            for write in writes:
                if write.committed:
                    write.committed.set_result(None)
            if self._failed_runs:
                self._written()


def not_saved_message(path: Path, error: Exception) -> str:
    """Return the message for runs that cannot be written to `path`."""
    return f"Runs are not being saved: {error}. {storage_hint(path, error)}"


def storage_hint(path: Path, error: Exception) -> str:
    """Return advice about an error of the file at `path`."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _IN_USE:
        return f"Another process keeps {path.name} locked; try again in a moment."
    if code == sqlite3.SQLITE_ERROR:  # a statement does not fit the tables
        return (
            f"{path} does not have the tables that this version writes. Nothing was changed: move it away, or restore "
            f"a backup ({path.name}.v….bak) in its place."
        )
    return f"Check the space and rights of {path.parent}."
