import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import StoreFailed
from core.features.library.catalogue import Catalogue
from core.features.library.document_files import DocumentFiles
from core.features.library.ingests import Ingest, IngestAction, IngestState, IngestTask, TaskKind, TaskState
from core.model import LibraryDocument

DIGEST = "d" * 64
FIRST_VERSION = f"""
CREATE TABLE "ingests" (
    id TEXT PRIMARY KEY, collection TEXT NOT NULL, action TEXT NOT NULL, embedder TEXT NOT NULL, knobs TEXT NOT NULL,
    started TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL, owner TEXT NOT NULL, message TEXT NOT NULL
) STRICT;
CREATE TABLE tasks (
    ingest TEXT NOT NULL REFERENCES "ingests" (id) ON DELETE CASCADE, number INTEGER NOT NULL, kind TEXT NOT NULL,
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
CREATE INDEX documents_by_digest ON documents (digest);
INSERT INTO ingests VALUES ('a', 'books', 're-embed', 'm', '{{}}', 'then', 'interrupted', 'emptying', 'me', 'Why.');
INSERT INTO tasks VALUES ('a', 0, 'path', 'a.txt', '/a.txt', '{DIGEST}', 'text/plain', '', 'done', '', 0, 3, 1.5);
INSERT INTO documents VALUES ('books', '{DIGEST}', 'a.txt', 'text/plain', '', 9, 'A', '', 0, 3, 'm', 'then');
PRAGMA user_version = 3
"""


def test_what_the_first_version_stored_is_read(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(FIRST_VERSION)
    catalogue = Catalogue(path, DocumentFiles(tmp_path / "documents"))
    (ingest,) = catalogue.unfinished_ingests()
    assert ingest == Ingest(
        id="a",
        collection="books",
        action=IngestAction.REEMBED,
        embedder="m",
        knobs="{}",
        started="then",
        state=IngestState.INTERRUPTED,
        stage="emptying",
        owner="me",
        message="Why.",
    )
    (task,) = catalogue.tasks("a")
    assert task == IngestTask(
        ingest="a",
        kind=TaskKind.PATH,
        name="a.txt",
        location="/a.txt",
        digest=DIGEST,
        media_type="text/plain",
        state=TaskState.DONE,
        passages=3,
        seconds=1.5,
    )
    (document,) = catalogue.documents("books")
    assert document == LibraryDocument(
        source="a.txt",
        passages=3,
        digest=DIGEST,
        title="A",
        media_type="text/plain",
        size=9,
        embedder="m",
        added_at="then",
    )
    catalogue.update_ingest(replace(ingest, state=IngestState.STOPPED))
    assert catalogue.unfinished_ingests() == ()
    assert catalogue.tasks(ingest.id) == (task,)
    catalogue.close()


def test_a_catalogue_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE documents (of_another_kind TEXT)")
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    catalogue = Catalogue(path, DocumentFiles(tmp_path / "documents"))
    with pytest.raises(StoreFailed, match="newer OpenQuery") as failed:
        catalogue.documents("books")
    assert failed.value.hint
    assert path.read_bytes() == before


def test_a_file_that_is_no_catalogue_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    path.write_bytes(b"This is no database, whatever its name says. " * 40)
    with pytest.raises(StoreFailed, match="cannot be read"):
        Catalogue(path, DocumentFiles(tmp_path / "documents")).documents("books")


def test_a_full_disk_is_reported_as_such(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from core.errors import StoreFailed
from core.features.library.catalogue import Catalogue
from core.features.library.document_files import DocumentFiles
from core.features.library.ingests import Ingest, IngestAction, IngestTask, TaskKind
folder = Path(sys.argv[1])
catalogue = Catalogue(folder / "library.sqlite", DocumentFiles(folder / "documents"))
assert catalogue.unfinished_ingests() == ()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # no file of this process may grow further
ingest = Ingest(
    id="a", collection="books", action=IngestAction.ADD, embedder="m", knobs="{}", started="now"
)
try:
    tasks = [IngestTask(kind=TaskKind.FILE, name=f"{n} " * 1_000) for n in range(1_000)]
    catalogue.add_ingest(ingest, tasks)
except StoreFailed as failed:
    print(failed)
assert catalogue.unfinished_ingests() == ()
"""
    finished = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert "disk I/O error" in finished.stdout
