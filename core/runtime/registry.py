"""Every run of this process. Runs live on one background event loop, so no page, tab or request owns them."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from core import followups, pipeline
from core.config.access import NOBODY, Access
from core.config.knobs import Knobs, checked_question
from core.config.settings import Settings
from core.errors import BadInput, OpenQueryError
from core.model import Extractor
from core.ports import Ports
from core.run.events import Record
from core.run.importer import run_from_json
from core.run.recorder import Listener
from core.run.state import Run, RunStatus
from core.runtime import logs
from core.runtime.engine import Engine
from core.runtime.jobs import AT_ONCE, BackgroundLoop, Job, Watch
from core.runtime.quotas import Quotas
from core.runtime.side_answers import SideAnswers
from core.stages.bm25 import prepare_bm25
from core.storage.presets import Presets
from core.storage.run_store import RunStore, RunSummary

T = TypeVar("T")

KEPT = 50
"""Runs held in memory beside those under way; older ones are read back from the store when somebody asks."""

More = Callable[[Ports, Listener], Awaitable[Run]]
"""What goes on with a run: a verb of the pipeline that has the run already."""


class RunRegistry:
    """Start, follow, stop, tune and remember runs. Every method may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine = Engine(settings)
        self.store = RunStore(settings.folder / "runs.sqlite")
        self.limits = Quotas(settings.runs_per_hour, settings.tokens_per_day)
        self.watches: tuple[Watch, ...] = (logs.watch,)
        """Who is told of every run; tunings, which are looks at a run rather than work on it, are not told."""
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._tunings: OrderedDict[str, tuple[Run, Job]] = OrderedDict()
        """By viewer: the state of the run that is tuned, and the work on it."""
        self._lock = threading.Lock()
        self._slots = asyncio.Semaphore(settings.runs_at_once)  # first come, first served
        self._background = BackgroundLoop()
        self.call = self._background.call
        """Await a coroutine on the loop that owns the connections."""
        self.beside = SideAnswers(self._background, self.engine, self.limits, self._slots)
        self.presets = Presets(self.store, settings.folder / "presets")

    # --- runs ---------------------------------------------------------------------------------------------

    def start(
        self,
        question: str,
        knobs: Knobs,
        access: Access | None = None,
        *,
        watch: Watch | None = None,
        owner: str = "",
        keeper: str = "",
    ) -> str:
        """Begin a run and return its id, which cannot be guessed. `watch` is told all of it.

        `owner` is whom the limits count, `keeper` in whose history the run stands; each may be empty.

        Raises:
            BadInput: when the question is empty or too long.
            LimitReached: when the owner has had as much as the settings allow.
        """
        question = checked_question(question)
        self.limits.begin(owner)
        run_id = secrets.token_urlsafe(16)
        waiting = Run(id=run_id, question=question, knobs=knobs, status=RunStatus.QUEUED)
        job = Job(waiting, access or NOBODY)
        job.take()
        with self._lock:
            self._jobs[run_id] = job
            self._shrink()
        if keeper:
            self.store.set_user(run_id, keeper)
        listen = self._recorder(job, owner, watch)

        def story(ports: Ports) -> Coroutine[Any, Any, Run]:
            return pipeline.research(question, knobs, ports, listen, run_id=run_id)

        self._begin(job, story, queue=self._slots)
        return run_id

    def get(self, run_id: str) -> Run | None:
        """The run as it stands, from memory or from the store; None when there is none of that id."""
        job = self._job(run_id)
        return job.run if job else None

    def stop(self, run_id: str) -> None:
        """End the run early; what it has is kept. Does nothing when it has ended."""
        if job := self._jobs.get(run_id):
            self._background.cancel(job)
            job.wait()

    def read_more(self, run_id: str, keys: Iterable[str], access: Access = NOBODY) -> None:
        """Fetch skipped hits of a finished run too, and rank them with the pages in hand.

        Here and below `access` is that of whoever asks, who need not be the one who began the run.
        """
        wanted = tuple(keys)
        self._go_on(run_id, lambda run: partial(followups.read_more, run, wanted), access)

    def read_as(self, run_id: str, key: str, extractor: Extractor, access: Access = NOBODY) -> None:
        """Read one page of a finished run by another extractor, and rank it with the others."""
        self._go_on(run_id, lambda run: partial(followups.read_as, run, key, extractor), access)

    def search_more(self, run_id: str, text: str, access: Access = NOBODY) -> None:
        """Search one more query for a finished run, and rank its new pages with those in hand.

        Raises:
            BadInput: when the query is empty, too long, or was searched already.
        """

        def more(run: Run) -> More:
            return partial(followups.search_more, run, followups.added_query(run, text).text)

        self._go_on(run_id, more, access)

    def answer_again(
        self, run_id: str, tuned: Run | None = None, access: Access = NOBODY, *, owner: str = ""
    ) -> None:
        """Answer a finished run once more, from the ranking of `tuned` when one is given.

        `owner` is whom the limits count for it.

        Raises:
            BadInput: when `tuned` ranks other pages than the run has by now.
            LimitReached: when no tokens are left for the owner.
        """

        def more(run: Run) -> More:
            self.limits.go_on(owner)
            if tuned is not None and tuned.pages != run.pages:
                raise BadInput(
                    "The pages of this run have changed since they were ranked so.",
                    hint="Look at the ranking of the pages that it has now, and answer again.",
                )
            return partial(followups.answer_again, run, tuned=tuned)

        self._go_on(run_id, more, access, owner, knobs=tuned.knobs if tuned else None)

    def queue(self) -> tuple[str, ...]:
        """Ids of the runs that wait for others to end, first come first."""
        with self._lock:
            jobs = tuple(self._jobs.items())
        return tuple(run_id for run_id, job in jobs if job.run.status is RunStatus.QUEUED)

    def history(self, limit: int = 100, keeper: str | None = None) -> tuple[RunSummary, ...]:
        """Stored runs, newest first: those of one keeper, or all."""
        return self.store.history(limit, keeper)

    def take_in(self, document: bytes, keeper: str = "") -> str:
        """Keep a run that was exported, here or on another machine, under a new id, which is returned.

        Raises:
            BadInput: when the document is not such a run, or its parts do not fit together.
        """
        run = replace(run_from_json(document), id=secrets.token_urlsafe(16))
        self.store.import_run(run)
        if keeper:
            self.store.set_user(run.id, keeper)
        with self._lock:
            self._jobs[run.id] = Job(run)
            self._shrink()
        return run.id

    def forget(self, run_id: str) -> None:
        """Stop the run and delete it from memory and store."""
        self.stop(run_id)
        with self._lock:
            self._jobs.pop(run_id, None)
        self.store.delete(run_id)

    # --- tuning -------------------------------------------------------------------------------------------

    def tune(self, viewer: str, run_id: str, knobs: Knobs, access: Access = NOBODY) -> Job | None:
        """The run under other passage, embedding and ranking knobs, as `viewer` sees it.

        The run itself stays what it was, and so do the knobs of what comes before. Asking again with the
        same knobs returns the same job, until the run has changed; with others, the viewer's unfinished
        tuning is cancelled, since its result is no longer wanted. None when there is no such run. `access`
        is the viewer's; where it names an embedding model, the passages in hand are embedded by that.
        """
        base = self._job(run_id)
        if base is None or base.run.live:
            return base
        run = base.run
        knobs = replace(run.knobs, chunk=knobs.chunk, embed=knobs.embed, rank=knobs.rank)
        with self._lock:
            tuned, before = self._tunings.get(viewer, (None, None))
            alike = before if before and tuned is run and before.access == access else None
            if alike and alike.wanted == knobs:
                return alike
            if before:
                self._background.cancel(before)
            if run.knobs == knobs and not access.embedding_model:
                self._tunings.pop(viewer, None)
                return base
            # Start from what the viewer has: when only the ranking changes, its index is used as it is.
            job = Job(alike.run if alike and alike.run.status is RunStatus.DONE else run, access)
            job.wanted = knobs
            job.take()
            self._tunings[viewer] = (run, job)
            self._tunings.move_to_end(viewer)
            while len(self._tunings) > KEPT:
                self._tunings.popitem(last=False)
        start = job.run

        def story(ports: Ports) -> Awaitable[Run]:
            index = start.index
            known = index is not None and index.embedder == ports.embed.identity
            verb = followups.embed_anew if access.embedding_model and not known else followups.retune
            return verb(start, knobs, ports, job.follow)

        self._begin(job, story)
        return job

    # --- the loop -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop every run, close connections, workers and the store, end the loop."""
        with self._lock:
            jobs = [*self._jobs.values(), *(job for _, job in self._tunings.values()), *self.beside.all()]
        for job in jobs:
            self._background.cancel(job)
        for job in jobs:
            job.wait()
        self.call(self.engine.aclose())
        self._background.close()
        self.store.close()

    def _go_on(
        self,
        run_id: str,
        more: Callable[[Run], More],
        access: Access,
        owner: str = "",
        *,
        knobs: Knobs | None = None,
    ) -> None:
        """More work on a finished run. Nothing happens while other work on it is under way: it was asked twice.

        `more` is given the run as it stands once no other work can change it, and may refuse by raising.
        """
        job = self._job(run_id)
        if job is None or not job.take():
            return
        try:
            story = more(job.run)
        except OpenQueryError:
            job.release()
            raise
        job.access, job.wanted = access, knobs or job.run.knobs
        listen = self._recorder(job, owner)
        self._begin(job, lambda ports: story(ports, listen))

    def _begin(
        self,
        job: Job,
        story: Callable[[Ports], Awaitable[Run]],
        queue: AbstractAsyncContextManager[Any] = AT_ONCE,
    ) -> None:
        async def work() -> None:
            run = await story(await self.engine.ports(job.wanted, job.access))
            if run.index is not None:
                # Who looks at the result may next turn to BM25, and should not wait for it.
                await asyncio.to_thread(prepare_bm25, run.index.passages)

        self._background.begin(job, work, queue)

    def _recorder(self, job: Job, owner: str, watch: Watch | None = None) -> Listener:
        """A listener that keeps the job's run up to date, stores every event, charges the owner and tells who watches."""
        job.watches = (*self.watches, watch) if watch else self.watches
        charge = self.limits.charging(owner)

        def listen(record: Record, run: Run) -> None:
            self.store.append(run, record)
            job.run = run
            charge(record, run)
            for emit in job.watches:
                emit(record, run)

        return listen

    def _job(self, run_id: str) -> Job | None:
        with self._lock:
            if run_id in self._jobs:
                return self._jobs[run_id]
        run = self.store.load(run_id)
        if run is None:
            return None
        if run.live:  # in another process, which will tell more, and whose work nobody here can take over
            elsewhere = Job(run)
            elsewhere.take()
            return elsewhere
        with self._lock:
            job = self._jobs.setdefault(run_id, Job(run))  # another thread may have read it back meanwhile
            self._shrink()
        return job

    def _shrink(self) -> None:
        idle = [run_id for run_id, job in self._jobs.items() if not job.live]
        for run_id in idle[:-KEPT]:
            del self._jobs[run_id]
