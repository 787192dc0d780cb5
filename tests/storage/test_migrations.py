"""Stores and caches of other versions, and broken ones. The old files are made by the SQL of their time."""

from __future__ import annotations

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
from core.run.codec import event_to_json
from core.run.state import Run, RunStatus
from core.storage.migrations import NewerFile, migrate, version_of
from core.storage.run_store import RunStore
from tests.samples import records, until

FIRST = """
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
KEEPERS = "CREATE TABLE keepers (run TEXT PRIMARY KEY, keeper TEXT NOT NULL) STRICT, WITHOUT ROWID;"


def _old(path: Path, *, keepers: bool) -> None:
    """A store of version 1 with a run that is done and one that was left behind."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(FIRST + (KEEPERS if keepers else ""))
        for name, (started, *told) in (("run-1", until(e.RunDone)), ("left", until(e.TokensWritten))):
            assert isinstance(started, e.RunStarted)
            run = Run()
            for number, record in enumerate(records(replace(started, id=name), *told)):
                run = run.apply(record)
                db.execute(
                    "INSERT INTO records VALUES (?, ?, ?, ?)",
                    (name, number, record.at, event_to_json(record.event)),
                )
            db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?)",
                (name, run.question, run.started, run.status, run.seconds),
            )
        if keepers:
            db.execute("INSERT INTO keepers VALUES ('run-1', 'anna')")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("keepers", [False, True])
def test_an_older_store_is_brought_up_to_date_and_loses_nothing(tmp_path: Path, keepers: bool) -> None:
    path = tmp_path / "runs.sqlite"
    _old(path, keepers=keepers)
    store = RunStore(path)
    assert store.problem == ""
    assert {line.id: line.status for line in store.history(10)} == {
        "run-1": RunStatus.DONE,
        "left": RunStatus.INTERRUPTED,
    }
    assert [line.id for line in store.history(10, "anna")] == (["run-1"] if keepers else [])
    run = store.load("run-1")
    assert run is not None
    assert run.text == "Delta holds [1]. So [7]."
    more = e.Record(at=9.0, event=e.RunResumed(run.knobs))
    store.append(run.apply(more), more)
    assert (again := store.load("run-1")) is not None
    assert again.seconds == 9.0
    store.close()
    RunStore(tmp_path / "new.sqlite").close()
    assert version_of(path) == version_of(tmp_path / "new.sqlite")


def test_a_copy_of_the_older_store_is_kept_beside_it_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    _old(path, keepers=True)
    RunStore(path).close()
    copy = tmp_path / "runs.sqlite.v1.bak"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert version_of(copy) == 1
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (2,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    RunStore(path).close()
    assert [file.name for file in tmp_path.glob("*.bak")] == [copy.name], "once"


def test_a_new_store_needs_no_copy(tmp_path: Path) -> None:
    RunStore(tmp_path / "runs.sqlite").close()
    assert version_of(tmp_path / "runs.sqlite") > 1
    assert list(tmp_path.glob("*.bak")) == []


def test_a_full_disk_is_reported_as_such_and_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, ["CREATE TABLE one (a)"])
    script = """
import resource, signal, sys
from pathlib import Path
from core.storage.migrations import migrate
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # no file of this process may grow further
many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) SELECT zeroblob(1000) FROM n"
migrate(Path(sys.argv[1]), ["", f"INSERT INTO one {many}"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stderr.endswith("sqlite3.OperationalError: disk I/O error\n")
    assert version_of(path) == 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM one").fetchone() == (0,)


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    migrate(path, ["CREATE TABLE one (a)"])
    with pytest.raises(sqlite3.Error):
        migrate(path, ["-", "CREATE TABLE two (b); INSERT INTO nowhere VALUES (1)"])
    assert version_of(path) == 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("one",)]


def test_a_copy_that_cannot_be_made_stops_the_change(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    _old(path, keepers=True)
    (tmp_path / "runs.sqlite.v1.bak").mkdir()
    store = RunStore(path)
    assert "not being saved" in store.problem
    assert version_of(path) == 1
    assert [file.name for file in tmp_path.glob("*.bak*")] == ["runs.sqlite.v1.bak"], "no half copies"


def test_many_who_bring_the_same_file_up_to_date_do_it_once(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    steps = ["CREATE TABLE one (a)", "CREATE TABLE two (b)"]
    migrate(path, steps[:1])
    faults: list[Exception] = []

    def change() -> None:
        try:
            migrate(path, steps)
        except Exception as error:  # told by the test
            faults.append(error)

    threads = [threading.Thread(target=change) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert version_of(path) == 2
    assert version_of(tmp_path / "book.sqlite.v1.bak") == 1, "the copy is of what it was"


def test_a_store_of_a_newer_version_is_refused_in_words_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    _old(path, keepers=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA user_version = 99")
    before = _digest(path)
    store = RunStore(path)
    assert "newer" in store.problem
    assert "OPENQUERY_DATA" in store.problem
    for record in records(*until(e.RunDone)):
        store.append(Run().apply(record), record)
    assert store.load("run-1") is None
    assert store.history(10) == ()
    store.close()
    assert _digest(path) == before
    assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite"]
    with pytest.raises(NewerFile):
        migrate(path, ["CREATE TABLE one (a)"])


def _no_database(path: Path) -> None:
    path.write_bytes(b"This was a history once. " * 400)


def _broken_schema(path: Path) -> None:
    _old(path, keepers=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 2000 + whole[2100:])


@pytest.mark.parametrize("damage", [_no_database, _broken_schema])
def test_a_damaged_store_is_set_aside_and_a_new_one_begins(tmp_path: Path, damage: object) -> None:
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


def test_a_cache_of_a_newer_version_is_not_used_and_left_alone(tmp_path: Path) -> None:
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
def test_processes_that_open_a_new_folder_at_the_same_moment_all_save_their_runs(tmp_path: Path) -> None:
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
