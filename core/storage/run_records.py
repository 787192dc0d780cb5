"""The events of stored runs, and the documents of imported runs. Both are tables of the run store."""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace

from core.run.codec import event_from_json, event_to_json, run_to_json
from core.run.events import Record
from core.run.importer import LIMIT, run_from_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.storage import run_schema, run_summaries


def append(db: sqlite3.Connection, run_id: str, first: int, *records: Record) -> None:
    """Add records to a run, numbered from `first`."""
    db.executemany(
        "INSERT INTO records VALUES (?, ?, ?, ?)",
        (
            (run_id, number, record.at, event_to_json(record.event))
            for number, record in enumerate(records, first)
        ),
    )


def write(db: sqlite3.Connection, recorded: RecordedRun) -> None:
    """Replace a stored run as a whole. A base that would be too large to read is written without its vectors."""
    for statement in run_schema.CLEAR_RUN:
        db.execute(statement, (recorded.run.id,))
    run_summaries.write_summary(db, recorded.run, insert=True)
    append(db, recorded.run.id, 0, *recorded.records)
    if recorded.base:
        document = run_to_json(recorded.base, vectors=True)
        if len(document) > LIMIT:
            document = run_to_json(recorded.base)
        db.execute("INSERT INTO imported_runs VALUES (?, ?)", (recorded.run.id, document))


def read(db: sqlite3.Connection, run_id: str, first: int = 0) -> tuple[list[Record], Run | None]:
    """Return a run's records from number `first`, and its base.

    The base is the run before its first record, or None.

    Raises:
        StoreFailed: when an event cannot be read.
    """
    rows: Iterable[tuple[float, bytes]] = db.execute(
        "SELECT at, event FROM records WHERE run = ? AND number >= ? ORDER BY number", (run_id, first)
    ).fetchall()
    document = db.execute("SELECT document FROM imported_runs WHERE run = ?", (run_id,)).fetchone()
    base = replace(run_from_json(document[0]), id=run_id) if document and not first else None
    return [Record(at=seconds, event=event_from_json(data)) for seconds, data in rows], base
