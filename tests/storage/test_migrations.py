"""Stores and caches of other versions, and damaged ones. The old files are made by the SQL of their time."""

import hashlib
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from core.adapters.cache.disk_cache import DiskCache
from core.run import events as e
from core.run.state import Run, RunStatus
from core.storage.migrations import Schema, UnsupportedFile, migrate, version_of
from core.storage.run_schema import SCHEMA
from core.storage.run_store import RunStore
from tests.run.earlier_version import write_store
from tests.samples import records, until

ONE = Schema(1, "CREATE TABLE one (a)")
TWO = Schema(1, "CREATE TABLE one (a)", ("CREATE TABLE two (b)",))
FAILING = Schema(1, "-", ("CREATE TABLE two (b); INSERT INTO nowhere VALUES (1)",))


def _tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [name for (name,) in db.execute("SELECT name FROM sqlite_master ORDER BY name")]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_new_and_older_files_get_the_same_tables(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, ONE)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO one VALUES ('kettle')")
    migrate(path, TWO)
    migrate(tmp_path / "new.sqlite", TWO)
    assert version_of(path) == version_of(tmp_path / "new.sqlite") == 2
    assert _tables(path) == _tables(tmp_path / "new.sqlite") == ["one", "two"]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT a FROM one").fetchall() == [("kettle",)]


def test_an_added_table_changes_no_version(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, TWO)
    added = replace(TWO, added="CREATE TABLE IF NOT EXISTS three (c)")
    for file in (path, tmp_path / "new.sqlite", path):
        migrate(file, added)
        assert _tables(file) == ["one", "three", "two"]
        assert version_of(file) == TWO.latest
    migrate(path, TWO)
    assert list(tmp_path.glob("*.bak")) == []


def test_copy_of_the_older_file_is_kept_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, ONE)
    migrate(path, TWO)
    copy = tmp_path / "book.sqlite.v1.bak"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert version_of(copy) == 1
    assert _tables(copy) == ["one"]
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    migrate(path, TWO)
    assert [file.name for file in tmp_path.glob("*.bak")] == [copy.name], "once"


def test_a_new_store_needs_no_copy(tmp_path: Path) -> None:
    RunStore(tmp_path / "runs.sqlite").close()
    assert version_of(tmp_path / "runs.sqlite") == SCHEMA.latest
    assert list(tmp_path.glob("*.bak")) == []


def test_migrated_and_new_databases_have_the_same_tables(tmp_path: Path) -> None:
    write_store(tmp_path / "earlier.sqlite")
    layouts = []
    for name in ("earlier.sqlite", "new.sqlite"):
        RunStore(tmp_path / name).close()
        with closing(sqlite3.connect(tmp_path / name)) as db:
            layouts.append(
                {
                    table: db.execute(f"PRAGMA table_info({table})").fetchall()
                    for table in _tables(tmp_path / name)
                }
            )
    assert layouts[0] == layouts[1]


def test_full_disk_is_reported_and_leaves_the_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, ONE)
    script = """
import resource, signal, sys
from pathlib import Path
from core.storage.migrations import Schema, migrate
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # no file of this process may grow further
many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) SELECT zeroblob(1000) FROM n"
migrate(Path(sys.argv[1]), Schema(1, "", (f"INSERT INTO one {many}",)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stderr.endswith("sqlite3.OperationalError: disk I/O error\n")
    assert version_of(path) == 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM one").fetchone() == (0,)


def test_failing_step_leaves_the_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, ONE)
    with pytest.raises(sqlite3.Error):
        migrate(path, FAILING)
    assert version_of(path) == 1
    assert _tables(path) == ["one"]


def test_a_copy_that_cannot_be_made_stops_the_change(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, ONE)
    (tmp_path / "book.sqlite.v1.bak").mkdir()
    with pytest.raises(OSError, match="directory"):
        migrate(path, TWO)
    assert version_of(path) == 1
    assert _tables(path) == ["one"]
    assert [file.name for file in tmp_path.glob("*.bak*")] == ["book.sqlite.v1.bak"], "no half copies"


def test_concurrent_migrations_of_one_file_happen_once(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, ONE)
    faults: list[Exception] = []

    def change() -> None:
        try:
            migrate(path, TWO)
        except Exception as error:  # reported by the test
            faults.append(error)

    threads = [threading.Thread(target=change) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert version_of(path) == 2
    assert version_of(tmp_path / "book.sqlite.v1.bak") == 1, "the copy is of what it was"


@pytest.mark.parametrize(("version", "age"), [(99, "newer"), (1, "unreleased")])
def test_store_of_another_version_is_refused_and_unchanged(tmp_path: Path, version: int, age: str) -> None:
    path = tmp_path / "runs.sqlite"
    write_store(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    before = _digest(path)
    store = RunStore(path)
    assert age in store.problem
    assert "OPENQUERY_DATA" in store.problem
    for record in records(*until(e.RunDone)):
        store.append(Run().apply(record), record)
    assert store.load("run-1") is None
    assert store.history(10) == ()
    store.close()
    assert _digest(path) == before
    assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite"]
    with pytest.raises(UnsupportedFile):
        migrate(path, SCHEMA)


def _no_database(path: Path) -> None:
    path.write_bytes(b"This was a history once. " * 400)


def _broken_schema(path: Path) -> None:
    write_store(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 2000 + whole[2100:])


@pytest.mark.parametrize("damage", [_no_database, _broken_schema])
def test_damaged_store_is_set_aside_for_a_new_one(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "runs.sqlite"
    damage(path)  # type: ignore[operator]
    before = _digest(path)
    store = RunStore(path)
    assert "set aside" in store.problem
    (aside,) = tmp_path.glob("runs.sqlite.damaged-*Z")
    assert str(aside) in store.problem
    assert _digest(aside) == before, "nothing of it is changed"
    run = Run()
    for record in records(*until(e.RunDone)):
        run = run.apply(record)
        store.append(run, record)
    assert [line.status for line in store.history(10)] == [RunStatus.DONE]
    assert "set aside" in store.problem, "said until OpenQuery starts again"
    store.close()
    again = RunStore(path)
    assert again.problem == ""
    assert [line.id for line in again.history(10)] == ["run-1"]
    again.close()


def test_cache_of_a_newer_version_is_unused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript("CREATE TABLE entries (other TEXT); INSERT INTO entries VALUES ('kettle')")
        db.execute("PRAGMA user_version = 99")
    before = _digest(path)
    cache = DiskCache(path, 10)
    cache.put_many("space", {"key": b"value"})
    assert cache.get_many("space", ["key"]) == {}
    assert "newer" in cache.problem
    cache.close()
    assert _digest(path) == before


@pytest.mark.slow
def test_processes_opening_a_new_folder_together_save_all_runs(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from core.storage.run_store import RunStore
print("ready", flush=True)
for folder in sys.stdin:
    store = RunStore(Path(folder.strip()) / "runs.sqlite")
    print(store.problem or "saves", flush=True)
    store.close()
"""
    command = [sys.executable, "-c", script]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    try:
        answers = [process.stdout for process in processes]
        questions = [process.stdin for process in processes]
        assert [answer.readline() for answer in answers if answer] == ["ready\n"] * 3
        for number in range(40):
            for question in questions:
                assert question is not None
                question.write(f"{tmp_path / str(number)}\n")
                question.flush()
            assert [answer.readline() for answer in answers if answer] == ["saves\n"] * 3
    finally:
        for process in processes:
            process.communicate()
