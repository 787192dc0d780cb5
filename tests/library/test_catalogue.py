from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import StoreFailed
from core.library.catalogue import Catalogue
from core.library.files import Files


def test_a_catalogue_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE documents (of_another_kind TEXT)")
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    catalogue = Catalogue(path, Files(tmp_path / "documents"))
    with pytest.raises(StoreFailed, match="newer OpenQuery") as failed:
        catalogue.entries("books")
    assert failed.value.hint
    assert path.read_bytes() == before


def test_a_file_that_is_no_catalogue_is_told(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    path.write_bytes(b"This is no database, whatever its name says. " * 40)
    with pytest.raises(StoreFailed, match="cannot be read"):
        Catalogue(path, Files(tmp_path / "documents")).entries("books")
