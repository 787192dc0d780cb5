"""A bounded cache on disk, shared by several processes, for pages, articles and vectors.

No fault of the disk reaches the caller. The entry is then missing, and `problem` gives the reason.
"""

import json
import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TypeVar

from core.storage.migrations import UnsupportedFile, is_damaged, make_private, use_write_ahead_log

T = TypeVar("T")
Bytes = bytes | memoryview
log = logging.getLogger(__name__)

_VERSION = 2
_BUSY_SECONDS = 2.0
_USED_EVERY = 3600
"""The minimum seconds between two updates of an entry's last use, so that reading seldom writes."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    used INTEGER NOT NULL,  -- seconds since 1970
    size INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (space, key)
) STRICT;
CREATE INDEX IF NOT EXISTS by_use ON entries (used, space, size);
"""
_GET = """SELECT id, key, used, checksum, value FROM entries
    WHERE space = ? AND key IN (SELECT value FROM json_each(?))"""
_PUT = """INSERT INTO entries (space, key, used, size, checksum, value) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (space, key) DO UPDATE
    SET used = excluded.used, size = excluded.size, checksum = excluded.checksum, value = excluded.value"""
_USED = "UPDATE entries SET used = ? WHERE id IN (SELECT value FROM json_each(?))"
_FORGET = "DELETE FROM entries WHERE id IN (SELECT value FROM json_each(?))"
_OLDEST = """DELETE FROM entries WHERE id IN (
    SELECT id FROM (SELECT id, SUM(size) OVER (ORDER BY used, id) - size AS before FROM entries)
    WHERE before < ?)"""


class DiskCache:
    """Bytes by space and key, in one SQLite file of about `limit_megabytes`. 0 stores nothing.

    Every call blocks for milliseconds at most and may be made from any thread. The least recently used entries are
    removed for new entries. An entry with a wrong checksum is dropped. A file that is no database or of an older
    version is replaced. A file of a newer version is kept unchanged, and nothing is cached.
    """

    def __init__(self, path: Path, limit_megabytes: int) -> None:
        self.path = path
        self.limit = limit_megabytes * 1_000_000
        self.problem = ""
        """The reason why the latest call could not read or write, for the System page, or ""."""
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._unmeasured = 0
        """Bytes put since the last measurement of the size."""

    def get_many(self, space: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values. Keys without a value are omitted."""
        return self._try(lambda database: self._get(database, space, keys), {}) if keys else {}

    def put_many(self, space: str, items: Mapping[str, Bytes]) -> None:
        """Store values in one transaction. A value larger than an eighth of the limit is not stored."""
        fitting = {key: value for key, value in items.items() if len(value) * 8 <= self.limit}
        if fitting:
            self._try(lambda database: self._put(database, space, fitting), None)

    def size(self) -> dict[str, tuple[int, int]]:
        """Count entries and bytes by space."""
        question = "SELECT space, COUNT(*), SUM(size) FROM entries GROUP BY space"
        return self._try(
            lambda database: {row[0]: (row[1], row[2]) for row in database.execute(question)}, {}
        )

    def clear(self, space: str | None = None) -> None:
        """Delete a space, or everything, and free the disk space."""

        def emptied(database: sqlite3.Connection) -> None:
            with database:
                database.execute("DELETE FROM entries WHERE space = ? OR ? IS NULL", (space, space))
            database.executescript("PRAGMA incremental_vacuum")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

        self._try(emptied, None)

    def close(self) -> None:
        """Close the database. A later call opens it again."""
        with self._lock:
            self._disconnect()

    def _get(self, database: sqlite3.Connection, space: str, keys: Sequence[str]) -> dict[str, bytes]:
        current_time = int(time.time())
        values: dict[str, bytes] = {}
        stale: list[int] = []
        damaged: list[int] = []
        for number, key, used, checksum, value in database.execute(_GET, (space, json.dumps(list(keys)))):
            if checksum != _checksum(space, key, value):
                damaged.append(number)
                continue
            values[key] = value
            if used < current_time - _USED_EVERY:
                stale.append(number)
        if stale or damaged:
            with database:
                database.execute(_USED, (current_time, json.dumps(stale)))
                database.execute(_FORGET, (json.dumps(damaged),))
        if damaged:
            log.warning("dropped %d damaged entries of %s from the cache", len(damaged), space)
        return values

    def _put(self, database: sqlite3.Connection, space: str, items: Mapping[str, Bytes]) -> None:
        current_time = int(time.time())
        rows = [
            (space, key, current_time, len(value), _checksum(space, key, value), value)
            for key, value in items.items()
        ]
        with database:
            database.executemany(_PUT, rows)
            self._unmeasured += sum(map(len, items.values()))
            if self._unmeasured * 20 > self.limit:
                self._make_room(database)

    def _make_room(self, database: sqlite3.Connection) -> None:
        total = database.execute("SELECT COALESCE(SUM(size), 0) FROM entries").fetchone()[0]
        if total * 20 > self.limit * 19:
            database.execute(_OLDEST, (total - self.limit * 9 // 10,))
        self._unmeasured = 0

    def _try(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run `work` on the open database. On failure the result is `otherwise`, and `problem` is set."""
        if not self.limit:
            return otherwise
        with self._lock:
            for attempt in (1, 2):
                try:
                    result = work(self._opened())
                except (sqlite3.Error, OSError, UnsupportedFile) as error:
                    self._disconnect()
                    if attempt == 1 and is_damaged(error):
                        self._replace(error)
                        continue
                    self.problem = f"The cache at {self.path} cannot be used: {error}."
                    log.warning(self.problem)
                    return otherwise
                self.problem = ""
                return result
        return otherwise

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private(self.path)
            database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, check_same_thread=False)
            # A crash of the machine may lose the last entries, never the file: a cache needs no sync per write.
            database.execute("PRAGMA synchronous = NORMAL")
            self._connection = database
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise UnsupportedFile("a newer OpenQuery wrote it")
            if version < _VERSION:
                _create(database)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _replace(self, error: Exception) -> None:
        log.warning("the cache at %s was damaged and was replaced: %s", self.path, error)
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)


def _create(database: sqlite3.Connection) -> None:
    """Create the tables. A cache of another version is dropped, not migrated."""
    # A vector then fits into one page: filling the file takes three quarters of the CPU needed with 4 kB.
    database.execute("PRAGMA page_size = 16384")
    database.execute("PRAGMA auto_vacuum = INCREMENTAL")
    use_write_ahead_log(database)
    with database:
        database.execute("BEGIN IMMEDIATE")
        if database.execute("PRAGMA user_version").fetchone()[0] < _VERSION:
            database.execute("DROP TABLE IF EXISTS entries")
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {_VERSION}")


def _checksum(space: str, key: str, value: Bytes) -> int:
    return zlib.crc32(f"{space}\0{key}".encode(), zlib.crc32(value))
