"""Texts that were left out of a run's file, fetched again for the run as it is stored."""

from core.config.access import NO_ACCESS, Access
from core.errors import BadInput
from core.export.left_out.fetch import fetch_texts
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.job_table import JobTable
from core.runtime.jobs import Job
from core.storage.run_store import RunStore


class LeftOutTexts:
    """Fetches texts again. Any thread may call."""

    def __init__(self, loop: BackgroundLoop, engine: Engine, store: RunStore, jobs: JobTable) -> None:
        self._loop, self._engine, self._store, self._jobs = loop, engine, store, jobs

    def fetch(self, run_id: str, access: Access = NO_ACCESS) -> Run:
        """Fetch the texts that the run lacks, store it with them, and return it. Waits until that is done.

        Raises:
            BadInput: when there is no such run, it lacks no text, or other work on it is under way.
            StoreFailed: when the store cannot be read.
        """
        job = self._jobs.get(run_id)
        if job is None or not job.claim():
            raise BadInput(
                "The texts of this run cannot be fetched now: it was deleted, or is being worked on.",
                hint="Try again when it has ended.",
            )
        try:
            recorded = None if self._store.unsaved(run_id) else self._store.recorded(run_id)
            return self._loop.call(self._fetched(job, recorded or RecordedRun.folded((), job.run), access))
        finally:
            job.release()

    async def _fetched(self, job: Job, recorded: RecordedRun, access: Access) -> Run:
        ports = await self._engine.ports(recorded.run.knobs, access, recorded.run, writes=False)
        whole = await fetch_texts(recorded, ports)
        self._store.save_recorded(whole)
        job.run = whole.run
        return whole.run
