"""Migrate the schema of SQLite files in one transaction, after a backup."""

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.errors import StoreFailed

log = logging.getLogger(__name__)

BUSY_SECONDS = 10.0
_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
_SUFFIXES = ("", "-wal", "-shm")
"""The files of one database: the data, the write-ahead log, its index."""


class UnsupportedFile(StoreFailed):
    """The file belongs to an unsupported version of OpenQuery. It was not changed."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a database.

    `tables` is the SQL that creates the tables of `version`, the first supported version. `steps[n]` is the SQL that
    migrates version `version + n` to the next. `added` is one statement that creates, if it is missing, a table that
    earlier programs of the latest version do not know: they can still use the file.
    """

    version: int
    tables: str
    steps: tuple[str, ...] = ()
    added: str = ""

    @property
    def latest(self) -> int:
        """The version that this OpenQuery writes."""
        return self.version + len(self.steps)


def migrate(path: Path, schema: Schema) -> None:
    """Create the database, or migrate it to the latest version.

    A backup of the old database, `<name>.v<version>.bak`, is written first. All steps are one transaction. Several
    processes may call this at once.

    Raises:
        UnsupportedFile: when its version is newer, or older than the first supported version.
        sqlite3.Error, OSError: when it cannot be read, copied or changed. It is then unchanged.
    """
    make_private(path)
    latest, version = schema.latest, version_of(path)
    if version > latest:
        raise UnsupportedFile(
            f"{path} was written by a newer OpenQuery.",
            hint="Get that, or set OPENQUERY_DATA to another folder.",
        )
    if 0 < version < schema.version:
        raise UnsupportedFile(
            f"{path} was written by an unreleased OpenQuery.",
            hint="Move it away, or set OPENQUERY_DATA to another folder.",
        )
    if version == latest:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as db, db:
            db.execute(schema.added)
        return
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        use_write_ahead_log(db)
        with write_transaction(db):  # the backup equals the migrated data, because nobody else can write
            version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may have migrated it
            if 0 < version < latest:
                copy = path.with_name(f"{path.name}.v{version}.bak")
                _copy(path, copy)
                log.warning("%s is being migrated; the backup is %s", path, copy.name)
            steps = schema.steps[version - schema.version :] if version else (schema.tables, *schema.steps)
            for statement in ";".join((*steps, schema.added)).split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {max(version, latest)}")


@contextmanager
def write_transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run one write transaction, excluding other writers.

    Other connections and processes wait. `db` is in autocommit mode.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:  # SQLite rolls back by itself when the disk is full
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def make_private(path: Path) -> None:
    """Restrict a database to its owner, creating it if missing.

    SQLite gives its log files the same rights, independent of the umask.

    Raises:
        OSError: when it cannot be created.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        # By path and not by descriptor, because closing a descriptor would release SQLite's locks on the file.
        for suffix in _SUFFIXES:
            with suppress(OSError):  # the file is missing, or another user owns it
                path.with_name(path.name + suffix).chmod(0o600)


def use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch to write-ahead logging when no other connection holds a lock.

    SQLite's busy timeout does not apply to this switch. It fails at once if two processes open a new file at the same
    moment.

    Raises:
        sqlite3.OperationalError: when the file is still locked after `BUSY_SECONDS`.
    """
    ends = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= ends:
                raise
            time.sleep(0.01)
        else:
            return


def version_of(path: Path) -> int:
    """Return the schema version of the file, or 0. It is 0 if the file is missing or empty. Nothing is changed.

    Raises:
        sqlite3.Error: when the file is not a database.
    """
    if not path.exists() or not path.stat().st_size:
        return 0
    # Without mode=ro, which fails while another process removes the write-ahead log on closing.
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as db:
        db.execute(
            "SELECT count(*) FROM sqlite_master"
        ).fetchone()  # `user_version` alone is read from any header
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        return version


def is_damaged(error: Exception) -> bool:
    """Whether SQLite reports that the file itself is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def rename_damaged(path: Path) -> Path:
    """Rename a damaged database, and return its new path. Nothing is deleted."""
    aside = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}Z")
    for part in _SUFFIXES:
        file = path.with_name(path.name + part)
        if file.exists():
            file.rename(aside.with_name(aside.name + part))
    return aside


def _copy(path: Path, copy: Path) -> None:
    """Back up a database with its write-ahead log. The copy is renamed into place when it is complete."""
    partial = copy.with_name(f"{copy.name}.{os.getpid()}")
    os.close(os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
    try:
        with (
            closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as source,
            closing(sqlite3.connect(partial)) as target,
        ):
            source.backup(target)
        partial.replace(copy)
    finally:
        partial.unlink(missing_ok=True)
