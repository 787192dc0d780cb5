"""Answers that stand beside a run: one person's look at what another context or model would have said."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from dataclasses import replace

from core import followups
from core.config.access import NOBODY, Access
from core.model import Check
from core.run.events import Record
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.runtime.jobs import BackgroundLoop, Job
from core.runtime.quotas import Quotas

KEPT = 100
"""Answers held in memory; whoever's was not asked for longest loses it."""


class SideAnswers:
    """Answers from rankings of a run, which the run itself and the store know nothing of.

    Each has a name, such as that of its viewer. Every method may be called from any thread.
    """

    def __init__(
        self, background: BackgroundLoop, engine: Engine, limits: Quotas, slots: asyncio.Semaphore
    ) -> None:
        self._background = background
        self._engine = engine
        self._limits = limits
        self._slots = slots
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, name: str, tuned: Run, access: Access = NOBODY, *, owner: str = "") -> Job:
        """Begin an answer from the ranking of `tuned`; an earlier one of this name is ended and forgotten.

        Raises:
            LimitReached: when no tokens are left for the owner.
        """
        self._limits.go_on(owner)
        blank = replace(
            tuned,
            status=RunStatus.QUEUED,
            sources=(),
            prompt=(),
            text="",
            answer=None,
            check=Check(),
            earlier_answers=(),
            error=None,
        )
        job = Job(blank, access)
        job.wanted = tuned.knobs
        job.take()
        with self._lock:
            before = self._jobs.pop(name, None)
            self._jobs[name] = job
            out = [self._jobs.popitem(last=False)[1] for _ in range(len(self._jobs) - KEPT)]
        for old in (*out, *([before] if before else ())):
            self._background.cancel(old)

        charge = self._limits.charging(owner)

        def listen(record: Record, run: Run) -> None:
            job.follow(record, run)
            charge(record, run)

        async def work() -> None:
            ports = await self._engine.ports(job.wanted, access)
            await followups.answer_again(blank, ports, listen)

        self._background.begin(job, work, self._slots)
        return job

    def get(self, name: str) -> Job | None:
        """The latest answer of this name, under way or ended."""
        with self._lock:
            if name in self._jobs:
                self._jobs.move_to_end(name)
            return self._jobs.get(name)

    def stop(self, name: str) -> None:
        """End the answer of this name early; what was written is kept."""
        if job := self.get(name):
            self._background.cancel(job)
            job.wait()

    def forget(self, name: str) -> None:
        """End the answer of this name and drop it."""
        with self._lock:
            job = self._jobs.pop(name, None)
        if job:
            self._background.cancel(job)

    def all(self) -> tuple[Job, ...]:
        with self._lock:
            return tuple(self._jobs.values())
