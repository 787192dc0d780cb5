"""Rank a stored run under other knobs, or answer it by another model, for one session. The run does not change."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from core import followups
from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs
from core.model import CitationCheck
from core.ports import Ports
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.job_table import JobTable
from core.runtime.jobs import NO_QUEUE, Job, LatestJobs
from core.runtime.quotas import Quotas
from core.stages.ranking.bm25 import bm25_index

RETUNED_RUNS = 50
"""The most retuned runs in memory, one per session."""


UNRESERVED = nullcontext()
"""The reservation of work that writes no answer."""
SIDE_ANSWERS = 100
"""The most answers in memory. The least recently used is evicted first."""


def start_job(
    loop: BackgroundLoop,
    engine: Engine,
    job: Job,
    work: Callable[[Ports], Awaitable[Run]],
    queue: AbstractAsyncContextManager[Any] = NO_QUEUE,
    *,
    earlier: Run | None = None,
    reserved: AbstractContextManager[object] = UNRESERVED,
    writes: bool = True,
) -> None:
    """Start work on a job with the ports of its knobs, after entering `queue`. Pages of `earlier` can be reused.

    Without `writes`, model servers are asked only for vectors and reranking. `reserved` is entered when the work
    begins, and refuses it if a limit of the day is then reached.
    """

    async def with_ports() -> None:
        with reserved:
            ports = await engine.ports(job.target_knobs, job.access, earlier or job.run, writes=writes)
            run = await work(ports)
        if run.index is not None and run.ranking is not None and run.ranking.bm25 is None:
            # Prepare BM25, which the visitor may choose next.
            await asyncio.to_thread(bm25_index, run.index.passages, run.pages)

    job.start(loop, with_ports, queue)


class Retuning(LatestJobs):
    """The latest retuned run of each session.

    A stopped job has the earlier ranking, or a new ranking that was complete. A call of `start` with the same knobs
    does not restart it.
    """

    def __init__(self, loop: BackgroundLoop, engine: Engine, quotas: Quotas, jobs: JobTable) -> None:
        super().__init__(RETUNED_RUNS)
        self._loop, self._engine, self._quotas, self._runs = loop, engine, quotas, jobs

    def start(self, session_id: str, run_id: str, knobs: Knobs, access: Access = NO_ACCESS) -> Job | None:
        """Rank the run under other passage, embedding and ranking knobs.

        A call with the same knobs returns the same job until the run has changed. A call with other knobs cancels the
        session's unfinished job.

        Args:
            session_id: the browser session that sees the result.
            run_id: the run.
            knobs: the knobs, of which `chunk`, `embed` and `rank` are used.
            access: the visitor's access. If it names an embedding model, that model embeds the passages. Tokens of
                new embeddings count against its quota.

        Returns:
            The job, which is the run's job when nothing differs, or None if the run does not exist.
        """
        original = self._runs.get(run_id)
        if original is None or original.run.live:
            return original
        run = original.run
        knobs = replace(run.knobs, chunk=knobs.chunk, embed=knobs.embed, rank=knobs.rank)
        with self.lock:
            latest = self.get(session_id)
            same = latest if latest and latest.base is run and latest.access == access else None
            if same and same.target_knobs == knobs:
                return same
            if run.knobs == knobs and not access.embedding_model:
                self.put(session_id, None)
                return original
            # Start from the session's latest result, because its index is reused when only the ranking changes.
            start = same.run if same and same.run.status is RunStatus.DONE else run
            job = Job(start, access, base=run)
            job.target_knobs = knobs
            job.claim()
            self.put(session_id, job)

        listen = job.charging(self._quotas.meter(access.quota_subject))

        def work(ports: Ports) -> Awaitable[Run]:
            index = start.index
            embedded = index is not None and index.embedder == ports.embedder_of(index).identity
            rerun = followups.reembed if access.embedding_model and not embedded else followups.retune
            return rerun(start, knobs, ports, listen)

        start_job(self._loop, self._engine, job, work, writes=False)
        return job


class SideAnswers(LatestJobs):
    """The latest side answer under each name, such as a session's."""

    def __init__(
        self, loop: BackgroundLoop, engine: Engine, quotas: Quotas, slots: asyncio.Semaphore
    ) -> None:
        super().__init__(SIDE_ANSWERS)
        self._loop, self._engine, self._quotas, self._slots = loop, engine, quotas, slots

    def answer(self, name: str, ranked: Run, access: Access = NO_ACCESS) -> Job:
        """Start an answer from the ranking of `ranked`. An earlier answer of this name is cancelled.

        Raises:
            LimitReached: when the quota subject has used up a budget of the day.
        """
        self._quotas.require_budget(access.quota_subject)
        unanswered = replace(
            ranked,
            status=RunStatus.QUEUED,
            sources=(),
            prompt=(),
            text="",
            answer=None,
            check=CitationCheck(),
            earlier_answers=(),
            model_usage=(),
            error=None,
        )
        job = Job(unanswered, access)
        job.claim()
        self.put(name, job)
        work = self._quotas.work(access.quota_subject)
        listen = job.charging(work.listen)
        start_job(
            self._loop,
            self._engine,
            job,
            lambda ports: followups.answer_again(unanswered, ports, listen),
            self._slots,
            reserved=work,
        )
        return job
