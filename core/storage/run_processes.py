"""The processes that share a data folder, and live runs of other processes."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cachetools import LRUCache

from core.model import Phase
from core.run.events import Note, Record
from core.run.run_summary import RunSummary
from core.run.state import Run, RunStatus
from core.storage.process_lock import ProcessLock

REMOTE_RUNS = 100
"""The most live runs of other processes in memory, so that only new events are read."""

_LIVE = (RunStatus.QUEUED, RunStatus.RUNNING)
_OTHER_PROCESS = Note(
    Phase.PLAN,
    "This run is under way in another OpenQuery that uses the same data folder.",
    "It can be watched here, and stopped there.",
)


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """A live run of another process and the number of events read. `shown` is the run with a note about the process."""

    events: int
    run: Run
    shown: Run


_UNREAD = RemoteRun(0, Run(), Run())


class RunProcesses:
    """The processes of a data folder, named by their lock files."""

    def __init__(self, folder: Path) -> None:
        self._lock = ProcessLock(folder)
        self._live_here: set[str] = set()
        """Live runs that are recorded for this process."""
        self._remote_runs: LRUCache[str, RemoteRun] = LRUCache(REMOTE_RUNS)

    def mark_interrupted(self, db: sqlite3.Connection) -> None:
        """Mark live runs whose process has ended as interrupted."""
        live_runs = db.execute(
            "SELECT id, (SELECT process FROM run_processes WHERE run = id) FROM runs WHERE status IN (?, ?)",
            _LIVE,
        ).fetchall()
        for run_id, process in live_runs:
            if not self.is_elsewhere(process):
                # The process may have ended the run and then itself.
                db.execute(
                    "UPDATE runs SET status = ? WHERE id = ? AND status IN (?, ?)",
                    (RunStatus.INTERRUPTED, run_id, *_LIVE),
                )
                db.execute("DELETE FROM run_processes WHERE run = ?", (run_id,))
        self._lock.sweep()

    def recorded(self, run: Run) -> tuple[str, tuple[str, ...]] | None:
        """Return SQL that records this process for a run, or None.

        The SQL comes with its values, and is None if the run is already recorded. An ended run is removed.
        """
        if not run.live:
            self._live_here.discard(run.id)
            return "DELETE FROM run_processes WHERE run = ?", (run.id,)
        if run.id in self._live_here:
            return None
        self._live_here.add(run.id)
        return "INSERT OR REPLACE INTO run_processes VALUES (?, ?)", (run.id, self._lock.name)

    def is_elsewhere(self, process: str | None) -> bool:
        """Whether `process` is another running process."""
        return bool(process and process != self._lock.name and self._lock.is_alive(process))

    def remote(self, run_id: str) -> RemoteRun:
        """Return the events read of another process's live run."""
        return self._remote_runs.get(run_id, _UNREAD)

    def follow(self, run_id: str, base: Run, records: Sequence[Record]) -> Run:
        """Return another process's live run with new events. Without new events, it is the same object as before."""
        before = self.remote(run_id)
        if not records and before.events:
            return before.shown
        run = base
        for record in records:
            run = run.apply(record)
        shown_run = replace(run, notes=(*run.notes, _OTHER_PROCESS))
        self._remote_runs[run_id] = RemoteRun(before.events + len(records), run, shown_run)
        return shown_run

    def forget(self, run_id: str) -> None:
        """Forget another process's run, which has ended or was deleted."""
        self._remote_runs.pop(run_id, None)

    def current(self, summary: RunSummary, process: str | None) -> RunSummary:
        """Correct a run's summary by the state of `process`. The run may be live there, or interrupted by its end."""
        if self.is_elsewhere(process):
            return replace(summary, elsewhere=True)
        interrupted = summary.status in _LIVE and process != self._lock.name
        return replace(summary, status=RunStatus.INTERRUPTED) if interrupted else summary

    def close(self) -> None:
        """Release this process's lock."""
        self._lock.close()
