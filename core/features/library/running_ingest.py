"""A running ingest: its tasks, several at a time, each step stored before display."""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pydantic import TypeAdapter

from core.config.knobs import ChunkKnobs
from core.errors import (
    INTERNAL_ERROR,
    INTERNAL_ERROR_HINT,
    EmbedFailed,
    LibraryFailed,
    OpenQueryError,
    StoreFailed,
    WorkersFailed,
)
from core.features.library.add_document import IngestPorts, embed_and_store, remove_passages
from core.features.library.document_files import STORED_PASSAGES, passages_from_json
from core.features.library.fetch_task import fetch_task, tasks_from_sitemap, tasks_from_zip
from core.features.library.ingests import Ingest, IngestAction, IngestState, IngestTask, TaskKind, TaskState
from core.features.library.plan_ingest import state_of_unreadable
from core.model import LibraryDocument, LibraryPassage, SkipReason, Unreadable
from core.model.library import passage_id
from core.ports import Embed
from core.reading.file_types import ZIP
from core.text.sanitize import pluralize

log = logging.getLogger(__name__)

KNOBS = TypeAdapter(ChunkKnobs)
"""JSON form of the chunk knobs."""

_CONSECUTIVE_FAILURES = 3
"""The number of failing documents that interrupt the ingest.

The failures are those of the database, the embedder or the workers, without a success in between.
"""
_TRIES, _RETRY_PAUSE = 2, 0.5
"""The number of attempts per document, and the seconds between attempts."""


class RunningIngest:
    """An ingest with its background task.

    All methods except `wait` and `interrupt` may be called from any thread.
    """

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
        """The stored ingest, without its tasks."""
        self._tasks = {task.number: task for task in tasks}
        self._ports, self._embed, self._resumed = ports, embed, resumed
        self._queue = deque(self._unfinished)
        self._tries: Counter[int] = Counter()
        self._failing: set[int] = set()
        self._stopping = False
        self._start = time.monotonic()
        self._seconds: float | None = None
        self._loop = asyncio.get_running_loop()
        self._work = self._loop.create_task(self._run())

    @property
    def progress(self) -> Ingest:
        """The ingest with its tasks at present."""
        seconds = time.monotonic() - self._start if self._seconds is None else self._seconds
        return self.ingest.with_tasks(list(self._tasks.values()), seconds)

    def cancel(self) -> None:
        """Stop the ingest. Complete documents stay in the collection, partial documents are removed.

        A re-embedding is only interrupted, because the collection is incomplete until it is resumed.
        """
        self._stopping = self.ingest.action is not IngestAction.REEMBED
        with suppress(RuntimeError):  # the loop has ended, and the work with it
            self._loop.call_soon_threadsafe(self._work.cancel)

    async def interrupt(self) -> None:
        """End the work so that it can be resumed."""
        self._work.cancel()
        await self.wait()

    async def wait(self) -> Ingest:
        """Return the ingest after its end."""
        await asyncio.wait([self._work])
        return self.progress

    # --- all tasks ----------------------------------------------------------------------------------------

    @property
    def _unfinished(self) -> list[int]:
        return sorted(task.number for task in self._tasks.values() if not task.state.ended)

    async def _run(self) -> None:
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
        self._seconds = time.monotonic() - self._start
        self.ingest = replace(self.ingest, state=state, message=message)
        try:
            for task in map(self._tasks.__getitem__, self._unfinished):
                if state is IngestState.STOPPED:
                    await self._save(task.stopped())
                elif task.state is not TaskState.WAITING:
                    await self._save(replace(task, state=TaskState.WAITING))
            await asyncio.to_thread(self._ports.catalogue.update_ingest, self.ingest)
        except StoreFailed as error:
            self.ingest = replace(self.ingest, state=IngestState.INTERRUPTED, message=str(error))

    async def _run_tasks(self) -> None:
        running: set[asyncio.Task[None]] = set()
        try:
            while self._queue or running:
                while self._queue and len(running) < self._ports.concurrency:
                    running.add(asyncio.create_task(self._run_task(self._tasks[self._queue.popleft()])))
                finished, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _run_task(self, task: IngestTask) -> None:
        start = time.monotonic()
        try:
            ended = await self._ingest_task(task)
        except Unreadable as why:
            ended = replace(self._tasks[task.number], state=_state_after(why, task), reason=str(why))
        except (LibraryFailed, EmbedFailed, WorkersFailed) as error:
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
        ended = replace(ended, seconds=round(time.monotonic() - start, 3))
        if ended != self._tasks[task.number]:
            await self._save(ended)

    async def _retry(self, task: IngestTask, error: OpenQueryError) -> None:
        """Retry a task after a failure of the database, embedder or workers.

        The failure may be due to its document.
        """
        self._failing.add(task.number)
        self._tries[task.number] += 1
        if len(self._failing) >= _CONSECUTIVE_FAILURES:
            raise error
        if self._tries[task.number] >= _TRIES:
            await self._fail(task, str(error))
            return
        await self._save(replace(self._tasks[task.number], state=TaskState.WAITING, reason=str(error)))
        await asyncio.sleep(_RETRY_PAUSE)
        self._queue.append(task.number)

    async def _fail(self, task: IngestTask, reason: str) -> None:
        """Fail a task, and remove its document's passages from the collection."""
        task = self._tasks[task.number]
        await remove_passages(self.ingest.collection, task, self._ports.collections)
        await self._save(replace(task, state=TaskState.FAILED, passages=0, reason=reason))

    async def _save(self, task: IngestTask, document: LibraryDocument | None = None) -> IngestTask:
        """Store a task, then show it without its `body`. With `document`, store that too.

        A displayed task is in the catalogue, so it is still true after a crash.

        Raises:
            StoreFailed: when the catalogue cannot be written.
        """
        saved = replace(task, body=None)

        async def store() -> None:
            await asyncio.to_thread(self._ports.catalogue.update_task, task, self.ingest.collection, document)
            self._tasks[task.number] = saved

        storing = asyncio.create_task(store())
        try:
            await asyncio.shield(storing)
        except asyncio.CancelledError:
            await asyncio.wait([storing])  # a write cannot be undone, so its result is shown before the end
            raise
        return saved

    async def _add_tasks(self, tasks: Sequence[IngestTask]) -> None:
        """Append the documents of a zip or a sitemap, except those of an earlier attempt.

        Raises:
            Unreadable: TOO_LARGE when the ingest would exceed its number of documents.
        """
        known_keys = {(task.name, task.location or task.digest) for task in self._tasks.values()}
        new = [task for task in tasks if (task.name, task.location or task.digest) not in known_keys]
        if len(new) > self._remaining:
            reason = f"more than {pluralize(self._ports.limits.files, 'document')} at once (OPENQUERY_INGEST_FILES)"
            raise Unreadable(SkipReason.TOO_LARGE, reason)
        added = await asyncio.to_thread(self._ports.catalogue.add_tasks, self.ingest.id, new)
        self._tasks |= {task.number: task for task in added}
        self._queue.extend(task.number for task in added if not task.state.ended)

    @property
    def _remaining(self) -> int:
        """The number of documents that zips and sitemaps may still add."""
        return max(0, self._ports.limits.files - sum(not t.holds_documents for t in self._tasks.values()))

    # --- one task -----------------------------------------------------------------------------------------

    async def _ingest_task(self, task: IngestTask) -> IngestTask:
        """Run a task, and return it done or skipped. Raises the error of a failure."""
        ports = self._ports
        if task.kind is TaskKind.SITEMAP:
            await self._save(replace(task, state=TaskState.READING))
            tasks, left_out = await tasks_from_sitemap(task, ports.web, ports.extract, self._remaining)
            await self._add_tasks(tasks)
            return replace(task, state=TaskState.DONE, reason=left_out)
        if task.digest and (reason := await self._already_there(task)):
            return replace(task, state=TaskState.SKIPPED, reason=reason)
        task, body = await fetch_task(task, ports.catalogue.files, ports.web, ports.limits)
        task = await self._save(replace(task, state=TaskState.READING))
        if task.media_type == ZIP:
            count = 0
            async for batch in tasks_from_zip(task, body, ports.catalogue.files, ports.limits):
                count += len(batch)
                await self._add_tasks(batch)
            return replace(task, state=TaskState.DONE, reason=f"a zip of {pluralize(count, 'file')}")
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
        """Return the reason to skip a document that the collection already has, or ""."""
        if self.ingest.action is IngestAction.REEMBED or task.media_type == ZIP:
            return ""
        read = self._ports.catalogue.document
        document = await asyncio.to_thread(read, self.ingest.collection, task.digest)
        same_embedder = document is not None and document.embedder == self._embed.identity
        if document is None or not same_embedder or not await self._has_passages(task):
            return ""
        return "already there" + (f" as “{document.source}”" if document.source != task.name else "")

    async def _has_passages(self, task: IngestTask) -> bool:
        """Return whether the collection has the first passage of a task's document."""
        first = passage_id(task.digest, 0, self._embed.identity)
        return bool(await self._ports.collections.get(self.ingest.collection, [first]))

    async def _add_document(self, task: IngestTask, body: bytes) -> IngestTask:
        collection, embedder, ports = self.ingest.collection, self._embed.identity, self._ports
        if task.media_type == STORED_PASSAGES:
            task = replace(task, state=TaskState.EMBEDDING)
            task = await self._embed_passages(task, passages_from_json(body, embedder))
            return replace(task, state=TaskState.DONE)
        knobs = KNOBS.validate_json(self.ingest.knobs)
        document, passages = await ports.read(task, body, embedder, knobs)
        if not (self._resumed or self._tries[task.number]) and await self._has_passages(task):
            # Passages of an ingest that was killed and never resumed, perhaps with other chunk knobs.
            await remove_passages(collection, task, ports.collections)
        task = replace(task, state=TaskState.EMBEDDING, pages=document.pages, reason=document.left_out)
        try:
            task = await self._embed_passages(task, passages)
        except asyncio.CancelledError:
            if self._stopping:
                await remove_passages(collection, task, ports.collections)
            raise
        return await self._save(replace(task, state=TaskState.DONE), document)

    async def _embed_passages(self, task: IngestTask, passages: Sequence[LibraryPassage]) -> IngestTask:
        def show_progress(count: int) -> None:
            self._tasks[task.number] = replace(task, passages=count)

        await self._save(task)
        await embed_and_store(
            self.ingest.collection,
            passages,
            store=self._ports.collections,
            embed=self._embed,
            embed_slots=self._ports.embed_slots,
            on_progress=show_progress,
        )
        return replace(task, passages=len(passages))


def _state_after(why: Unreadable, task: IngestTask) -> TaskState:
    """Return whether an unreadable document has failed, or is skipped."""
    if why.reason is SkipReason.MOVED:
        return TaskState.SKIPPED
    return TaskState.FAILED if task.kind is TaskKind.ADDRESS else state_of_unreadable(task.name)
