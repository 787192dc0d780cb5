"""Schema migrations of SQLite files: all steps in one transaction, after a backup."""

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
    """The file was written by a version of OpenQuery whose files this one does not read. It was not changed."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a database.

    `tables` is the SQL that creates them as they were in `version`, the first that is read; `steps[n]` is the SQL that
    leads from version `version + n` to the next.
    """

    version: int
    tables: str
    steps: tuple[str, ...] = ()

    @property
    def latest(self) -> int:
        """The version that this OpenQuery writes."""
        return self.version + len(self.steps)


def migrate(path: Path, schema: Schema) -> None:
    """Create the database, or migrate it to the latest version.

    A backup of a database that is migrated, `<name>.v<version>.bak`, is written first. All steps are one transaction.
    Several processes may call this at once.

    Raises:
        UnsupportedFile: when it is of a newer version, or of one before the first that is read.
        sqlite3.Error, OSError: when it cannot be read, copied or changed; it is then unchanged.
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
        return
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        use_write_ahead_log(db)
        with write_transaction(db):  # nobody else writes, so what is copied is what is changed
            version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may have been quicker
            if 0 < version < latest:
                copy = path.with_name(f"{path.name}.v{version}.bak")
                _copy(path, copy)
                log.warning("%s is being migrated; the backup is %s", path, copy.name)
            steps = schema.steps[version - schema.version :] if version else (schema.tables, *schema.steps)
            for statement in ";".join(steps).split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {max(version, latest)}")


@contextmanager
def write_transaction(db: sqlite3.Connection) -> Iterator[None]:
    """One write transaction, which excludes those of other connections and processes. `db` is in autocommit mode."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:  # SQLite itself ends it when the disk is full
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def make_private(path: Path) -> None:
    """Create the database if it is not there, and let nobody but its owner read or write it.

    SQLite gives the files that it puts beside it the same rights, whatever the umask is.

    Raises:
        OSError: when it cannot be created.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        # Not by a descriptor: closing one would release the locks that SQLite holds on the file in this process.
        for suffix in _SUFFIXES:
            with suppress(OSError):  # it is not there, or belongs to somebody else
                path.with_name(path.name + suffix).chmod(0o600)


def use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch the database to write-ahead logging, once no other connection holds a lock.

    SQLite's own busy timeout does not apply to this switch: it fails at once when two processes open a new
    file at the same moment.

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
    """The schema version of the file, 0 when it does not exist. Nothing is changed.

    Raises:
        sqlite3.Error: when it is not a database.
    """
    if not path.exists() or not path.stat().st_size:
        return 0
    # Not by mode=ro: that fails while another process, as the last one, removes the write-ahead log.
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as db:
        db.execute(
            "SELECT count(*) FROM sqlite_master"
        ).fetchone()  # the version alone is read from any header
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
    """A backup by SQLite, which includes the write-ahead log, renamed into place when it is complete."""
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
