"""The one thread that writes runs to disk: whatever has come meanwhile as one transaction."""

from __future__ import annotations

import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.errors import StoreFailed

log = logging.getLogger(__name__)

NO_RUN = ""

Change = Callable[[sqlite3.Connection], object]


@dataclass(frozen=True, slots=True)
class _Write:
    """Something to do to a run on disk; with `NO_RUN` it is done whatever became of a run before."""

    run: str
    to: Change


class Writer:
    """Makes changes in the order in which they are put. After a change to a run fails, further ones to it are
    left out, so that what is stored of it has no holes."""

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self.trouble = ""
        """Why the latest change could not be made; empty when it could."""
        self._db: sqlite3.Connection | None = None
        self._torn: set[str] = set()
        """Runs of which an event could not be written."""
        self._todo: queue.SimpleQueue[_Write | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="openquery-store", daemon=True)
        self._thread.start()

    def put(self, run_id: str, change: Change) -> None:
        """Have a change made. Returns at once."""
        self._todo.put(_Write(run_id, change))

    def flush(self) -> None:
        """Wait until everything put so far is on disk."""
        if self._thread.is_alive():
            done = threading.Event()
            self._todo.put(done)
            done.wait()

    def close(self) -> None:
        self._todo.put(None)
        self._thread.join()

    def failed(self, error: Exception) -> None:
        """Remember why nothing is kept for now."""
        self.trouble = not_saved(self._path, error)
        foreseen = isinstance(error, (sqlite3.Error, StoreFailed))
        log.error("store: %s", self.trouble, exc_info=None if foreseen else error)

    def _work(self) -> None:
        while True:
            batch = [self._todo.get()]
            while not self._todo.empty():
                batch.append(self._todo.get())
            try:
                self._commit([item for item in batch if isinstance(item, _Write)])
            finally:
                for item in batch:
                    if isinstance(item, threading.Event):
                        item.set()
            if None in batch:
                if self._db is not None:
                    self._db.close()
                return

    def _commit(self, writes: list[_Write]) -> None:
        writes = [write for write in writes if write.run not in self._torn]
        if not writes:
            return
        try:
            self._db = self._db or self._connect()
            for write in writes:
                write.to(self._db)
            self._db.commit()
        except Exception as error:  # of whatever kind: all other runs wait for this thread
            if self._db is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._db.rollback()
            if len(writes) > 1:
                for write in writes:  # one of them may be at fault for all
                    self._commit([write])
                return
            self._torn |= {write.run for write in writes} - {NO_RUN}
            self.failed(error)
        else:
            self.trouble = ""


def not_saved(path: Path, error: Exception) -> str:
    return f"Runs are not being saved: {error}. Check the space and rights of {path.parent}."
