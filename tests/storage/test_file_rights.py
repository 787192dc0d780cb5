"""Databases are their owner's alone, whatever the folder's rights and the process's umask are."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.adapters.cache.disk_cache import DiskCache
from core.features.library.catalogue import Catalogue
from core.features.library.document_files import DocumentFiles
from core.storage.run_store import RunStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights of files are those of POSIX")


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that everybody may write, in a process that shares all that it makes."""
    tmp_path.chmod(0o777)
    before = os.umask(0)
    yield tmp_path
    os.umask(before)


def rights(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.glob("*.sqlite*")}


def test_runs_caches_and_catalogues_are_their_owners_alone(open_folder: Path) -> None:
    store, cache = RunStore(open_folder / "runs.sqlite"), DiskCache(open_folder / "cache.sqlite", 10)
    catalogue = Catalogue(open_folder / "library.sqlite", DocumentFiles(open_folder / "documents"))
    cache.put_many("pages", {"a": b"b"})
    assert catalogue.document("books", "none") is None
    with store.transaction("") as db:
        db.execute("SELECT * FROM runs").fetchall()
        found = rights(open_folder)
    assert {"runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"} <= found.keys()
    assert {"cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm", "library.sqlite"} <= found.keys()
    assert set(found.values()) == {0o600}
    store.close()
    cache.close()


def test_files_shared_by_an_earlier_version_become_private(open_folder: Path) -> None:
    RunStore(open_folder / "runs.sqlite").close()
    with closing(sqlite3.connect(open_folder / "runs.sqlite")) as earlier:
        earlier.execute("SELECT * FROM runs").fetchall()  # there are a log and its index now
        for file in open_folder.glob("*.sqlite*"):
            file.chmod(0o644)
        RunStore(open_folder / "runs.sqlite").close()
        assert set(rights(open_folder).values()) == {0o600}
