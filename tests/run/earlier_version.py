"""The files of `tests/data/version_1`, and a SQLite store that holds them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "version_1"
RUN_ID = "run-of-version-1"

_SCHEMA = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, question TEXT NOT NULL, started TEXT NOT NULL, status TEXT NOT NULL, seconds REAL NOT NULL
) STRICT;
CREATE INDEX runs_by_start ON runs (started DESC);
CREATE TABLE records (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, at REAL NOT NULL, event BLOB NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;
"""


def stored_events() -> list[tuple[float, dict[str, Any]]]:
    """Each event's seconds and its fields."""
    rows = [json.loads(line) for line in (FOLDER / "events.jsonl").read_text("utf-8").splitlines()]
    return [(row["seconds"], row["fields"]) for row in rows]


def write_store(path: Path) -> None:
    """A `runs.sqlite` of version 1 with the run in it."""
    events = stored_events()
    started = events[0][1]
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(_SCHEMA)
        db.execute(
            "INSERT INTO runs VALUES (?, ?, ?, 'done', ?)",
            (RUN_ID, started["question"], started["at"], events[-1][0]),
        )
        for number, (at, fields) in enumerate(events):
            db.execute(
                "INSERT INTO records VALUES (?, ?, ?, ?)", (RUN_ID, number, at, json.dumps(fields).encode())
            )
