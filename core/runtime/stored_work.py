"""Work on runs of the registry: its events are stored, counted against a quota and told to observers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from core.config.access import Access
from core.config.knobs import Knobs
from core.config.permissions import Action, Caller
from core.errors import OpenQueryError
from core.ports import Ports
from core.run.events import Record
from core.run.recorder import Listener
from core.run.state import Run
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.job_table import JobTable
from core.runtime.jobs import NO_QUEUE, Job, RunObserver
from core.runtime.quotas import Quotas
from core.runtime.side_jobs.retuning import start_job
from core.storage.run_links import refuse_link
from core.storage.run_store import RunStore

FollowUp = Callable[[Ports, Listener], Awaitable[Run]]
"""A function of `core.followups`, bound to its run and arguments."""


class StoredWork:
    """What the registry's methods start work with. Every method may be called from any thread."""

    engine: Engine
    store: RunStore
    quotas: Quotas
    observers: tuple[RunObserver, ...]
    """Called with the events of every run, but not of retuned ones, which are not stored."""
    _jobs: JobTable
    _loop: BackgroundLoop

    def require(self, caller: Caller, action: Action, run_id: str) -> None:
        """Raises NotAllowed when the caller may not do this with the run, or names it by a read-only link."""
        refuse_link(run_id)
        caller.require(action, self.store.user(run_id))

    def _follow_up(
        self,
        run_id: str,
        bind: Callable[[Run], FollowUp],
        access: Access,
        quota_subject: str = "",
        *,
        knobs: Knobs | None = None,
        queue: AbstractAsyncContextManager[Any] = NO_QUEUE,
    ) -> bool:
        """Start a follow-up of a finished run. False, and nothing happens, while other work on it is under way.

        It waits until `queue` lets it in. `bind` gets the run once no other work can change it, and may refuse by raising.
        """
        refuse_link(run_id)
        job = self._jobs.get(run_id)
        if job is None or not job.claim():
            return False
        try:
            follow_up = bind(job.run)
        except OpenQueryError:
            job.release()
            raise
        job.access, job.target_knobs = access, knobs or job.run.knobs
        listen = self._listener(job, quota_subject)
        start_job(self._loop, self.engine, job, lambda ports: follow_up(self._storing(ports), listen), queue)
        return True

    def _listener(self, job: Job, quota_subject: str, observer: RunObserver | None = None) -> Listener:
        """A listener that stores every event, updates the job, charges the quota subject and calls the observers."""
        job.observers = (*self.observers, observer) if observer else self.observers
        charge = self.quotas.meter(quota_subject)

        def listen(record: Record, run: Run) -> None:
            self.store.append(run, record)
            job.run = run
            charge(record, run)
            for observe in job.observers:
                observe(record, run)

        job.listen = listen
        return listen

    def _storing(self, ports: Ports) -> Ports:
        """The ports of a run whose events go to the store."""
        return replace(ports, stored=partial(asyncio.to_thread, self.store.flush))
