from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import StoreFailed
from core.library.catalogue import Catalogue
from core.library.document_files import DocumentFiles


def test_a_catalogue_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE documents (of_another_kind TEXT)")
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    catalogue = Catalogue(path, DocumentFiles(tmp_path / "documents"))
    with pytest.raises(StoreFailed, match="newer OpenQuery") as failed:
        catalogue.entries("books")
    assert failed.value.hint
    assert path.read_bytes() == before


def test_a_file_that_is_no_catalogue_is_told(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    path.write_bytes(b"This is no database, whatever its name says. " * 40)
    with pytest.raises(StoreFailed, match="cannot be read"):
        Catalogue(path, DocumentFiles(tmp_path / "documents")).entries("books")


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from core.errors import StoreFailed
from core.library.catalogue import Catalogue
from core.library.document_files import Files
from core.library.ingest_records import Job, Kind, Task
folder = Path(sys.argv[1])
catalogue = Catalogue(folder / "library.sqlite", Files(folder / "documents"))
assert catalogue.unfinished() == ()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # no file of this process may grow further
job = Job(id="a", collection="books", verb="add", embedder="m", knobs="{}", started="now")
try:
    catalogue.begin(job, [(Task(kind=Kind.FILE, name=f"{n} " * 1_000), None) for n in range(1_000)])
except StoreFailed as failed:
    print(failed)
assert catalogue.unfinished() == ()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "disk I/O error" in done.stdout
