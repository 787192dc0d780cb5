"""The tasks of one ingest in memory, each stored in the catalogue before it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.library.catalogue import Catalogue
from core.library.ingests import Ingest, IngestTask, TaskState
from core.model import LibraryDocument, SkipReason, Unreadable


class TaskLog:
    """Tasks by number. A task that is shown was stored first, so it is still true after a crash.

    `limit` is how many documents one ingest may have. Methods that store raise `StoreFailed` when the
    catalogue cannot be written.
    """

    def __init__(self, ingest: Ingest, tasks: Sequence[IngestTask], catalogue: Catalogue, limit: int) -> None:
        self._ingest = ingest.id
        self._collection = ingest.collection
        self._tasks = {task.number: task for task in tasks}
        self._catalogue = catalogue
        self._limit = limit

    def __getitem__(self, number: int) -> IngestTask:
        return self._tasks[number]

    @property
    def tasks(self) -> list[IngestTask]:
        """All tasks as they are now."""
        return list(self._tasks.values())

    @property
    def unfinished(self) -> list[int]:
        """The numbers of the tasks that have not ended, in order."""
        return sorted(task.number for task in self._tasks.values() if not task.state.ended)

    @property
    def remaining(self) -> int:
        """How many documents may still come out of zips and sitemaps."""
        return max(0, self._limit - sum(not task.holds_documents for task in self._tasks.values()))

    def show_progress(self, task: IngestTask) -> None:
        """Show an intermediate state of a task, which is not stored."""
        self._tasks[task.number] = task

    async def save(self, task: IngestTask) -> IngestTask:
        """Store a task, with its `body` where it has one, and return it without."""
        return await self._stored(task, self._catalogue.update_task)

    async def complete(self, task: IngestTask, document: LibraryDocument) -> IngestTask:
        """Store that a task is done and its document complete in the collection."""
        return await self._stored(
            task, lambda done: self._catalogue.complete_task(done, self._collection, document)
        )

    async def add(self, tasks: Sequence[IngestTask]) -> list[int]:
        """Append the documents of a zip or a sitemap, and return the numbers of those that have not ended.

        Documents that an earlier try appended are left out.

        Raises:
            Unreadable: TOO_LARGE when the ingest would have more documents than it may.
        """
        known = {_identity(task) for task in self._tasks.values()}
        new = [task for task in tasks if _identity(task) not in known]
        if len(new) > self.remaining:
            raise Unreadable(
                SkipReason.TOO_LARGE,
                f"more than {self._limit:,} documents at once (OPENQUERY_INGEST_FILES)",
            )
        added = await asyncio.to_thread(self._catalogue.add_tasks, self._ingest, new)
        self._tasks |= {task.number: task for task in added}
        return [task.number for task in added if not task.state.ended]

    async def end(self, *, stopped: bool) -> None:
        """Return unfinished tasks to waiting, or skip them when a person stopped the ingest."""
        for task in map(self._tasks.__getitem__, self.unfinished):
            if stopped:
                await self.save(replace(task, state=TaskState.SKIPPED, passages=0, reason="stopped"))
            elif task.state is not TaskState.WAITING:
                await self.save(replace(task, state=TaskState.WAITING))

    async def _stored(self, task: IngestTask, write: Callable[[IngestTask], None]) -> IngestTask:
        stored = replace(task, body=None)

        async def store() -> None:
            await asyncio.to_thread(write, task)
            self._tasks[task.number] = stored

        storing = asyncio.create_task(store())
        try:
            await asyncio.shield(storing)
        except asyncio.CancelledError:
            await asyncio.wait([storing])  # a write cannot be undone, so its result is shown before the end
            raise
        return stored


def _identity(task: IngestTask) -> tuple[str, str]:
    """Tells documents of zips and sitemaps apart: two zips may have one name, and so may files in them."""
    return task.name, task.location or task.digest
