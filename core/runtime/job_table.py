"""Runs in memory, each with its job. Ended runs are evicted after they are stored."""

import threading
from dataclasses import replace

from cachetools import LRUCache

from core.analysis.context_usage import without_history
from core.run.run_ids import is_link
from core.run.state import Run
from core.runtime.jobs import Job
from core.storage.run_links import RunLinks
from core.storage.run_store import RunStore

IDLE_RUNS = 50
"""The most ended runs in memory. Older runs are read from the store on request."""

UNSAVED_RUNS = 200
"""The most ended runs in memory that could not be stored.

They are tried again when a write succeeds, on request, and at the end.
"""

LINKED_RUNS = 200
"""The most linked copies of runs in memory. They share all data but the id with their runs."""


def linked_copy(run: Run, link: str) -> Run:
    """Return the copy of a run that a link shows.

    Its id is the link. References to other turns and the data that a chat client sent with the question are removed.
    """
    turn = run.turn and replace(run.turn, conversation="", follows="", history=())
    before = run.before and linked_copy(run.before, link)
    client = run.client and replace(run.client, instructions="", message="", history=())
    return replace(run, id=link, turn=turn, client=client, prompt=without_history(run.prompt), before=before)


class JobTable:
    """The jobs of a process by run id. Any thread may call."""

    def __init__(self, store: RunStore, links: RunLinks) -> None:
        self._store = store
        self._links = links
        self._linked: LRUCache[str, tuple[Run, Job]] = LRUCache(LINKED_RUNS)
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        store.next_unsaved = self._next_unsaved

    def add(self, run_id: str, job: Job) -> None:
        """Keep the job of a new run."""
        with self._lock:
            self._jobs[run_id] = job
            self._evict_idle()

    def remove(self, run_id: str) -> None:
        """Drop the job of a run, if it exists."""
        with self._lock:
            self._jobs.pop(run_id, None)

    def in_memory(self, run_id: str) -> Job | None:
        """Return the job of a run in memory, or None."""
        return self._jobs.get(run_id)

    def all(self) -> tuple[Job, ...]:
        """Return the jobs in memory, in order of arrival."""
        with self._lock:
            return tuple(self._jobs.values())

    def get(self, run_id: str) -> Job | None:
        """Return the job of a run in memory or in the store, or None.

        `run_id` may be a link. The job then has a copy of the run, and cannot be claimed.

        Raises:
            StoreFailed: when the store cannot be read.
        """
        if is_link(run_id):
            return self._linked_job(run_id)
        with self._lock:
            present = self._jobs.get(run_id)
        if present and (present.live or not self._store.is_outdated(run_id)):
            return present
        if present:
            self.remove(run_id)
        run = self._store.load(run_id)
        if run is None:
            return None
        if (
            run.live
        ):  # the run belongs to another process, which alone can continue or stop it, so it is not kept here
            remote = Job(run)
            remote.claim()
            return remote
        with self._lock:
            job = self._jobs.setdefault(run_id, Job(run))  # another thread may have loaded it meanwhile
            self._evict_idle()
        return job

    def _linked_job(self, link: str) -> Job | None:
        """Return the job of a link's copy of a run, or None for a revoked link.

        The job stays the same until the run changes, so that its tuning continues.
        """
        run_id = self._links.run_of(link)
        original = self.get(run_id) if run_id else None
        if original is None:
            return None
        run = original.run
        with self._lock:
            shown, job = self._linked.get(link, (None, None))
            if shown is not run or job is None:
                job = Job(linked_copy(run, link))
                job.claim()
                self._linked[link] = (run, job)
        return job

    def unsaved(self, run_id: str) -> str:
        """Return why the run is in memory only, or "". An ended run that is not stored is tried once more."""
        self._store.flush()
        job = self._jobs.get(run_id)
        if job is None or not (reason := self._store.unsaved(run_id)):
            return ""
        if not job.run.live:
            self._store.save(job.run)
            self._store.flush()
            reason = self._store.unsaved(run_id)
        return reason and f"This run is in memory only, and is lost when OpenQuery ends. {reason}"

    def save_unsaved(self) -> None:
        """Queue all ended, unsaved runs for storing again."""
        with self._lock:
            unsaved = self._unsaved()
        for run in unsaved:
            self._store.save(run)

    def _next_unsaved(self) -> Run | None:
        with self._lock:
            return next(iter(self._unsaved()), None)

    def _unsaved(self) -> list[Run]:
        """Return ended runs that could not be stored, oldest first. The caller has the lock."""
        idle = (job for job in self._jobs.values() if not job.live)
        return [job.run for job in idle if self._store.unsaved(job.run.id)]

    def _evict_idle(self) -> None:
        """Evict the oldest ended runs that are stored. The caller has the lock."""
        idle = [run_id for run_id, job in self._jobs.items() if not job.live]
        kept_in_memory = {run.id for run in self._unsaved()[-UNSAVED_RUNS:]}
        for run_id in idle[:-IDLE_RUNS]:
            if run_id not in kept_in_memory:
                del self._jobs[run_id]
