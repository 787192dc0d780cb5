"""Side answers: answers by another ranking or model that the run itself and the store do not keep."""

import asyncio
from dataclasses import replace

from core import followups
from core.config.access import NO_ACCESS, Access
from core.model import CitationCheck
from core.run.events import Record
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.jobs import Job, LatestJobs
from core.runtime.quotas import Quotas

SIDE_ANSWERS = 100
"""Answers kept in memory; the least recently used is evicted first."""


class SideAnswers(LatestJobs):
    """The latest side answer under each name, such as that of its session."""

    def __init__(
        self, loop: BackgroundLoop, engine: Engine, quotas: Quotas, slots: asyncio.Semaphore
    ) -> None:
        super().__init__(SIDE_ANSWERS)
        self._loop, self._engine, self._quotas, self._slots = loop, engine, quotas, slots

    def answer(self, name: str, ranked: Run, access: Access = NO_ACCESS, *, quota_subject: str = "") -> Job:
        """Start an answer from the ranking of `ranked`. An earlier one of this name is cancelled.

        Raises:
            LimitReached: when the quota subject has used up a budget of the day.
        """
        self._quotas.require_budget(quota_subject)
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
        charge = self._quotas.meter(quota_subject)

        def listen(record: Record, run: Run) -> None:
            job.update(record, run)
            charge(record, run)

        async def work() -> None:
            ports = await self._engine.ports(job.target_knobs, access, unanswered)
            await followups.answer_again(unanswered, ports, listen)

        job.start(self._loop, work, self._slots)
        return job
