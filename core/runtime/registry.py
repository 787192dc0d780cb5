"""The registry of runs. Runs work on one background event loop, so no page, tab or request owns them."""

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, Unpack, cast

from core import followups, pipeline
from core.analysis.run_activity import writes_answer
from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs, within_typed_sites
from core.config.permissions import Action, Caller
from core.config.run_knobs import Method
from core.config.settings import Settings
from core.errors import BadInput, OpenQueryError, StoreFailed
from core.methods.deep import approved_sub_questions
from core.methods.filling import is_incomplete
from core.model import Extractor, Label
from core.ports import Ports
from core.run.events import Record
from core.run.recorded_run import RecordedRun
from core.run.recorder import Listener
from core.run.run_ids import is_link, new_run_id, refuse_link
from core.run.state import Run, RunStatus
from core.runtime import logs
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.features import features
from core.runtime.job_table import JobTable
from core.runtime.jobs import NO_QUEUE, Job, RunObserver, RunOptions
from core.runtime.quotas import Quotas, Work
from core.runtime.side_jobs.conversations import Conversations
from core.runtime.side_jobs.retuning import UNRESERVED, Retuning, SideAnswers, start_job
from core.stages.time_budget import UNLIMITED
from core.storage.bundle import recorded_run
from core.storage.label_store import LabelStore
from core.storage.presets import Presets
from core.storage.run_links import RunLinks
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from core.text.questions import checked_queries, checked_question

RUNS_IN_ESTIMATE = 20
"""The number of latest runs that an estimate uses."""
UNWATCHED_SECONDS = 30.0
"""Seconds for which a run is filled after its last page was closed."""
FollowUp = Callable[[Ports, Listener], Awaitable[Run]]
"""A function of `core.followups`, bound to its run and arguments."""


S = TypeVar("S")


class RunRegistry:
    """Start, continue, retune, stop and look up runs. Every method may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine = Engine(settings)
        self.store = RunStore(settings.folder / RUNS)
        self.quotas = Quotas.from_settings(settings, self.engine.prices.read)
        self.observers: tuple[RunObserver, ...] = (logs.observe,)
        """Called with the events of every run, except retuned runs, which are not stored."""
        self.tag = self.store.tag
        """Add a tag to stored runs, or remove it, with `RunStore.tag`."""
        self.history = self.store.history
        """Return stored runs, newest first, with `RunStore.history`."""
        self.links = RunLinks(self.store)
        self._jobs = JobTable(self.store, self.links)
        self.unsaved = self._jobs.unsaved
        """Return why a run is in memory only, or "", with `JobTable.unsaved`."""
        self._slots = asyncio.Semaphore(settings.runs_at_once)  # in order of arrival
        self._filling = asyncio.Semaphore(1)
        self.loop = BackgroundLoop()
        self.call = self.loop.call
        """Run a coroutine on the loop that owns the connections, with `BackgroundLoop.call`."""
        self.side_answers = SideAnswers(self.loop, self.engine, self.quotas, self._slots)
        self.conversations = Conversations(self.loop, self.engine, self.quotas, self.get)
        self.retuning = Retuning(self.loop, self.engine, self.quotas, self._jobs)
        self.presets = Presets(self.store)
        self.labels = LabelStore(self.store)
        self._services: dict[type, object] = {}
        self._services_lock = threading.Lock()

    def service(self, kind: type[S]) -> S:
        """Return the service of a feature, such as `Experiments`. The first call makes those of all features.

        Raises:
            LookupError: when no feature has such a service.
        """
        with self._services_lock:
            if not self._services:
                makers = [feature.services for feature in features() if feature.services]
                self._services = {type(made): made for make in makers for made in make(self)}
        if kind not in self._services:
            raise LookupError(f"no feature has the service {kind.__name__}")
        return cast("S", self._services[kind])

    def require(self, caller: Caller, action: Action, run_id: str) -> None:
        """Raise NotAllowed if the caller may not do this with the run. A read-only link is refused too."""
        refuse_link(run_id)
        caller.require(action, self.store.user(run_id))

    def start(
        self,
        question: str,
        knobs: Knobs,
        access: Access = NO_ACCESS,
        *,
        observer: RunObserver | None = None,
        user: str = "",
        **options: Unpack[RunOptions],
    ) -> str:
        """Start a run, and return its unguessable id.

        Args:
            question: the question. Its words `site:` and `-site:` narrow the search.
            knobs: the settings of the run.
            access: the visitor's own servers and keys, and the quota subject of the run.
            observer: called with every event of the run.
            user: the owner of the history that lists the run, or empty.
            options: see `RunOptions`.

        Raises:
            BadInput: when the question is empty or too long, or the earlier run is gone.
            LimitReached: when a quota of the subject is used up.
        """
        question, knobs = within_typed_sites(checked_question(question), knobs)
        queries = checked_queries(options.get("queries", ()))
        turn, client = options.get("turn"), options.get("client")
        earlier = self.conversations.followed(turn.follows) if turn and turn.follows else None
        self.quotas.charge_run(access.quota_subject)
        run_id = new_run_id()
        queued = Run(
            id=run_id, question=question, knobs=knobs, turn=turn, client=client, status=RunStatus.QUEUED
        )
        job = Job(queued, access)
        job.claim()
        self._jobs.add(run_id, job)
        if user:
            self.store.set_user(run_id, user)
        spending = self.quotas.work(access.quota_subject, knobs.run.own_budget)
        listen = self._listener(job, spending, observer)

        is_planned = knobs.run.method is Method.DEEP
        earlier_runs = self.history(RUNS_IN_ESTIMATE, user or None) if is_planned else ()

        def work(ports: Ports) -> Coroutine[Any, Any, Run]:
            storing = self._storing(ports, job)
            if not options.get("answered", True):
                return pipeline.retrieve(question, knobs, storing, listen, queries=queries, run_id=run_id)
            return pipeline.research(
                question,
                knobs,
                replace(storing, answers=options.get("answers")),
                listen,
                queries=queries,
                run_id=run_id,
                budget=options.get("budget", UNLIMITED),
                turn=turn,
                client=client,
                earlier=earlier,
                earlier_runs=earlier_runs,
            )

        start_job(self.loop, self.engine, job, work, self._slots, earlier=earlier, reserved=spending)
        return run_id

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

    def get(self, run_id: str) -> Run | None:
        """Return the current run, from memory or store, or None. Raises StoreFailed when the store cannot be read."""
        job = self._jobs.get(run_id)
        return job.run if job else None

    def clock(self, run: Run) -> float | None:
        """Return seconds of a run's clock, or None. It is None for a live run of another process, or of a link."""
        job = self._jobs.in_memory(run.id)
        return run.seconds if not run.live else job.clock() if job and job.run.live else None

    def stop(self, run_id: str) -> None:
        """Stop the run, keeping its results.

        Embedded passages are ranked, and written text stays. Does nothing after the run has ended.
        """
        if job := self._jobs.in_memory(run_id):
            job.cancel()
            job.wait()

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

        The follow-up waits for `queue`. If it `answers`, it needs and reserves a part of the limits of the day. `bind`
        gets the run when no other work can change it, and may refuse by raising.

        Raises:
            BadInput: when the run was deleted.
            LimitReached: when it `answers`, and the quota subject has used up a budget of the day.
        """
        refuse_link(run_id)
        job = self._jobs.get(run_id)
        if job is None:
            raise BadInput("This run was deleted.", hint="Ask the question again.")
        if not job.claim():
            return False
        try:
            follow_up = bind(job.run)
            if answers:
                self.quotas.require_budget(access.quota_subject)
        except OpenQueryError:
            job.release()
            raise
        job.access, job.target_knobs = access, knobs or job.run.knobs
        spending = self.quotas.work(access.quota_subject, job.target_knobs.run.own_budget)
        listen = self._listener(job, spending)

        def work(ports: Ports) -> Awaitable[Run]:
            return follow_up(self._storing(ports, job), listen)

        reserved = spending if answers else UNRESERVED
        start_job(self.loop, self.engine, job, work, queue, reserved=reserved)
        return True

    def read_more(self, run_id: str, keys: Iterable[str], access: Access = NO_ACCESS) -> None:
        """Fetch skipped hits of a finished run, and rank them with its pages.

        `access` is the caller's in all follow-ups. The caller need not have started the run.
        """
        skipped_keys = tuple(keys)
        self._follow_up(run_id, lambda run: partial(followups.read_more, run, skipped_keys), access)

    def read_as(
        self,
        run_id: str,
        key: str,
        extractor: Extractor,
        kept: Sequence[str] | None = None,
        access: Access = NO_ACCESS,
    ) -> None:
        """Read a page again, by another extractor or with other kept blocks. See `core.followups.read_as`."""
        self._follow_up(
            run_id, lambda run: partial(followups.read_as, run, key, extractor, kept=kept), access
        )

    def search_more(self, run_id: str, text: str, access: Access = NO_ACCESS) -> None:
        """Search one more query for a finished run. Its new pages are ranked with the others.

        Raises:
            BadInput: when the query is empty, too long, or was searched already.
        """

        def bind(run: Run) -> FollowUp:
            return partial(followups.search_more, run, followups.added_query(run, text).text)

        self._follow_up(run_id, bind, access)

    def answer_again(self, run_id: str, retuned: Run | None = None, access: Access = NO_ACCESS) -> None:
        """Answer an ended run again, optionally from the ranking of `retuned`.

        Raises:
            BadInput: when the run has no pages, or `retuned` ranks other pages than it now has.
            LimitReached: when the quota subject has used up a budget of the day.
        """

        def bind(run: Run) -> FollowUp:
            followups.require_pages(run)
            if retuned is not None and retuned.pages != run.pages:
                raise BadInput(
                    "The pages of this run have changed since this ranking.",
                    hint="Look at the ranking of its current pages, and answer again.",
                )
            return partial(followups.answer_again, run, retuned=retuned)

        self._follow_up(run_id, bind, access, knobs=retuned.knobs if retuned else None, answers=True)

    def approve_plan(self, run_id: str, sub_questions: Sequence[str], access: Access = NO_ACCESS) -> None:
        """Research these sub-questions of a planned run. It waits for a free slot.

        Raises:
            BadInput: when `approved_sub_questions` raises it, or another tab has just approved the plan.
            LimitReached: when the quota subject has used up its budget.
        """

        def bind(run: Run) -> FollowUp:
            return partial(followups.research_plan, run, approved_sub_questions(run, sub_questions))

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
            listen = self._listener(job, self.quotas.work(""))
            job.watched = time.monotonic()

            def listen_while_watched(record: Record, run: Run) -> None:
                listen(record, run)
                if time.monotonic() - job.watched > UNWATCHED_SECONDS:
                    job.cancel()

            def work(ports: Ports) -> Awaitable[Run]:
                return followups.complete(job.run, ports, listen_while_watched)

            start_job(self.loop, self.engine, job, work, self._filling, writes=False)

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

    def queued(self) -> tuple[str, ...]:
        """Return ids of runs waiting for a slot, in order of arrival."""
        return tuple(job.run.id for job in self._jobs.all() if job.run.status is RunStatus.QUEUED)

    def live_runs(self) -> int:
        """Return the number of waiting and running runs. Runs of other processes do not count."""
        return sum(job.run.live for job in self._jobs.all())

    def recorded(self, run_id: str, user: str = "") -> RecordedRun | None:
        """Return a run for export, with its events and labels by `user`, or None.

        A live run is returned as if interrupted now. A run that could not be stored has no events.

        Raises:
            NotAllowed: when it is a read-only link.
            StoreFailed: when the store cannot be read.
        """
        refuse_link(run_id)
        run = self.get(run_id)
        if run is None:
            return None
        recorded = None if self.store.unsaved(run_id) else self.store.recorded(run_id)
        recorded = recorded or RecordedRun.folded((), run)
        labels: tuple[Label, ...] = ()
        with suppress(StoreFailed):  # without a store, labels are missing, but the run can be exported
            labels = self.labels.of_all(run.question, self._label_user(user))
        return replace(
            recorded, labels=tuple(label for label in labels if label.place.page in recorded.run.pages)
        )

    def import_run(self, document: bytes | RecordedRun, user: str = "") -> str:
        """Store an exported run under a new id, and return the id.

        `document` is a bundle, JSON, or an already parsed run.

        The labels of a bundle become labels of `user`. The user's existing label of the same text stays.

        Raises:
            BadInput: when the document is not an exported run, its parts are inconsistent, or its labels too many.
        """
        read = document if isinstance(document, RecordedRun) else recorded_run(document)
        exported = read.with_id(new_run_id())
        run = exported.run
        if exported.labels:
            owner = self._label_user(user)
            own_places = {label.place for label in self.labels.of(run.question, owner)}
            new_labels = [label for label in exported.labels if label.place not in own_places]
            self.labels.add(run.question, run.id, *new_labels, user=owner)
        self.store.save_recorded(exported)
        if user:
            self.store.set_user(run.id, user)
        self._jobs.add(run.id, Job(run))
        return run.id

    def _label_user(self, user: str) -> str:
        """Return the owner of the labels that this user sees. On an unshared server, everybody has the same labels."""
        return user if self.settings.shared else ""

    def delete(self, run_id: str) -> None:
        """Stop and delete a run with its links. It leaves memory and store.

        Raises:
            NotAllowed: when `run_id` is a read-only link.
            StoreFailed: when the deletion could not be committed. The run then still exists.
        """
        refuse_link(run_id)
        self.stop(run_id)
        self.store.delete(run_id)
        self._jobs.remove(run_id)

    def close(self) -> None:
        """Stop every run, close the engine and store, end the loop."""
        jobs = [*self._jobs.all(), *self.retuning.all(), *self.side_answers.all()]
        for job in jobs:
            job.cancel()
        for job in jobs:
            job.wait()
        for service in self._services.values():
            if close := getattr(service, "close", None):
                close()
        self.call(self.engine.aclose())
        self.loop.close()
        self._jobs.save_unsaved()
        self.store.close()
