"""Runs on disk."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core.config.knobs import Knobs
from core.errors import StoreFailed
from core.run import events as e
from core.run.state import Run, RunStatus
from core.storage.run_processes import RunProcesses
from core.storage.run_store import RunStore
from core.storage.run_writer import RunWriter
from tests.samples import EVENTS, records, until

END = e.Record(at=9.0, event=e.RunStopped())


def _kept(store: RunStore, *events: e.Event) -> Run:
    run = Run()
    for record in records(*events):
        run = run.apply(record)
        store.append(run, record)
    return run


def test_a_stored_run_reads_back_as_it_was(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    run = _kept(store, *until(e.RunDone))
    again = store.load("run-1")
    assert again is not None
    assert (again.status, again.text, again.hits, again.pages) == (run.status, run.text, run.hits, run.pages)
    assert [line.id for line in store.history(10)] == ["run-1"]
    store.close()


def test_run_is_found_after_a_restart_and_goes_on(tmp_path: Path) -> None:
    first = RunStore(tmp_path / "runs.sqlite")
    run = _kept(first, *until(e.RunDone))
    first.close()
    second = RunStore(tmp_path / "runs.sqlite")
    more = e.Record(at=9.0, event=e.RunResumed(run.knobs))
    second.append(run.apply(more), more)
    again = second.load("run-1")
    assert again is not None
    assert again.seconds == 9.0
    assert again.text == run.text
    second.close()


def test_unknown_run_is_none_and_a_deleted_one_is_gone(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    _kept(store, *until(e.RunDone))
    store.delete("run-1")
    assert store.load("run-1") is None
    assert store.load("nobody") is None
    assert store.history(10) == ()
    store.close()


def test_late_events_do_not_restore_a_deleted_run(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    run = _kept(store, *until(e.TokensWritten))
    store.delete("run-1")
    store.append(run, e.Record(at=9.0, event=e.RunStopped()))
    assert store.load("run-1") is None
    store.close()


def test_unwritable_folder_is_a_message_and_no_exception(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    store = RunStore(blocker / "runs.sqlite")
    _kept(store, *until(e.RunDone))
    assert "not being saved" in store.problem
    assert store.load("run-1") is None
    assert store.history(10) == ()


_WRITER = """
import sys
from pathlib import Path
from core.storage.run_store import RunStore
from core.run.state import Run
from tests.samples import EVENTS, records
store, run = RunStore(Path(sys.argv[1])), Run()
for record in records(*EVENTS[:int(sys.argv[2])]):
    run = run.apply(record)
    store.append(run, record)
store.flush()
print("written", flush=True)
sys.stdin.read()
"""


def _writing(path: Path, events: int) -> subprocess.Popen[bytes]:
    """Another process with so many sample events of a run on disk, which then waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), str(events)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"written\n"
    return process


def _killed(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_killed_process_leaves_a_whole_interrupted_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    told = until(e.TokensWritten)
    _killed(_writing(path, len(told)))
    store = RunStore(path)
    run = store.load("run-1")
    assert run is not None
    assert run.status is RunStatus.INTERRUPTED
    assert run.text == "Delta holds [1]. "
    assert len(EVENTS) > len(told)
    store.close()


def test_run_of_another_process_is_running_until_it_ends(
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.sqlite"
    mine = RunStore(path)
    process = _writing(path, len(until(e.TokensWritten)))
    run = mine.load("run-1")
    assert run is not None
    assert run.status is RunStatus.RUNNING
    assert "another OpenQuery" in run.notes[-1].message
    assert mine.load("run-1") is run, "nothing new: nothing to draw"
    (line,) = mine.history(10)
    assert (line.status, line.elsewhere) == (RunStatus.RUNNING, True)
    _killed(process)
    (line,) = mine.history(10)
    assert (line.status, line.elsewhere) == (RunStatus.INTERRUPTED, False)
    run = mine.load("run-1")
    assert run is not None
    assert run.status is RunStatus.INTERRUPTED
    assert all("another OpenQuery" not in note.message for note in run.notes)
    mine.close()
    RunStore(path).close()
    assert list(tmp_path.glob("*.lease")) == [], "what the dead left is swept away"


def test_another_process_s_run_is_followed_to_its_end(tmp_path: Path) -> None:
    theirs, mine = RunStore(tmp_path / "runs.sqlite"), RunStore(tmp_path / "runs.sqlite")
    told = until(e.RunDone)
    run, texts = Run(), set()
    for record in records(*told):
        run = run.apply(record)
        theirs.append(run, record)
        theirs.flush()
        seen = mine.load("run-1")
        assert seen is not None
        assert seen.live is run.live
        texts.add(seen.text)
    assert texts >= {"", "Delta holds [1]. "}, "seen while it was written"
    assert seen.status is RunStatus.DONE
    assert seen.notes == run.notes
    mine.close()
    theirs.close()


def test_run_deleted_by_another_process_does_not_return_partly(tmp_path: Path) -> None:
    theirs, mine = RunStore(tmp_path / "runs.sqlite"), RunStore(tmp_path / "runs.sqlite")
    run = _kept(theirs, *until(e.TokensWritten))
    theirs.flush()
    mine.delete("run-1")
    mine.flush()
    theirs.append(run, e.Record(at=9.0, event=e.RunStopped()))
    assert theirs.load("run-1") is None
    assert mine.history(10) == ()
    assert theirs.problem == ""
    mine.close()
    theirs.close()


def test_flush_returns_when_the_events_are_on_disk(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    for number in range(30):
        run = Run()
        for record in records(
            e.RunStarted(f"run-{number}", "Q?", Knobs(), "2026-01-02T03:04:05+00:00"), e.TokensWritten("x")
        ):
            run = run.apply(record)
            store.append(run, record)
        store.flush()
        with sqlite3.connect(tmp_path / "runs.sqlite") as db:
            assert db.execute("SELECT count(*) FROM records").fetchone() == (2 * (number + 1),)
    store.close()


@pytest.mark.parametrize("text", ["half \ud83d", "\udc00 other half", "\ud83d\ude00 both"])
def test_lone_surrogate_does_not_keep_a_run_unstored(tmp_path: Path, text: str) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    run = _kept(store, *until(e.PhaseStarted), e.TokensWritten(text), e.RunDone())
    again = store.load("run-1")
    store.close()
    assert again is not None
    assert again.status is run.status is RunStatus.DONE
    assert again.text.isprintable()
    assert store.problem == ""


def test_lone_surrogate_in_a_question_is_stored(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    started = e.RunStarted("run-1", "Half \ud83d?", Knobs(), "2026-01-02T03:04:05+00:00")
    _kept(store, started, e.RunDone())
    (line,) = store.history(5)
    assert line.question == "Half \ufffd?"
    assert store.problem == ""
    store.close()


def test_unforeseen_fault_is_reported_and_costs_one_change(tmp_path: Path) -> None:
    def faulty(_: sqlite3.Connection) -> None:
        raise MemoryError

    path = tmp_path / "notes.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE notes (words TEXT)")
    writer = RunWriter(path, lambda: sqlite3.connect(path))
    writer.put("run-1", faulty)
    writer.flush()
    assert "not being saved" in writer.problem
    writer.put("run-2", lambda db: db.execute("INSERT INTO notes VALUES ('kept')"))
    writer.flush()
    assert writer.problem == ""
    writer.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT words FROM notes").fetchall() == [("kept",)]


def test_file_that_cannot_be_opened_is_reported_and_retried(tmp_path: Path) -> None:
    folder = tmp_path / "not there yet"
    writer = RunWriter(folder / "notes.sqlite", lambda: sqlite3.connect(folder / "notes.sqlite"))
    writer.put("run-1", lambda db: db.execute("CREATE TABLE notes (words TEXT)"))
    writer.flush()
    assert "not being saved" in writer.problem
    folder.mkdir()
    writer.put("run-2", lambda db: db.execute("CREATE TABLE notes (words TEXT)"))
    writer.flush()
    assert writer.problem == ""
    writer.close()


def test_run_of_a_dead_process_is_interrupted_in_history(
    tmp_path: Path,
) -> None:
    first = RunStore(tmp_path / "runs.sqlite")
    _kept(first, *until(e.TokensWritten))
    first.flush()
    second = RunStore(tmp_path / "runs.sqlite")
    assert [line.status for line in second.history(10)] == [RunStatus.RUNNING], "its process is alive"
    second.close()
    first.close()
    third = RunStore(tmp_path / "runs.sqlite")
    assert [line.status for line in third.history(10)] == [RunStatus.INTERRUPTED]
    third.close()


def test_owner_sees_own_runs_and_the_operator_all(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    for name, keeper in (("a-1", "anna"), ("b-1", "berta"), ("a-2", "anna"), ("old", "")):
        if keeper:
            store.set_user(name, keeper)
        run = Run()
        for record in records(e.RunStarted(name, "Q?", Knobs(), "2026-01-02T03:04:05+00:00"), e.RunDone()):
            run = run.apply(record)
            store.append(run, record)
    assert {line.id for line in store.history(10, "anna")} == {"a-1", "a-2"}
    assert {line.id for line in store.history(10, "berta")} == {"b-1"}
    assert store.history(10, "nobody") == ()
    assert len(store.history(10)) == 4
    store.delete("a-1")
    assert {line.id for line in store.history(10, "anna")} == {"a-2"}
    store.close()


def test_deletion_that_cannot_be_committed_raises_and_keeps_the_run(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    run = _kept(store, *until(e.RunDone))
    store.flush()
    with sqlite3.connect(store.path) as db:
        db.execute("CREATE TRIGGER full BEFORE DELETE ON runs BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    with pytest.raises(StoreFailed, match=r"The run was not deleted: disk full\."):
        store.delete("run-1")
    store.append(run, e.Record(at=9.0, event=e.RunResumed(run.knobs)))
    again = store.load("run-1")
    assert again is not None
    assert again.seconds == 9.0, "what follows a failed deletion is stored"
    with sqlite3.connect(store.path) as db:
        db.execute("DROP TRIGGER full")
    store.delete("run-1")
    store.close()
    assert RunStore(tmp_path / "runs.sqlite").history(10) == ()


def test_deletion_is_on_disk_when_it_returns(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    _kept(store, *until(e.RunDone))
    store.delete("run-1")
    with sqlite3.connect(store.path) as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (0,)
    store.close()


def test_run_that_ends_while_another_process_starts_stays_done(tmp_path: Path) -> None:
    """The other process has read that the run is live, and finds its process gone."""
    first = RunStore(tmp_path / "runs.sqlite")
    run = _kept(first, *until(e.TokensWritten))
    first.flush()
    processes = RunProcesses(tmp_path)

    class EndsFirst(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            rows = super().execute(sql, *values)
            if sql.startswith("SELECT id"):
                read = rows.fetchall()
                first.append(run.apply(END), END)
                first.close()
                return super().execute(f"VALUES {', '.join(map(str, read))}")
            return rows

    with closing(sqlite3.connect(tmp_path / "runs.sqlite", factory=EndsFirst)) as db, db:
        processes.mark_interrupted(db)
    processes.close()
    second = RunStore(tmp_path / "runs.sqlite")
    assert [line.status for line in second.history(10)] == [RunStatus.STOPPED]
    second.close()


def test_row_of_another_version_does_not_hide_the_history(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    _kept(store, *until(e.RunDone))
    store.flush()
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE runs SET status = 'paused', knobs = '{', model_usage = '[7]'")
    (line,) = store.history(10)
    assert (line.status, line.knobs, line.model_usage) == (RunStatus.INTERRUPTED, None, ())
    store.close()


def test_file_without_the_expected_tables_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 5")
        db.execute("CREATE TABLE runs (id TEXT, conversation TEXT)")
    store = RunStore(path)
    assert "does not have the tables that this version writes. Nothing was changed" in store.problem
    store.close()


def test_unwritten_runs_are_stored_at_the_next_write(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    waiting: list[Run] = []
    store.next_unsaved = lambda: next((run for run in waiting if store.unsaved(run.id)), None)
    with sqlite3.connect(store.path) as db:
        db.execute("CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    for number in range(3):
        waiting.append(_kept_as(store, f"run-{number}"))
    store.flush()
    assert all("disk full" in store.unsaved(run.id) for run in waiting)
    with sqlite3.connect(store.path) as db:
        db.execute("DROP TRIGGER full")
    _kept_as(store, "later")
    store.close()
    again = RunStore(tmp_path / "runs.sqlite")
    assert {line.id for line in again.history(10)} == {"run-0", "run-1", "run-2", "later"}
    again.close()


def _kept_as(store: RunStore, run_id: str) -> Run:
    run = Run()
    started = e.RunStarted(run_id, "Q?", Knobs(), "2026-01-02T03:04:05+00:00")
    for record in records(started, e.RunStopped()):
        run = run.apply(record)
        store.append(run, record)
    return run
