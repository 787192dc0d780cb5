"""The registry of runs. Runs work on one background event loop, so no page, tab or request owns them."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from core import followups, pipeline
from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs
from core.config.questions import checked_queries, checked_question
from core.config.settings import Settings
from core.errors import BadInput, OpenQueryError
from core.model import Answer, Extractor
from core.ports import Ports
from core.run.events import Record
from core.run.importer import run_from_json
from core.run.recorder import Listener
from core.run.state import Run, RunStatus
from core.runtime import logs
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.experiments import Experiments
from core.runtime.jobs import NO_QUEUE, Job, LatestJobs, RunObserver
from core.runtime.quotas import Quotas
from core.runtime.run_comparisons import RunComparisons
from core.runtime.side_answers import SideAnswers
from core.stages.ranking.bm25 import prepare_bm25
from core.stages.time_budget import UNLIMITED, TimeBudget
from core.storage.label_store import LabelStore
from core.storage.presets import Presets
from core.storage.run_store import RUNS, RunStore
from core.storage.run_summaries import RunSummary

T = TypeVar("T")

IDLE_RUNS = 50
"""Ended runs in memory. Older ones are read from the store when they are asked for."""

UNSAVED_RUNS = 200
"""Ended runs in memory that could not be stored, at most. They are tried again whenever a run begins or is asked for."""

RETUNED_RUNS = 50
"""Retuned runs in memory, one a session."""

FollowUp = Callable[[Ports, Listener], Awaitable[Run]]
"""A function of `core.followups`, bound to its run and arguments."""


class RunRegistry:
    """Start, continue, retune, stop and look up runs. Every method may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine = Engine(settings)
        self.store = RunStore(settings.folder / RUNS)
        self.quotas = Quotas(settings.runs_per_hour, settings.tokens_per_day)
        self.observers: tuple[RunObserver, ...] = (logs.observe,)
        """Called with the events of every run, but not of retuned ones, which are not stored."""
        self._jobs: dict[str, Job] = {}
        self._retuned = LatestJobs(RETUNED_RUNS)
        """The latest retuned run of each session."""
        self._lock = threading.Lock()
        self._slots = asyncio.Semaphore(settings.runs_at_once)  # first come, first served
        self._loop = BackgroundLoop()
        self.call = self._loop.call
        """Await a coroutine on the loop that owns the connections: `BackgroundLoop.call`."""
        self.side_answers = SideAnswers(self._loop, self.engine, self.quotas, self._slots)
        self.presets = Presets(self.store)
        self.labels = LabelStore(self.store)
        self.comparisons = RunComparisons(self.get, self.labels)
        self.experiments = Experiments(self._loop, self.engine, settings.folder, self.store, self.labels)

    # --- runs ---------------------------------------------------------------------------------------------

    def start(
        self,
        question: str,
        knobs: Knobs,
        access: Access | None = None,
        *,
        queries: Sequence[str] = (),
        observer: RunObserver | None = None,
        quota_subject: str = "",
        user: str = "",
        answers: MutableMapping[str, Answer] | None = None,
        budget: TimeBudget = UNLIMITED,
    ) -> str:
        """Start a run, and return its id, which cannot be guessed.

        Args:
            question: what to answer.
            knobs: the settings of the run.
            access: the visitor's own servers and keys.
            queries: what to search for, as in `research`.
            observer: called with every event of the run.
            quota_subject: whose quotas the run counts against; empty for nobody's.
            user: in whose history the run stands; empty for nobody's.
            answers: the visitor's earlier answers, as in `Ports`. They are read and added to on the loop.
            budget: the time after which the run answers with what it has.

        Raises:
            BadInput: when the question is empty or too long.
            LimitReached: when a quota of the subject is used up.
        """
        question, queries = checked_question(question), checked_queries(queries)
        self.quotas.charge_run(quota_subject)
        run_id = secrets.token_urlsafe(16)
        queued = Run(id=run_id, question=question, knobs=knobs, status=RunStatus.QUEUED)
        job = Job(queued, access or NO_ACCESS)
        job.claim()
        with self._lock:
            self._jobs[run_id] = job
            self._evict_idle()
        if user:
            self.store.set_user(run_id, user)
        listen = self._listener(job, quota_subject, observer)

        def work(ports: Ports) -> Coroutine[Any, Any, Run]:
            ports = replace(ports, answers=answers)
            return pipeline.research(
                question, knobs, ports, listen, queries=queries, run_id=run_id, budget=budget
            )

        self._start(job, work, queue=self._slots)
        return run_id

    def get(self, run_id: str) -> Run | None:
        """The current state of the run, from memory or from the store; None when there is none of that id.

        Raises:
            StoreFailed: when the store cannot be read.
        """
        job = self._job(run_id)
        return job.run if job else None

    def unsaved(self, run_id: str) -> str:
        """Why the run would be gone if OpenQuery ended now, in words for a person; empty: it is stored.

        One that has ended and is not stored is tried once more.
        """
        self.store.flush()
        job = self._jobs.get(run_id)
        if job is None or not (reason := self.store.unsaved(run_id)):
            return ""
        if not job.run.live:
            self.store.save(job.run)
            self.store.flush()
            reason = self.store.unsaved(run_id)
        return reason and f"This run is in memory only, and is lost when OpenQuery ends. {reason}"

    def stop(self, run_id: str) -> None:
        """Stop the run: what it has embedded is ranked, what it has written stays. Does nothing when it has ended."""
        if job := self._jobs.get(run_id):
            job.cancel()
            job.wait()

    def read_more(
        self, run_id: str, keys: Iterable[str], access: Access = NO_ACCESS, *, quota_subject: str = ""
    ) -> None:
        """Fetch skipped hits of a finished run, and rank them with the pages that it has.

        Here and below `access` and `quota_subject` are those of the caller, who need not be the one who started the run;
        the tokens count against the quota of `quota_subject`.
        """
        skipped_keys = tuple(keys)
        self._follow_up(
            run_id, lambda run: partial(followups.read_more, run, skipped_keys), access, quota_subject
        )

    def read_as(
        self,
        run_id: str,
        key: str,
        extractor: Extractor,
        access: Access = NO_ACCESS,
        *,
        quota_subject: str = "",
    ) -> None:
        """Read one page of a finished run by another extractor, and rank it with the others."""
        self._follow_up(
            run_id, lambda run: partial(followups.read_as, run, key, extractor), access, quota_subject
        )

    def search_more(
        self, run_id: str, text: str, access: Access = NO_ACCESS, *, quota_subject: str = ""
    ) -> None:
        """Search one more query for a finished run, and rank its new pages with those that it has.

        Raises:
            BadInput: when the query is empty, too long, or was searched already.
        """

        def bind(run: Run) -> FollowUp:
            return partial(followups.search_more, run, followups.added_query(run, text).text)

        self._follow_up(run_id, bind, access, quota_subject)

    def answer_again(
        self, run_id: str, retuned: Run | None = None, access: Access = NO_ACCESS, *, quota_subject: str = ""
    ) -> None:
        """Answer a run that has ended again, from the ranking of `retuned` when one is given.

        Raises:
            BadInput: when the run has no pages, or `retuned` ranks other pages than it now has.
            LimitReached: when the quota subject has no tokens left.
        """

        def bind(run: Run) -> FollowUp:
            self.quotas.require_tokens(quota_subject)
            if not run.pages:
                raise BadInput("This run has no pages to answer from.", hint="Ask the question again.")
            if retuned is not None and retuned.pages != run.pages:
                raise BadInput(
                    "The pages of this run have changed since this ranking.",
                    hint="Look at the ranking of its current pages, and answer again.",
                )
            return partial(followups.answer_again, run, retuned=retuned)

        self._follow_up(run_id, bind, access, quota_subject, knobs=retuned.knobs if retuned else None)

    def queued(self) -> tuple[str, ...]:
        """Ids of the runs that wait for a free slot, in order of arrival."""
        with self._lock:
            jobs = tuple(self._jobs.items())
        return tuple(run_id for run_id, job in jobs if job.run.status is RunStatus.QUEUED)

    def live_runs(self) -> int:
        """The number of runs that are waiting or under way in this process."""
        with self._lock:
            return sum(job.run.live for job in self._jobs.values())

    def history(self, limit: int = 100, user: str | None = None) -> tuple[RunSummary, ...]:
        """Stored runs, newest first: those of one user, or all.

        Raises:
            StoreFailed: when the store cannot be read.
        """
        return self.store.history(limit, user)

    def tag(self, run_ids: Iterable[str], tag: str, *, remove: bool = False) -> None:
        """Add a tag to these stored runs, or remove it from them.

        Raises:
            BadInput: when the tag is empty or too long.
        """
        self.store.tag(run_ids, tag, remove=remove)

    def import_run(self, document: bytes, user: str = "") -> str:
        """Store an exported run under a new id, which is returned.

        Raises:
            BadInput: when the document is not an exported run, or its parts are inconsistent.
        """
        run = replace(run_from_json(document), id=secrets.token_urlsafe(16))
        self.store.save(run)
        if user:
            self.store.set_user(run.id, user)
        with self._lock:
            self._jobs[run.id] = Job(run)
            self._evict_idle()
        return run.id

    def delete(self, run_id: str) -> None:
        """Stop the run, and delete it from memory and store."""
        self.stop(run_id)
        with self._lock:
            self._jobs.pop(run_id, None)
        self.store.delete(run_id)

    # --- retuning -----------------------------------------------------------------------------------------

    def retune(
        self,
        session_id: str,
        run_id: str,
        knobs: Knobs,
        access: Access = NO_ACCESS,
        *,
        quota_subject: str = "",
    ) -> Job | None:
        """Rank the run under other passage, embedding and ranking knobs, for one session.

        The run itself does not change. A call with the same knobs returns the same job until the run has
        changed; a call with other knobs cancels the session's unfinished job.

        Args:
            session_id: the browser session that the result is for.
            run_id: the run.
            knobs: of which `chunk`, `embed` and `rank` are used.
            access: the visitor's. When it names an embedding model, the passages are embedded by that.
            quota_subject: whose quota the tokens of new embeddings count against.

        Returns:
            The job, which is the run's own when nothing differs; None when there is no such run.
        """
        original = self._job(run_id)
        if original is None or original.run.live:
            return original
        run = original.run
        knobs = replace(run.knobs, chunk=knobs.chunk, embed=knobs.embed, rank=knobs.rank)
        with self._lock:
            latest = self._retuned.get(session_id)
            same = latest if latest and latest.base is run and latest.access == access else None
            if same and same.target_knobs == knobs:
                return same
            if run.knobs == knobs and not access.embedding_model:
                self._retuned.drop(session_id)
                return original
            # Start from the session's latest result: when only the ranking changes, its index is reused.
            start = same.run if same and same.run.status is RunStatus.DONE else run
            job = Job(start, access, base=run)
            job.target_knobs = knobs
            job.claim()
            self._retuned[session_id] = job

        charge = self.quotas.token_meter(quota_subject)

        def listen(record: Record, run: Run) -> None:
            job.update(record, run)
            charge(record, run)

        def work(ports: Ports) -> Awaitable[Run]:
            index = start.index
            embedded = index is not None and index.embedder == ports.embed.identity
            rerun = followups.reembed if access.embedding_model and not embedded else followups.retune
            return rerun(start, knobs, ports, listen)

        self._start(job, work)
        return job

    def stop_retuning(self, session_id: str) -> None:
        """Stop the session's retuning. Its job has the ranking of before, or a new one that is there, and is not
        started again by a call of `retune` with the same knobs.
        """
        with self._lock:
            job = self._retuned.get(session_id)
        if job:
            job.cancel()
            job.wait()

    # --- the loop -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop every run, close connections, workers and the store, end the loop."""
        with self._lock:
            jobs = [*self._jobs.values(), *self._retuned.values(), *self.side_answers.all()]
        for job in jobs:
            job.cancel()
        for job in jobs:
            job.wait()
        self.experiments.close()
        self.call(self.engine.aclose())
        self._loop.close()
        self.store.close()

    def _follow_up(
        self,
        run_id: str,
        bind: Callable[[Run], FollowUp],
        access: Access,
        quota_subject: str = "",
        *,
        knobs: Knobs | None = None,
    ) -> None:
        """Start a follow-up of a finished run. Nothing happens while other work on it is under way.

        `bind` gets the run once no other work can change it, and may refuse by raising.
        """
        job = self._job(run_id)
        if job is None or not job.claim():
            return
        try:
            follow_up = bind(job.run)
        except OpenQueryError:
            job.release()
            raise
        job.access, job.target_knobs = access, knobs or job.run.knobs
        listen = self._listener(job, quota_subject)
        self._start(job, lambda ports: follow_up(ports, listen))

    def _start(
        self,
        job: Job,
        work: Callable[[Ports], Awaitable[Run]],
        queue: AbstractAsyncContextManager[Any] = NO_QUEUE,
    ) -> None:
        async def with_ports() -> None:
            run = await work(await self.engine.ports(job.target_knobs, job.access, job.run))
            if run.index is not None:
                # The visitor may next choose BM25, which is then ready.
                await asyncio.to_thread(prepare_bm25, run.index.passages)

        job.start(self._loop, with_ports, queue)

    def _listener(self, job: Job, quota_subject: str, observer: RunObserver | None = None) -> Listener:
        """A listener that stores every event, updates the job, charges the quota subject and calls the observers."""
        job.observers = (*self.observers, observer) if observer else self.observers
        charge = self.quotas.token_meter(quota_subject)

        def listen(record: Record, run: Run) -> None:
            self.store.append(run, record)
            job.run = run
            charge(record, run)
            for observe in job.observers:
                observe(record, run)

        job.listen = listen
        return listen

    def _job(self, run_id: str) -> Job | None:
        with self._lock:
            if run_id in self._jobs:
                return self._jobs[run_id]
        run = self.store.load(run_id)
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

    def _evict_idle(self) -> None:
        """Evict the oldest ended runs from memory, and try to store those that are not stored. The caller has the lock."""
        idle = [run_id for run_id, job in self._jobs.items() if not job.live]
        unsaved = [run_id for run_id in idle if self.store.unsaved(run_id)]
        for run_id in unsaved[:1] if self.store.problem else unsaved:
            self.store.save(self._jobs[run_id].run)
        kept_in_memory = set(unsaved[-UNSAVED_RUNS:])
        for run_id in idle[:-IDLE_RUNS]:
            if run_id not in kept_in_memory:
                del self._jobs[run_id]
