"""Runs in memory, each with the work on it. Ended ones are evicted once they are stored."""

import threading

from core.runtime.jobs import Job
from core.storage.run_store import RunStore

IDLE_RUNS = 50
"""Ended runs in memory. Older ones are read from the store when they are asked for."""

UNSAVED_RUNS = 200
"""Ended runs in memory that could not be stored, at most. They are tried again whenever a run begins or is asked for."""


class JobTable:
    """The jobs of a process by the id of their run. Any thread may call."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def add(self, run_id: str, job: Job) -> None:
        """Keep the job of a new run."""
        with self._lock:
            self._jobs[run_id] = job
            self._evict_idle()

    def remove(self, run_id: str) -> None:
        """Drop the job of a run, if there is one."""
        with self._lock:
            self._jobs.pop(run_id, None)

    def in_memory(self, run_id: str) -> Job | None:
        """The job of a run of this process; None when there is none in memory."""
        return self._jobs.get(run_id)

    def all(self) -> tuple[Job, ...]:
        """The jobs in memory, in the order in which they came."""
        with self._lock:
            return tuple(self._jobs.values())

    def get(self, run_id: str) -> Job | None:
        """The job of a run in memory or in the store; None when there is no such run.

        Raises:
            StoreFailed: when the store cannot be read.
        """
        with self._lock:
            if run_id in self._jobs:
                return self._jobs[run_id]
        run = self._store.load(run_id)
        if run is None:
            return None
        if (
            run.live
        ):  # in another process: it cannot be continued or stopped here, and is read again next time
            remote = Job(run)
            remote.claim()
            return remote
        with self._lock:
            job = self._jobs.setdefault(run_id, Job(run))  # another thread may have loaded it meanwhile
            self._evict_idle()
        return job

    def unsaved(self, run_id: str) -> str:
        """Why the run is in memory only, in words for a person; empty when it is stored.

        A run that has ended and is not stored is tried once more.
        """
        self._store.flush()
        job = self._jobs.get(run_id)
        if job is None or not (reason := self._store.unsaved(run_id)):
            return ""
        if not job.run.live:
            self._store.save(job.run)
            self._store.flush()
            reason = self._store.unsaved(run_id)
        return reason and f"This run is in memory only, and is lost when OpenQuery ends. {reason}"

    def _evict_idle(self) -> None:
        """Evict the oldest ended runs, and try to store those that are not stored. The caller has the lock."""
        idle = [run_id for run_id, job in self._jobs.items() if not job.live]
        unsaved = [run_id for run_id in idle if self._store.unsaved(run_id)]
        for run_id in unsaved[:1] if self._store.problem else unsaved:
            self._store.save(self._jobs[run_id].run)
        kept_in_memory = set(unsaved[-UNSAVED_RUNS:])
        for run_id in idle[:-IDLE_RUNS]:
            if run_id not in kept_in_memory:
                del self._jobs[run_id]
