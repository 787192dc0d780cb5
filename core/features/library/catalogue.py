"""The library's catalogue: documents of collections, ingests and their tasks. SQLite, for several processes.

Stored files are written and deleted inside the transactions that begin or end their use, so that no process
deletes a file that another has just begun to use.
"""

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from core.errors import StoreFailed
from core.features.library.catalogue_schema import SCHEMA
from core.features.library.document_files import DocumentFiles
from core.features.library.ingests import Ingest, IngestTask
from core.model import LibraryDocument
from core.storage import migrations

_ENDED_INGESTS = 50
"""The number of ended ingests to keep."""
_ABANDONED_FILE = 3600.0
"""Seconds after which no process can still be writing a temporary file."""

_IN_USE = """SELECT 1 FROM documents WHERE digest = ?1
    UNION ALL SELECT 1 FROM tasks WHERE digest = ?1 AND state NOT IN ('done', 'failed', 'skipped') LIMIT 1"""

_INGEST = tuple(f.name for f in fields(Ingest) if f.name not in ("tasks", "seconds"))
_TASK = tuple(f.name for f in fields(IngestTask) if f.name != "body")
_DOCUMENT = tuple(f.name for f in fields(LibraryDocument) if f.name != "stored")
"""The columns that are fields of a value."""
_INGESTS, _TASKS = TypeAdapter(tuple[Ingest, ...]), TypeAdapter(tuple[IngestTask, ...])


class Catalogue:
    """The catalogue in a SQLite file, usable from any thread. Calls block for milliseconds.

    Raises:
        StoreFailed: when the file cannot be read or written.
    """

    def __init__(self, path: Path, files: DocumentFiles) -> None:
        self.path = path
        self.files = files
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    # --- ingests ------------------------------------------------------------------------------------------

    def add_ingest(self, ingest: Ingest, tasks: Sequence[IngestTask] = ()) -> tuple[IngestTask, ...]:
        """Store a new ingest, and return its tasks.

        The oldest ended ingests are deleted.
        """
        with self._transaction() as db:
            _insert(db, "ingests", _row(ingest, _INGEST))
            added = self._append(db, ingest.id, tasks)
            db.execute(
                "DELETE FROM ingests WHERE state IN ('done', 'stopped') AND id NOT IN "
                "(SELECT id FROM ingests ORDER BY started DESC LIMIT ?)",
                (_ENDED_INGESTS,),
            )
            return added

    def update_ingest(self, ingest: Ingest) -> None:
        """Store the state, stage and message of an ingest."""
        with self._transaction() as db:
            db.execute(
                "UPDATE ingests SET state = ?, stage = ?, message = ? WHERE id = ?",
                (ingest.state, ingest.stage, ingest.message, ingest.id),
            )

    def claim_ingest(self, ingest: Ingest, owner: str) -> bool:
        """Make `owner` the owner of an abandoned ingest.

        Returns False if another process claimed it, or it has ended.
        """
        with self._transaction() as db:
            claimed = db.execute(
                "UPDATE ingests SET owner = ?, state = 'live', message = '' "
                "WHERE id = ? AND owner = ? AND state IN ('live', 'interrupted')",
                (owner, ingest.id, ingest.owner),
            )
            return claimed.rowcount == 1

    def ingest(self, name: str) -> Ingest | None:
        """Return the ingest of this id, without tasks, or None."""
        return next(
            iter(_INGESTS.validate_python(self._read("SELECT * FROM ingests WHERE id = ?", name))), None
        )

    def ingests(self, collection: str = "") -> tuple[Ingest, ...]:
        """Return the stored ingests without tasks, latest first, by default those of all collections."""
        query = "SELECT * FROM ingests WHERE ?1 IN ('', collection) ORDER BY started DESC"
        return _INGESTS.validate_python(self._read(query, collection))

    def unfinished_ingests(self) -> tuple[Ingest, ...]:
        """Return unfinished ingests of all processes, without tasks."""
        return _INGESTS.validate_python(
            self._read("SELECT * FROM ingests WHERE state IN ('live', 'interrupted') ORDER BY started")
        )

    # --- tasks --------------------------------------------------------------------------------------------

    def add_tasks(self, ingest: str, tasks: Sequence[IngestTask]) -> tuple[IngestTask, ...]:
        """Append tasks to an ingest, store their bytes, and return the numbered tasks."""
        with self._transaction() as db:
            return self._append(db, ingest, tasks)

    def _append(
        self, db: sqlite3.Connection, ingest: str, tasks: Sequence[IngestTask]
    ) -> tuple[IngestTask, ...]:
        numbers = "SELECT coalesce(max(number) + 1, 0) FROM tasks WHERE ingest = ?"
        (first,) = db.execute(numbers, (ingest,)).fetchone()
        added = []
        for number, task in enumerate(tasks, first):
            self._store_body(task)
            added.append(replace(task, ingest=ingest, number=number, body=None))
            _insert(db, "tasks", _row(added[-1], _TASK))
        return tuple(added)

    def update_task(
        self, task: IngestTask, collection: str = "", document: LibraryDocument | None = None
    ) -> None:
        """Store a task, its bytes and its complete document.

        The file of an ended task is deleted unless a document uses it.
        """
        with self._transaction() as db:
            self._store_body(task)
            if document:
                _insert(db, "documents", {"collection": collection} | _row(document, _DOCUMENT))
            _insert(db, "tasks", _row(task, _TASK))
            if task.state.ended and task.digest:
                self._delete_unused(db, [task.digest])

    def tasks(self, ingest: str) -> tuple[IngestTask, ...]:
        """Return the tasks of an ingest, by number."""
        return _TASKS.validate_python(
            self._read("SELECT * FROM tasks WHERE ingest = ? ORDER BY number", ingest)
        )

    def _store_body(self, task: IngestTask) -> None:
        if task.body is not None:
            self.files.put(task.body, task.digest)

    # --- documents ----------------------------------------------------------------------------------------

    def document(self, collection: str, digest: str) -> LibraryDocument | None:
        """Return the document with this digest in a collection, or None."""
        query = "SELECT * FROM documents WHERE collection = ? AND digest = ?"
        return next(iter(self._documents(query, collection, digest)), None)

    def documents(self, collection: str) -> tuple[LibraryDocument, ...]:
        """Return the documents of a collection, latest first."""
        return self._documents(
            "SELECT * FROM documents WHERE collection = ? ORDER BY added_at DESC, source", collection
        )

    def document_in_any_collection(self, digest: str) -> LibraryDocument | None:
        """Return the latest document with this digest in any collection, or None."""
        query = "SELECT * FROM documents WHERE digest = ? ORDER BY added_at DESC"
        return next(iter(self._documents(query, digest)), None)

    def delete_documents(self, collection: str, digest: str | None = None) -> None:
        """Delete one document of a collection, or all, with their unused files."""
        with self._transaction() as db:
            deleted = db.execute(
                "DELETE FROM documents WHERE collection = ?1 AND (?2 IS NULL OR digest = ?2) RETURNING digest",
                (collection, digest),
            ).fetchall()
            self._delete_unused(db, [row[0] for row in deleted])

    def _documents(self, query: str, *values: str) -> tuple[LibraryDocument, ...]:
        rows = self._read(query, *values)
        return tuple(
            LibraryDocument(**{name: row[name] for name in _DOCUMENT}, stored=row["digest"] in self.files)
            for row in rows
        )

    # --- the file -----------------------------------------------------------------------------------------

    def delete_unused_files(self) -> None:
        """Delete unused files, for example from a process killed while it stored them."""
        with self._transaction() as db:
            self._delete_unused(db, list(self.files.digests()))
            self.files.delete_temporary(time.time() - _ABANDONED_FILE)

    def close(self) -> None:
        """Close the file. The next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _delete_unused(self, db: sqlite3.Connection, digests: Iterable[str]) -> None:
        for digest in digests:
            if db.execute(_IN_USE, (digest,)).fetchone() is None:
                self.files.delete(digest)

    def _read(self, query: str, *values: str) -> list[dict[str, Any]]:
        with self._lock, self._store_errors():
            return list(map(dict, self._connected().execute(query, values)))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a write transaction that excludes other processes."""
        with self._lock, self._store_errors():
            db = self._connected()
            with migrations.write_transaction(db):
                yield db

    @contextmanager
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreFailed(
                f"The library at {self.path.parent} cannot be read or written: {error}.",
                hint="Check the space and the rights of the data folder.",
            ) from error

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            migrations.migrate(self.path, SCHEMA)
            db = sqlite3.connect(
                self.path, timeout=migrations.BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            self._connection = db
        return self._connection


def _row(value: Ingest | IngestTask | LibraryDocument, columns: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in columns}


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    """Insert or replace a row by its key."""
    into = f"{table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    db.execute(f"INSERT OR REPLACE INTO {into}", list(row.values()))
