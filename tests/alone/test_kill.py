"""Nothing that was on disk is lost, whenever and however the process ends."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from core.adapters.cache.disk_cache import DiskCache
from core.run.state import RunStatus
from core.run.timeline import Timeline
from core.storage.run_store import RunStore

ROOT = Path(__file__).parents[2]
MOMENTS = 50
STEPS_A_RUN = 30
"""Moments within the time that a run takes in a warm cache."""


class Forks:
    """`tests.alone.killed`, and what it says."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.alone.killed"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.says: IO[str] = self._process.stdout

    def begin(self, folder: Path, times: int = 10_000, bytes_at_most: int = 0) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{folder}\t{times}\t{bytes_at_most}\n")
        self._process.stdin.flush()

    def line(self) -> list[str]:
        line = self.says.readline()
        assert line, "the forks are gone"
        return line.split(maxsplit=3)

    def close(self) -> None:
        with self._process:  # closes its pipes
            self._process.kill()


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    forks = Forks()
    yield forks
    forks.close()


def complete(forks: Forks, folder: Path, times: int, bytes_at_most: int = 0) -> list[tuple[str, str, str]]:
    """Run so many questions to their end: id, status and the store's trouble of each."""
    forks.begin(folder, times, bytes_at_most)
    ended = []
    while (line := forks.line())[0] != "gone":
        if line[0] == "ended":
            ended.append((line[1], line[2], line[3].strip() if len(line) > 3 else ""))
    return ended


def killed(forks: Forks, folder: Path, after: float) -> tuple[dict[str, int], list[str]]:
    """Begin, and kill `after` seconds: how much of each run was said to be on disk, and which had ended."""
    forks.begin(folder)
    kept: dict[str, int] = {}
    ended: list[str] = []
    pid, deadline = 0, 0.0
    while (line := forks.line())[0] != "gone":
        match line:
            case ["pid", number]:
                pid, deadline = int(number), time.monotonic() + after
            case ["kept", run, events]:
                kept[run] = int(events)
            case ["ended", run, *_]:
                ended.append(run)
        if pid and time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
            pid = 0
    return kept, ended


def test_fifty_kills_lose_no_ended_run_and_no_stored_event(forks: Forks, tmp_path: Path) -> None:
    complete(forks, tmp_path, 1)  # fills the cache
    began = time.monotonic()
    whole = [run for run, status, _ in complete(forks, tmp_path, 3) if status == "done"]
    assert len(whole) == 3
    step, interrupted = (time.monotonic() - began) / 3 / STEPS_A_RUN, 0
    for moment in range(MOMENTS):
        kept, ended = killed(forks, tmp_path, after=(moment + 3) * step)
        whole += ended
        store = RunStore(tmp_path / "runs.sqlite")
        assert store.problem == ""
        listed = {line.id: line.status for line in store.history(10_000)}
        assert not {RunStatus.RUNNING, RunStatus.QUEUED} & set(listed.values()), (
            "a dead run is not shown as live"
        )
        assert set(whole) <= set(listed), f"lost after kill {moment}"
        for run_id, events in kept.items():
            if events:
                run = store.load(run_id)
                assert run is not None
                assert run.status in (RunStatus.INTERRUPTED, RunStatus.DONE)
                assert run.status is listed[run_id]
                assert _stored(tmp_path, run_id) >= events, "an event that was on disk is gone"
                interrupted += run.status is RunStatus.INTERRUPTED
        for run_id in ended[-2:]:
            run = store.load(run_id)
            assert run is not None
            assert run.status is RunStatus.DONE
            assert run.text
        store.close()
        cache = DiskCache(tmp_path / "cache.sqlite", 50)
        cache.put_many("test", {str(moment): b"kettle"})
        assert cache.get_many("test", [str(moment)]) == {str(moment): b"kettle"}
        assert cache.problem == ""
        cache.close()
    assert interrupted >= MOMENTS // 2, "the kills came while runs were under way"
    _all_is_well(tmp_path, whole)
    assert [status for _, status, _ in complete(forks, tmp_path, 1)] == ["done"], "life goes on"


def test_full_disk_is_a_message_and_earlier_runs_stay(forks: Forks, tmp_path: Path) -> None:
    first = complete(forks, tmp_path, 2)
    size = max(path.stat().st_size for path in tmp_path.iterdir())
    second = complete(forks, tmp_path, 6, bytes_at_most=size + 60_000)
    assert [status for _, status, _ in second] == ["done"] * 6, "the run goes on in memory"
    assert any("not being saved" in trouble for *_, trouble in second)
    third = complete(forks, tmp_path, 1)
    assert [(status, trouble) for _, status, trouble in third] == [("done", "")]
    _all_is_well(tmp_path, [run for run, *_ in (*first, *third)])
    store = RunStore(tmp_path / "runs.sqlite")
    for line in store.history(100):
        run = store.load(line.id)
        assert run is not None, "what was begun can be read"
        assert run.status in (RunStatus.DONE, RunStatus.INTERRUPTED)
    store.close()


def test_two_processes_share_a_folder(forks: Forks, tmp_path: Path) -> None:
    folder = tmp_path / "together"
    forks.begin(folder, 5)
    forks.begin(folder, 5)
    ended: list[list[str]] = []
    while len(ended) < 10:
        if (line := forks.line())[0] == "ended":
            ended.append(line)
    assert all(line[2].strip() == "done" and len(line) == 3 for line in ended), ended
    _all_is_well(folder, [line[1] for line in ended])


def _stored(folder: Path, run_id: str) -> int:
    with sqlite3.connect(folder / "runs.sqlite") as database:
        rows = database.execute(
            "SELECT number FROM records WHERE run = ? ORDER BY number", (run_id,)
        ).fetchall()
    assert [number for (number,) in rows] == list(range(len(rows))), (
        "a run without its beginning or with holes"
    )
    return len(rows)


def _all_is_well(folder: Path, whole: list[str]) -> None:
    for name in ("runs.sqlite", "cache.sqlite"):
        with sqlite3.connect(folder / name) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store = RunStore(folder / "runs.sqlite")
    for run_id in whole:
        run = store.load(run_id)
        assert run is not None
        assert run.status is RunStatus.DONE
        assert run.sources
        assert run.timeline != Timeline()
    store.close()
