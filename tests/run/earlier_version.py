"""The files of `tests/data/version_4`, and a SQLite store that holds them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "version_4"
RUN_ID = "run-of-version-4"

_TABLES = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, question TEXT NOT NULL, started TEXT NOT NULL, status TEXT NOT NULL, seconds REAL NOT NULL,
    knobs TEXT, pages INTEGER, passages INTEGER, sources INTEGER, prompt_tokens INTEGER, completion_tokens INTEGER,
    cost REAL
) STRICT;
CREATE INDEX runs_by_start ON runs (started DESC);
CREATE TABLE records (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, number INTEGER NOT NULL, at REAL NOT NULL,
    event BLOB NOT NULL, PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE "run_users" (run TEXT PRIMARY KEY, user TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE "run_processes" (run TEXT PRIMARY KEY, process TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE "imported_runs" (run TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT;
CREATE TABLE presets (
    user TEXT NOT NULL, folded_name TEXT NOT NULL, name TEXT NOT NULL, knobs TEXT NOT NULL,
    PRIMARY KEY (user, folded_name)
) STRICT, WITHOUT ROWID;
CREATE TABLE run_tags (
    run TEXT NOT NULL, folded_tag TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (run, folded_tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE labels (
    user TEXT NOT NULL, folded_question TEXT NOT NULL, page TEXT NOT NULL, start INTEGER NOT NULL,
    end INTEGER NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL, grade INTEGER NOT NULL,
    question TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (user, folded_question, page, start, end)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 5;
"""


def stored_events() -> list[tuple[float, dict[str, Any]]]:
    """Each event's seconds and its fields."""
    rows = [json.loads(line) for line in (FOLDER / "events.jsonl").read_text("utf-8").splitlines()]
    return [(row["seconds"], row["fields"]) for row in rows]


def write_store(path: Path) -> None:
    """A `runs.sqlite` of the first released tables with the run in it."""
    events = stored_events()
    started = events[0][1]
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(_TABLES)
        db.execute(
            "INSERT INTO runs VALUES (?, ?, ?, 'done', ?, ?, 1, 2, 1, 20, 5, NULL)",
            (RUN_ID, started["question"], started["at"], events[-1][0], json.dumps(started["knobs"])),
        )
        for number, (at, fields) in enumerate(events):
            db.execute(
                "INSERT INTO records VALUES (?, ?, ?, ?)", (RUN_ID, number, at, json.dumps(fields).encode())
            )
