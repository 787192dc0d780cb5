"""An ingest at work: tasks one after the other and some at once, written down as they go."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter

from core.config.knobs import ChunkKnobs
from core.errors import (
    INTERNAL_ERROR,
    INTERNAL_ERROR_HINT,
    EmbedFailed,
    LibraryFailed,
    OpenQueryError,
    StoreFailed,
)
from core.library.add_document import put_all
from core.library.catalogue import Catalogue
from core.library.fetch_task import FetchedTask, fetch_task, tasks_from_sitemap, tasks_from_zip
from core.library.ingest_records import IngestRecord, Taken, Task, TaskKind, ingest_of
from core.library.ingest_reports import Ingest, IngestState, TaskState
from core.library.ingest_target import IngestTarget
from core.library.plan_ingest import IngestLimits
from core.library.task_log import TaskLog
from core.library.web_documents import Fetch
from core.model import LibraryPassage, Unreadable
from core.ports import Collections, Embed, Extract
from core.reading.file_types import ZIP

log = logging.getLogger(__name__)

KNOBS = TypeAdapter(ChunkKnobs)
"""How a job's knobs are written down."""

REEMBED = "re-embed"
ADD = "add"

_IN_A_ROW = 3
"""Documents that fail one after the other because of the database or the embedder end the ingest for now."""
_TRIES = 2
_PAUSE = 0.5
"""Seconds before a document is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestPorts:
    """What ingests share."""

    catalogue: Catalogue
    collections: Collections
    extract: Extract
    web: Fetch
    bounds: IngestLimits
    at_once: int
    """Documents under way together."""
    turns: asyncio.Semaphore
    """Calls to the embedder: few, so that a question does not wait behind many."""
    active: set[tuple[str, str]] = field(default_factory=set)
    """Collections and digests of the documents being added."""


class _Interrupted(OpenQueryError):
    """The database or the embedder is gone: what remains is left for later."""


class RunningIngest:
    """An ingest under way in this process. Everything may be called from any thread, but for `wait`."""

    def __init__(
        self,
        job: IngestRecord,
        tasks: Sequence[Task],
        means: IngestPorts,
        embed: Embed,
        *,
        resumed: bool = False,
    ) -> None:
        self.job = job
        self._tasks = TaskLog(job.id, tasks, means.catalogue, means.bounds.files)
        self._means, self._embed = means, embed
        self._target = IngestTarget(
            collection=job.collection,
            embedder=embed.identity,
            knobs=KNOBS.validate_json(job.knobs),
            collections=means.collections,
            extract=means.extract,
        )
        self._resumed = resumed
        self._queue: deque[int] = deque()
        self._tries: Counter[int] = Counter()
        self._in_a_row: set[int] = set()
        self._stopping = False
        self._began = time.monotonic()
        self._seconds: float | None = None
        self._loop = asyncio.get_running_loop()
        self._work = self._loop.create_task(self._run())

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def live(self) -> bool:
        return self.job.course is IngestState.LIVE

    @property
    def progress(self) -> Ingest:
        """How it stands now."""
        seconds = time.monotonic() - self._began if self._seconds is None else self._seconds
        return ingest_of(self.job, self._tasks.shown, seconds)

    def cancel(self) -> None:
        """Stop it. What is whole in the collection stays; a document that was half in is taken out again.

        Embedding a collection anew is only interrupted: it is incomplete until somebody goes on with it.
        """
        self._stopping = self.job.verb != REEMBED
        with suppress(RuntimeError):  # the loop has ended, and the work with it
            self._loop.call_soon_threadsafe(self._work.cancel)

    async def interrupt(self) -> None:
        """End the work with the process; it can be gone on with."""
        self._work.cancel()
        await self.wait()

    async def wait(self) -> Ingest:
        """Return when it has ended."""
        await asyncio.wait([self._work])
        return self.progress

    # --- the whole ----------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._queue.extend(self._tasks.open)
        course, message = IngestState.DONE, ""
        try:
            await self._all()
        except asyncio.CancelledError:
            course = IngestState.STOPPED if self._stopping else IngestState.INTERRUPTED
        except OpenQueryError as error:
            course, message = IngestState.INTERRUPTED, str(error)
        except Exception:
            log.exception("an ingest broke")
            course, message = IngestState.INTERRUPTED, f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}"
        self._seconds = time.monotonic() - self._began
        self.job = replace(self.job, course=course, message=message)
        try:
            await self._tasks.settle(stopped=course is IngestState.STOPPED)
            await asyncio.to_thread(self._means.catalogue.change, self.job)
        except StoreFailed as error:
            self.job = replace(self.job, course=IngestState.INTERRUPTED, message=str(error))

    async def _all(self) -> None:
        running: set[asyncio.Task[None]] = set()
        try:
            while self._queue or running:
                while self._queue and len(running) < self._means.at_once:
                    running.add(asyncio.create_task(self._one(self._tasks[self._queue.popleft()])))
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _one(self, task: Task) -> None:
        began = time.monotonic()
        try:
            ended = await self._done(task)
        except Unreadable as why:
            ended = replace(self._tasks[task.number], state=TaskState.FAILED, reason=str(why))
        except (LibraryFailed, EmbedFailed) as error:
            await self._failed(task, error)
            return
        except OpenQueryError:
            raise
        except Exception:  # whatever is odd about this document, the others are not
            log.exception("%s broke its own ingest", task.name)
            await self._given_up(task, f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}")
            return
        self._in_a_row.discard(task.number)
        if ended.state is TaskState.DONE:
            self._in_a_row.clear()
        ended = replace(ended, seconds=round(time.monotonic() - began, 3))
        if ended != self._tasks[task.number]:
            await self._tasks.set(ended)

    async def _failed(self, task: Task, error: OpenQueryError) -> None:
        """The database or the embedder failed, which may be this document's fault or everybody's."""
        self._in_a_row.add(task.number)
        self._tries[task.number] += 1
        if len(self._in_a_row) >= _IN_A_ROW:
            raise _Interrupted(str(error)) from error
        if self._tries[task.number] >= _TRIES:
            await self._given_up(task, str(error))
            return
        await self._tasks.set(replace(self._tasks[task.number], state=TaskState.WAITING, reason=str(error)))
        await asyncio.sleep(_PAUSE)
        self._queue.append(task.number)

    async def _given_up(self, task: Task, reason: str) -> None:
        """Nothing is left of a document in the collection, in which it may be half by now."""
        task = self._tasks[task.number]
        await self._target.take_out(task)
        await self._tasks.set(replace(task, state=TaskState.FAILED, passages=0, reason=reason))

    async def _more(self, taken: Sequence[Taken]) -> None:
        """Documents that came out of a zip or a sitemap have their turn too."""
        self._queue.extend(await self._tasks.add(taken))

    # --- one document -------------------------------------------------------------------------------------

    async def _done(self, task: Task) -> Task:
        """The task once it has ended well. Raises what it fails of."""
        means = self._means
        if task.kind is TaskKind.SITEMAP:
            await self._tasks.set(replace(task, state=TaskState.READING))
            taken, left_out = await tasks_from_sitemap(task, means.web, means.extract, self._tasks.room)
            await self._more(taken)
            return replace(task, state=TaskState.DONE, reason=left_out)
        if task.digest and (reason := await self._there(task)):
            return replace(task, state=TaskState.SKIPPED, reason=reason)
        found = await fetch_task(task, means.catalogue.files, means.web, means.bounds)
        task = await self._tasks.set(
            replace(found.task, state=TaskState.READING), found.body if found.fresh else None
        )
        if task.media_type == ZIP:
            count = 0
            async for taken in tasks_from_zip(task, found.body, means.catalogue.files, means.bounds):
                count += len(taken)
                await self._more(taken)
            return replace(task, state=TaskState.DONE, reason=f"a zip of {count:,} files")
        if reason := await self._there(task):
            return replace(task, state=TaskState.SKIPPED, reason=reason)
        key = (self.job.collection, task.digest)
        if key in means.active:
            return replace(task, state=TaskState.SKIPPED, reason="the same file as another one being added")
        means.active.add(key)
        try:
            return await self._added(task, found)
        finally:
            means.active.discard(key)

    async def _there(self, task: Task) -> str:
        """In which words the same bytes are in the collection already; empty when they are not."""
        if self.job.verb == REEMBED or task.media_type == ZIP:
            return ""
        entry = await asyncio.to_thread(self._means.catalogue.entry, self.job.collection, task.digest)
        if (
            entry is None
            or entry.embedder != self._embed.identity
            or not await self._target.begun(task.digest)
        ):
            return ""
        return "already there" + (f" as “{entry.source}”" if entry.source != task.name else "")

    async def _added(self, task: Task, found: FetchedTask) -> Task:
        cut = await self._target.cut(task, found)
        if cut.entry is None:
            task = await self._put(replace(task, state=TaskState.EMBEDDING), cut.passages)
            return replace(task, state=TaskState.DONE)
        if not (self._resumed or self._tries[task.number]) and await self._target.begun(task.digest):
            # Left by an ingest that was killed and never gone on with, maybe cut in another way.
            await self._target.take_out(task)
        task = replace(task, state=TaskState.EMBEDDING, pages=cut.entry.pages, reason=cut.left_out)
        try:
            task = await self._put(task, cut.passages)
        except asyncio.CancelledError:
            if self._stopping:
                await self._target.take_out(task)
            raise
        return await self._tasks.enter(replace(task, state=TaskState.DONE), cut.entry)

    async def _put(self, task: Task, passages: Sequence[LibraryPassage]) -> Task:
        await self._tasks.set(task)

        def told(count: int) -> None:
            self._tasks.show(replace(task, passages=count))

        await put_all(
            self.job.collection,
            passages,
            collections=self._means.collections,
            embed=self._embed,
            turns=self._means.turns,
            told=told,
        )
        return replace(task, passages=len(passages))
