"""An ingest that runs in this process: its tasks, several at a time, each step stored before it is shown."""

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
from core.library.add_document import embed_and_store
from core.library.catalogue import Catalogue
from core.library.fetch_task import fetch_task, tasks_from_sitemap, tasks_from_zip
from core.library.ingest_target import IngestTarget
from core.library.ingests import Ingest, IngestAction, IngestState, IngestTask, TaskKind, TaskState
from core.library.plan_ingest import IngestLimits
from core.library.stored_documents import STORED_PASSAGES, passages_from_json
from core.library.task_log import TaskLog
from core.library.vector_database import Collections
from core.model import LibraryPassage, Unreadable
from core.ports import Embed, Extract, Fetch
from core.reading.file_types import ZIP

log = logging.getLogger(__name__)

KNOBS = TypeAdapter(ChunkKnobs)
"""Chunk knobs as JSON."""

_CONSECUTIVE_FAILURES = 3
"""Documents in a row that fail because of the database or the embedder interrupt the ingest."""
_TRIES = 2
_RETRY_PAUSE = 0.5
"""Seconds before a document is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestPorts:
    """What the ingests of a process share."""

    catalogue: Catalogue
    collections: Collections
    extract: Extract
    web: Fetch
    limits: IngestLimits
    concurrency: int
    """Documents of one ingest that are worked on at a time."""
    embed_slots: asyncio.Semaphore
    """Bounds the concurrent calls to the embedder, so that a question does not wait behind many."""
    active: set[tuple[str, str]] = field(default_factory=set)
    """Collection and digest of each document that is being added."""


class _Interrupted(OpenQueryError):
    """The database or the embedder has failed repeatedly: the remaining tasks are left for later."""


class RunningIngest:
    """An ingest with its background task. All but `wait` and `interrupt` may be called from any thread."""

    def __init__(
        self,
        ingest: Ingest,
        tasks: Sequence[IngestTask],
        ports: IngestPorts,
        embed: Embed,
        *,
        resumed: bool = False,
    ) -> None:
        self.ingest = ingest
        """The ingest as it is stored, without its tasks."""
        self._tasks = TaskLog(ingest, tasks, ports.catalogue, ports.limits.files)
        self._ports, self._embed = ports, embed
        self._target = IngestTarget(
            collection=ingest.collection,
            embedder=embed.identity,
            knobs=KNOBS.validate_json(ingest.knobs),
            collections=ports.collections,
            extract=ports.extract,
        )
        self._resumed = resumed
        self._queue: deque[int] = deque()
        self._tries: Counter[int] = Counter()
        self._failing: set[int] = set()
        self._stopping = False
        self._began = time.monotonic()
        self._seconds: float | None = None
        self._loop = asyncio.get_running_loop()
        self._work = self._loop.create_task(self._run())

    @property
    def id(self) -> str:
        return self.ingest.id

    @property
    def live(self) -> bool:
        return self.ingest.live

    @property
    def progress(self) -> Ingest:
        """The ingest with its tasks as they are now."""
        seconds = time.monotonic() - self._began if self._seconds is None else self._seconds
        return self.ingest.with_tasks(self._tasks.tasks, seconds)

    def cancel(self) -> None:
        """Stop the ingest: complete documents stay in the collection, partial ones are removed.

        A re-embedding is only interrupted, because the collection is incomplete until it is resumed.
        """
        self._stopping = self.ingest.action is not IngestAction.REEMBED
        with suppress(RuntimeError):  # the loop has ended, and the work with it
            self._loop.call_soon_threadsafe(self._work.cancel)

    async def interrupt(self) -> None:
        """End the work in a state that can be resumed."""
        self._work.cancel()
        await self.wait()

    async def wait(self) -> Ingest:
        """Return the ingest once it has ended."""
        await asyncio.wait([self._work])
        return self.progress

    # --- all tasks ----------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._queue.extend(self._tasks.unfinished)
        state, message = IngestState.DONE, ""
        try:
            await self._run_tasks()
        except asyncio.CancelledError:
            state = IngestState.STOPPED if self._stopping else IngestState.INTERRUPTED
        except OpenQueryError as error:
            state, message = IngestState.INTERRUPTED, str(error)
        except Exception:
            log.exception("an ingest failed unexpectedly")
            state, message = IngestState.INTERRUPTED, f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}"
        self._seconds = time.monotonic() - self._began
        self.ingest = replace(self.ingest, state=state, message=message)
        try:
            await self._tasks.end(stopped=state is IngestState.STOPPED)
            await asyncio.to_thread(self._ports.catalogue.update_ingest, self.ingest)
        except StoreFailed as error:
            self.ingest = replace(self.ingest, state=IngestState.INTERRUPTED, message=str(error))

    async def _run_tasks(self) -> None:
        running: set[asyncio.Task[None]] = set()
        try:
            while self._queue or running:
                while self._queue and len(running) < self._ports.concurrency:
                    running.add(asyncio.create_task(self._run_task(self._tasks[self._queue.popleft()])))
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _run_task(self, task: IngestTask) -> None:
        began = time.monotonic()
        try:
            ended = await self._ingest_task(task)
        except Unreadable as why:
            ended = replace(self._tasks[task.number], state=TaskState.FAILED, reason=str(why))
        except (LibraryFailed, EmbedFailed) as error:
            await self._retry(task, error)
            return
        except OpenQueryError:
            raise
        except Exception:  # one odd document must not end the others
            log.exception("%s failed unexpectedly", task.name)
            await self._fail(task, f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}")
            return
        self._failing.discard(task.number)
        if ended.state is TaskState.DONE:
            self._failing.clear()
        ended = replace(ended, seconds=round(time.monotonic() - began, 3))
        if ended != self._tasks[task.number]:
            await self._tasks.save(ended)

    async def _retry(self, task: IngestTask, error: OpenQueryError) -> None:
        """Try a task again after a failure of the database or the embedder, which may be due to its document."""
        self._failing.add(task.number)
        self._tries[task.number] += 1
        if len(self._failing) >= _CONSECUTIVE_FAILURES:
            raise _Interrupted(str(error)) from error
        if self._tries[task.number] >= _TRIES:
            await self._fail(task, str(error))
            return
        await self._tasks.save(replace(self._tasks[task.number], state=TaskState.WAITING, reason=str(error)))
        await asyncio.sleep(_RETRY_PAUSE)
        self._queue.append(task.number)

    async def _fail(self, task: IngestTask, reason: str) -> None:
        """Fail a task, and remove what the collection has of its document."""
        task = self._tasks[task.number]
        await self._target.remove_partial(task)
        await self._tasks.save(replace(task, state=TaskState.FAILED, passages=0, reason=reason))

    # --- one task -----------------------------------------------------------------------------------------

    async def _ingest_task(self, task: IngestTask) -> IngestTask:
        """The task once it is done or skipped. Raises what it fails with."""
        ports = self._ports
        if task.kind is TaskKind.SITEMAP:
            await self._tasks.save(replace(task, state=TaskState.READING))
            found, left_out = await tasks_from_sitemap(task, ports.web, ports.extract, self._tasks.remaining)
            self._queue.extend(await self._tasks.add(found))
            return replace(task, state=TaskState.DONE, reason=left_out)
        if task.digest and (reason := await self._already_there(task)):
            return replace(task, state=TaskState.SKIPPED, reason=reason)
        task, body = await fetch_task(task, ports.catalogue.files, ports.web, ports.limits)
        task = await self._tasks.save(replace(task, state=TaskState.READING))
        if task.media_type == ZIP:
            count = 0
            async for batch in tasks_from_zip(task, body, ports.catalogue.files, ports.limits):
                count += len(batch)
                self._queue.extend(await self._tasks.add(batch))
            return replace(task, state=TaskState.DONE, reason=f"a zip of {count:,} files")
        if reason := await self._already_there(task):
            return replace(task, state=TaskState.SKIPPED, reason=reason)
        key = (self.ingest.collection, task.digest)
        if key in ports.active:
            return replace(task, state=TaskState.SKIPPED, reason="the same file as another one being added")
        ports.active.add(key)
        try:
            return await self._add_document(task, body)
        finally:
            ports.active.discard(key)

    async def _already_there(self, task: IngestTask) -> str:
        """The reason to skip a document whose bytes the collection has already; empty when it has not."""
        if self.ingest.action is IngestAction.REEMBED or task.media_type == ZIP:
            return ""
        document = await asyncio.to_thread(
            self._ports.catalogue.document, self.ingest.collection, task.digest
        )
        if (
            document is None
            or document.embedder != self._embed.identity
            or not await self._target.has_first_passage(task.digest)
        ):
            return ""
        return "already there" + (f" as “{document.source}”" if document.source != task.name else "")

    async def _add_document(self, task: IngestTask, body: bytes) -> IngestTask:
        if task.media_type == STORED_PASSAGES:
            restored = passages_from_json(body, self._embed.identity)
            task = await self._embed_passages(replace(task, state=TaskState.EMBEDDING), restored)
            return replace(task, state=TaskState.DONE)
        page = await self._target.extract_article(task, body)
        document, passages = await self._target.split(task, len(body), page)
        if not (self._resumed or self._tries[task.number]) and await self._target.has_first_passage(
            task.digest
        ):
            # Left by an ingest that was killed and never resumed, perhaps with other chunk knobs.
            await self._target.remove_partial(task)
        task = replace(task, state=TaskState.EMBEDDING, pages=document.pages, reason=page.article.left_out)
        try:
            task = await self._embed_passages(task, passages)
        except asyncio.CancelledError:
            if self._stopping:
                await self._target.remove_partial(task)
            raise
        return await self._tasks.complete(replace(task, state=TaskState.DONE), document)

    async def _embed_passages(self, task: IngestTask, passages: Sequence[LibraryPassage]) -> IngestTask:
        await self._tasks.save(task)
        await embed_and_store(
            self.ingest.collection,
            passages,
            store=self._ports.collections,
            embed=self._embed,
            embed_slots=self._ports.embed_slots,
            on_progress=lambda count: self._tasks.show_progress(replace(task, passages=count)),
        )
        return replace(task, passages=len(passages))
