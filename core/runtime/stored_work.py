"""Work on stored runs. Its events are stored, counted against a quota and sent to observers.

A planned or unfinished run continues at its step.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from core import followups
from core.analysis.run_activity import writes_answer
from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs
from core.config.permissions import Action, Caller
from core.config.run_knobs import Method
from core.errors import BadInput, OpenQueryError
from core.methods.deep import approved_sub_questions
from core.methods.filling import is_incomplete
from core.ports import Ports
from core.run.events import Record
from core.run.recorder import Listener
from core.run.run_ids import is_link, refuse_link
from core.run.state import Run
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.job_table import JobTable
from core.runtime.jobs import NO_QUEUE, Job, RunObserver
from core.runtime.quotas import Quotas, Work
from core.runtime.side_jobs.retuning import UNRESERVED, start_job
from core.storage.run_store import RunStore

UNWATCHED_SECONDS = 30.0
"""Seconds for which a run is filled after its last page was closed."""


def own_budget(knobs: Knobs) -> int:
    """Return the token budget of an agent or deep run. 0 for other runs, which have no budget."""
    return 0 if knobs.run.method is Method.PIPELINE else knobs.run.token_budget


FollowUp = Callable[[Ports, Listener], Awaitable[Run]]
"""A function of `core.followups`, bound to its run and arguments."""


class StoredWork:
    """The base of the registry, which starts work. Every method may be called from any thread."""

    engine: Engine
    store: RunStore
    quotas: Quotas
    observers: tuple[RunObserver, ...]
    """Called with the events of every run, except retuned runs, which are not stored."""
    _jobs: JobTable
    loop: BackgroundLoop
    _slots: asyncio.Semaphore
    """Limits how many runs work at once."""
    _filling: asyncio.Semaphore
    """Limits filling to one run at a time."""

    def require(self, caller: Caller, action: Action, run_id: str) -> None:
        """Raise NotAllowed if the caller may not do this with the run. A read-only link is refused too."""
        refuse_link(run_id)
        caller.require(action, self.store.user(run_id))

    def _follow_up(
        self,
        run_id: str,
        bind: Callable[[Run], FollowUp],
        access: Access,
        *,
        knobs: Knobs | None = None,
        queue: AbstractAsyncContextManager[Any] = NO_QUEUE,
        answers: bool = False,
    ) -> bool:
        """Start a follow-up of a finished run. Returns False and does nothing if other work on it is running.

        The follow-up waits for `queue`. If it `answers`, it reserves its expected usage of the limits of the day.
        `bind` gets the run when no other work can change it, and may refuse by raising.

        Raises:
            BadInput: when the run was deleted.
        """
        refuse_link(run_id)
        job = self._jobs.get(run_id)
        if job is None:
            raise BadInput("This run was deleted.", hint="Ask the question again.")
        if not job.claim():
            return False
        try:
            follow_up = bind(job.run)
        except OpenQueryError:
            job.release()
            raise
        job.access, job.target_knobs = access, knobs or job.run.knobs
        spending = self.quotas.work(access.quota_subject, own_budget(job.target_knobs))
        listen = self._listener(job, spending)
        start_job(
            *(
                self.loop,
                self.engine,
                job,
                lambda ports: follow_up(self._storing(ports, job), listen),
                queue,
            ),
            reserved=spending if answers else UNRESERVED,
        )
        return True

    def complete(self, run_id: str, access: Access = NO_ACCESS) -> None:
        """Embed waiting passages of an ended run while somebody views it.

        It ends when other work on the run starts, or when nobody has called `is_filling` for `UNWATCHED_SECONDS`.
        Computed vectors stay.
        """
        job = None if is_link(run_id) else self._jobs.get(run_id)
        if job is None or job.run.live or job.live or job.made_no_progress or not is_incomplete(job.run):
            return
        if job.claim(wait=0, fills=True):
            job.access, job.target_knobs = access, job.run.knobs
            work = partial(followups.complete, job.run)
            listen = self._listener(job, self.quotas.work(""))
            job.watched = time.monotonic()

            def listen_while_watched(record: Record, run: Run) -> None:
                listen(record, run)
                if time.monotonic() - job.watched > UNWATCHED_SECONDS:
                    job.cancel()

            start_job(
                *(self.loop, self.engine, job),
                lambda ports: work(ports, listen_while_watched),
                self._filling,
                writes=False,
            )

    def is_filling(self, run_id: str) -> bool:
        """Whether waiting passages of an ended run are being embedded."""
        job = self._jobs.in_memory(run_id)
        if job is None or not (job.fills and job.live):
            return False
        job.watched = max(job.watched, time.monotonic())
        return True

    def wait_for_vectors(self, run_id: str) -> None:
        """Wait until all passages have vectors, or the embedding work ends."""
        if job := self._jobs.in_memory(run_id):
            job.watched = math.inf
            job.wait(None)

    def approve_plan(self, run_id: str, sub_questions: Sequence[str], access: Access = NO_ACCESS) -> None:
        """Research these sub-questions of a planned run. It waits for a free slot.

        Raises:
            BadInput: when `approved_sub_questions` raises it, or another tab has just approved the plan.
            LimitReached: when the quota subject has used up its budget.
        """

        def bind(run: Run) -> FollowUp:
            approved = approved_sub_questions(run, sub_questions)
            self.quotas.require_budget(access.quota_subject)
            return partial(followups.research_plan, run, approved)

        if not self._follow_up(run_id, bind, access, queue=self._slots, answers=True):
            raise BadInput(
                "The plan of this run was approved just now.", hint="Watch it, or stop it and go on later."
            )

    def resume(self, run_id: str, access: Access = NO_ACCESS) -> None:
        """Continue an unfinished run at its step. It waits for a free slot.

        Raises:
            BadInput: when the run has no unfinished step.
            LimitReached: when the quota subject has used up its budget.
        """

        def bind(run: Run) -> FollowUp:
            followups.require_unfinished(run)
            self.quotas.require_budget(access.quota_subject)
            return partial(followups.resume, run)

        self._follow_up(run_id, bind, access, queue=self._slots, answers=True)

    def quote(self, run_id: str, access: Access = NO_ACCESS) -> None:
        """Quote a run's sources instead of letting the model write. An ended run gets a new answer of quotations.

        Raises:
            BadInput: when the run is live but is not writing its answer in this process, or has no pages.
        """
        job = self._jobs.in_memory(run_id)
        if job is not None and writes_answer(job.run):
            self.loop.call_soon(job.quote.set)
            return

        def bind(run: Run) -> FollowUp:
            followups.require_pages(run)
            return partial(followups.answer_again, run, quoted=True)

        if not self._follow_up(run_id, bind, access):
            raise BadInput(
                "This run is under way, and its chat model does not write the answer now.",
                hint="Wait for its answer, or stop it first.",
            )

    def _listener(self, job: Job, spending: Work, observer: RunObserver | None = None) -> Listener:
        """Return a listener for the events of a run.

        It stores every event, updates the job, charges the quota subject of `spending` and calls the observers.
        """
        job.observers = (*self.observers, observer) if observer else self.observers

        def listen(record: Record, run: Run) -> None:
            self.store.append(run, record)
            job.update(record, run)
            spending.charge(record.event)
            for observe in job.observers:
                observe(record, run)

        job.listen = listen
        return listen

    def _storing(self, ports: Ports, job: Job) -> Ports:
        """Return the ports of a run whose events are stored."""
        return replace(ports, flush=partial(asyncio.to_thread, self.store.flush), quote=job.quote)
