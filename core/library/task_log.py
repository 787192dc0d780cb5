"""The tasks of an ingest as they are written down and shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from core.library.catalogue import Catalogue
from core.library.ingest_records import Entry, Taken, Task, TaskKind
from core.library.ingest_reports import TaskState
from core.model import SkipReason, Unreadable
from core.reading.file_types import ZIP

T = TypeVar("T")


class TaskLog:
    """What is shown of a task was written down first, so it is still true after a crash.

    `most` is how many documents one ingest may have. Raises `StoreFailed` when it cannot be written.
    """

    def __init__(self, job: str, tasks: Sequence[Task], catalogue: Catalogue, most: int) -> None:
        self._job = job
        self._tasks = {task.number: task for task in tasks}
        self._catalogue = catalogue
        self._most = most

    def __getitem__(self, number: int) -> Task:
        return self._tasks[number]

    @property
    def shown(self) -> list[Task]:
        """All tasks as they are now."""
        return list(self._tasks.values())

    @property
    def open(self) -> list[int]:
        """The numbers of those that have not ended, in their order."""
        return sorted(task.number for task in self._tasks.values() if not task.state.ended)

    @property
    def room(self) -> int:
        """Documents that may still come out of zips and sitemaps."""
        around = sum(task.kind is TaskKind.SITEMAP or task.media_type == ZIP for task in self._tasks.values())
        return max(0, self._most - len(self._tasks) + around)

    def show(self, task: Task) -> None:
        """The task as it is meanwhile, which is not worth writing down."""
        self._tasks[task.number] = task

    async def set(self, task: Task, body: bytes | None = None) -> Task:
        """The task is as it is given; `body` is kept for it."""
        return await self._kept(task, self._catalogue.update, body)

    async def enter(self, task: Task, entry: Entry) -> Task:
        """The task is done, and its document whole in the collection."""
        return await self._kept(task, self._catalogue.enter, entry)

    async def add(self, taken: Sequence[Taken]) -> list[int]:
        """Append documents out of a zip or a sitemap, and return the numbers of those that have work left.

        Those of an earlier try are there already.

        Raises:
            Unreadable: TOO_LARGE when there is no room for all of them.
        """
        known = {_known_by(task) for task in self._tasks.values()}
        new = [(task, body) for task, body in taken if _known_by(task) not in known]
        if len(new) > self.room:
            raise Unreadable(
                SkipReason.TOO_LARGE,
                f"more than {self._most:,} documents at once (OPENQUERY_INGEST_FILES)",
            )
        added = await asyncio.to_thread(self._catalogue.add, self._job, new)
        self._tasks |= {task.number: task for task in added}
        return [task.number for task in added if not task.state.ended]

    async def settle(self, *, stopped: bool) -> None:
        """Nothing is left as if it were under way: it waits, or is skipped because somebody stopped the ingest."""
        for task in map(self._tasks.__getitem__, self.open):
            if stopped:
                await self.set(replace(task, state=TaskState.SKIPPED, passages=0, reason="stopped"))
            elif task.state is not TaskState.WAITING:
                await self.set(replace(task, state=TaskState.WAITING))

    async def _kept(self, task: Task, write: Callable[[Task, T], None], more: T) -> Task:
        async def keep() -> None:
            await asyncio.to_thread(write, task, more)
            self._tasks[task.number] = task

        keeping = asyncio.create_task(keep())
        try:
            await asyncio.shield(keeping)
        except asyncio.CancelledError:
            await asyncio.wait([keeping])  # a write cannot be taken back, so it is shown before the end
            raise
        return task


def _known_by(task: Task) -> tuple[str, str]:
    """What tells documents out of zips and sitemaps apart: two zips may have one name, and so may what is in them."""
    return task.name, task.place or task.digest
