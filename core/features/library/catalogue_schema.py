"""The tables of the library's catalogue."""

from core.storage.migrations import Schema

LIBRARY = "library.sqlite"
"""The name of the catalogue's file in the data folder."""
SCHEMA = Schema(
    version=3,
    tables="""CREATE TABLE ingests (
    id TEXT PRIMARY KEY, collection TEXT NOT NULL, action TEXT NOT NULL, embedder TEXT NOT NULL, knobs TEXT NOT NULL,
    started TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL, owner TEXT NOT NULL, message TEXT NOT NULL
) STRICT;
CREATE TABLE tasks (
    ingest TEXT NOT NULL REFERENCES ingests (id) ON DELETE CASCADE, number INTEGER NOT NULL, kind TEXT NOT NULL,
    name TEXT NOT NULL, location TEXT NOT NULL, digest TEXT NOT NULL, media_type TEXT NOT NULL, charset TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, pages INTEGER NOT NULL, passages INTEGER NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (ingest, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_digest ON tasks (digest);
CREATE TABLE documents (
    collection TEXT NOT NULL, digest TEXT NOT NULL, source TEXT NOT NULL, media_type TEXT NOT NULL,
    charset TEXT NOT NULL, size INTEGER NOT NULL, title TEXT NOT NULL, url TEXT NOT NULL, pages INTEGER NOT NULL,
    passages INTEGER NOT NULL, embedder TEXT NOT NULL, added_at TEXT NOT NULL,
    PRIMARY KEY (collection, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX documents_by_digest ON documents (digest)""",
    steps=("ALTER TABLE documents ADD COLUMN left_out TEXT NOT NULL DEFAULT ''",),
)
