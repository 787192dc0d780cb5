"""All ingests of a process: begun, followed, left behind by a process that ended, and gone on with."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from core.config.knobs import ChunkKnobs
from core.errors import BadInput, OpenQueryError
from core.library.add_document import STORED_PASSAGES, passages_body
from core.library.compatibility import opened, width_of
from core.library.document_files import digest_of
from core.library.ingest_records import Entry, IngestRecord, Task, TaskKind, ingest_of
from core.library.ingest_reports import Ingest, IngestState, TaskState
from core.library.ingest_sources import IngestSource
from core.library.ingest_tasks import ADD, KNOBS, REEMBED, IngestPorts, RunningIngest
from core.library.plan_ingest import plan_ingest
from core.ports import Embed
from core.storage.process_lock import ProcessLock

if TYPE_CHECKING:
    from core.config.access import Access

_GATHERING, _EMPTYING = "gathering", "emptying"
"""What embedding anew does before its tasks: write down what would be lost, then empty the collection."""
_SCROLLED = 1_000


class IngestRunner:
    """`folder` holds the leases by which processes see each other live. Raises as `Library` says."""

    def __init__(
        self, folder: Path, means: IngestPorts, embedder: Callable[[Access | None], Awaitable[Embed]]
    ) -> None:
        self._folder = folder
        self._means = means
        self._catalogue = means.catalogue
        self._embedder = embedder
        self._ingests: dict[str, RunningIngest] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._beginning: dict[str, str] = {}
        """By collection: the job that is written down, and not yet among the ingests."""
        self._lease: ProcessLock | None = None

    async def begin(
        self, name: str, items: Sequence[IngestSource], knobs: ChunkKnobs | None, access: Access | None
    ) -> RunningIngest:
        """Add documents, making the collection when there is none."""
        async with self._turn(name):
            await self._refuse_beside(name, ADD)
            files, bounds = self._catalogue.files, self._means.bounds
            tasks = await asyncio.to_thread(lambda: plan_ingest(items, bounds, files.size()))
            embed = await self._embedder(access)
            await opened(self._means.collections, name, embed)
            job = self._job(name, ADD, embed, knobs)
            added = await asyncio.to_thread(self._catalogue.begin, job, tasks)
            return self._started(RunningIngest(job, added, self._means, embed))

    async def begin_anew(self, name: str, knobs: ChunkKnobs | None, access: Access | None) -> RunningIngest:
        """Make the collection anew with the current embedder."""
        async with self._turn(name):
            await self._refuse_beside(name, REEMBED)
            await self._means.collections.about(name)
            embed = await self._embedder(access)
            width = await width_of(embed)
            job = self._job(name, REEMBED, embed, knobs, stage=_GATHERING)
            await asyncio.to_thread(self._catalogue.begin, job)
            job = await self._emptied(await self._gathered(job), width)
            tasks = await asyncio.to_thread(self._catalogue.tasks, job.id)
            return self._started(RunningIngest(job, tasks, self._means, embed))

    @asynccontextmanager
    async def ended(self, name: str) -> AsyncIterator[None]:
        """Stop the ingests into a collection that is deleted meanwhile; none will be gone on with."""
        async with self._turn(name):
            for ingest in self.under_way(name):
                ingest.cancel()
                await ingest.wait()
            yield
            for job in await self._left_behind():
                if job.collection == name:
                    await self._stop(job, "The collection was deleted.")

    def under_way(self, name: str = "") -> tuple[RunningIngest, ...]:
        """Those that this process works on: into one collection, or all."""
        ingests = [one for one in list(self._ingests.values()) if one.live]
        return tuple(one for one in ingests if name in ("", one.job.collection))

    async def latest(self, name: str) -> Ingest | None:
        """The one into a collection that ended last; None when there was none."""
        jobs = await asyncio.to_thread(self._catalogue.ended, name)
        return (
            ingest_of(jobs[0], await asyncio.to_thread(self._catalogue.tasks, jobs[0].id)) if jobs else None
        )

    async def unfinished(self) -> tuple[Ingest, ...]:
        """Those that a process left behind."""
        found = []
        for job in await self._left_behind():
            told = ingest_of(job, await asyncio.to_thread(self._catalogue.tasks, job.id))
            found.append(replace(told, course=IngestState.INTERRUPTED))
        return tuple(found)

    async def resume(self, access: Access | None) -> tuple[RunningIngest, ...]:
        """Go on with all that were left behind."""
        await asyncio.to_thread(self._catalogue.sweep)
        resumed = [await self._claimed(left, access) for left in await self._left_behind()]
        return tuple(one for one in resumed if one)

    async def aclose(self) -> None:
        """Interrupt what is under way; it can be resumed."""
        for ingest in self.under_way():
            await ingest.interrupt()
        if self._lease:
            self._lease.close()
            self._lease = None

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[None]:
        """Ingests into a collection are begun, gone on with and ended one at a time."""
        async with self._turns[name]:
            try:
                yield
            finally:
                self._beginning.pop(name, None)

    async def _refuse_beside(self, name: str, verb: str, own: str = "") -> None:
        """Raises BadInput: while another job than `own` is under way, in whichever process, that this one must
        not join, or was left behind when it was about to empty the collection."""
        others = [
            job
            for job in await asyncio.to_thread(self._catalogue.unfinished)
            if job.collection == name and job.id != own
        ]
        at_work = {
            job.verb
            for job in others
            if job.stage == _EMPTYING or (job.course is IngestState.LIVE and self._worked_on(job))
        }
        if REEMBED in at_work:
            raise BadInput(f"{name} is being embedded anew.", hint="Go on with that, or wait for its end.")
        if at_work and verb == REEMBED:
            raise BadInput(
                f"Documents are being added to {name}.", hint="Stop that first, or wait for its end."
            )

    def _job(
        self, name: str, verb: str, embed: Embed, knobs: ChunkKnobs | None, *, stage: str = ""
    ) -> IngestRecord:
        job = IngestRecord(
            id=secrets.token_urlsafe(12),
            collection=name,
            verb=verb,
            embedder=embed.identity,
            knobs=KNOBS.dump_json(knobs or ChunkKnobs()).decode(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            stage=stage,
            owner=self._owner().name,
        )
        self._beginning[name] = job.id
        return job

    def _started(self, ingest: RunningIngest) -> RunningIngest:
        self._ingests = {key: one for key, one in self._ingests.items() if one.live}
        self._ingests[ingest.id] = ingest
        return ingest

    def _owner(self) -> ProcessLock:
        if self._lease is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lease = ProcessLock(self._folder)
            self._lease.sweep()
        return self._lease

    def _worked_on(self, job: IngestRecord) -> bool:
        """Whether somebody who lives has a job that has not ended."""
        if job.owner != self._owner().name:
            return self._owner().is_alive(job.owner)
        return job.id in {self._beginning.get(job.collection), *(one.id for one in self.under_way())}

    async def _left_behind(self) -> list[IngestRecord]:
        jobs = await asyncio.to_thread(self._catalogue.unfinished)
        return [job for job in jobs if not self._worked_on(job)]

    async def _claimed(self, left: IngestRecord, access: Access | None) -> RunningIngest | None:
        """Go on with a job; None when somebody was quicker, or there is nothing to go on with."""
        job = replace(left, owner=self._owner().name, course=IngestState.LIVE, message="")
        async with self._turn(job.collection):
            if self._worked_on(job) or not await asyncio.to_thread(self._catalogue.claim, left, job.owner):
                return None
            try:
                return await self._resumed(job, access)
            except OpenQueryError as error:
                failed = replace(job, course=IngestState.INTERRUPTED, message=str(error))
                await asyncio.to_thread(self._catalogue.change, failed)
                return None

    async def _resumed(self, job: IngestRecord, access: Access | None) -> RunningIngest | None:
        if job.stage == _GATHERING:
            await self._stop(job, "It ended before anything was changed.")
            return None
        await self._refuse_beside(job.collection, job.verb, job.id)
        self._beginning[job.collection] = job.id
        embed = await self._embedder(access)
        if job.stage == _EMPTYING:
            job = await self._emptied(job, await width_of(embed))
        else:
            await opened(self._means.collections, job.collection, embed)
        tasks = await asyncio.to_thread(self._catalogue.tasks, job.id)
        return self._started(RunningIngest(job, tasks, self._means, embed, resumed=True))

    async def _stop(self, job: IngestRecord, message: str) -> None:
        """End a job that nobody works on, and let go of the files of its tasks."""
        for task in await asyncio.to_thread(self._catalogue.tasks, job.id):
            if not task.state.ended:
                ended = replace(task, state=TaskState.SKIPPED, passages=0, reason="stopped")
                await asyncio.to_thread(self._catalogue.update, ended)
        stopped = replace(job, course=IngestState.STOPPED, message=message)
        await asyncio.to_thread(self._catalogue.change, stopped)

    async def _gathered(self, job: IngestRecord) -> IngestRecord:
        """The collection's documents are written down as tasks, to be read again from their files."""
        entries = await asyncio.to_thread(self._catalogue.entries, job.collection)
        files = await asyncio.to_thread(
            lambda: [entry for entry in entries if entry.digest in self._catalogue.files]
        )
        await self._keep_others(job, {entry.digest for entry in files})
        await asyncio.to_thread(self._catalogue.add, job.id, [(_task_of(entry), None) for entry in files])
        job = replace(job, stage=_EMPTYING)
        await asyncio.to_thread(self._catalogue.change, job)
        return job

    async def _keep_others(self, job: IngestRecord, kept: set[str]) -> None:
        """Write down the passages whose documents have no file here: soon they will be nowhere else."""
        after, number = "", 0
        while True:
            passages, after = await self._means.collections.scroll(job.collection, _SCROLLED, after)
            if lost := [one for one in passages if one.document not in kept]:
                body = passages_body(lost)
                number += 1
                task = Task(
                    kind=TaskKind.FILE,
                    name=f"passages {number}",
                    digest=digest_of(body),
                    media_type=STORED_PASSAGES,
                )
                await asyncio.to_thread(self._catalogue.add, job.id, [(task, body)])
            if not after:
                return

    async def _emptied(self, job: IngestRecord, width: int) -> IngestRecord:
        """The collection is made anew, as wide as the embedder's vectors now are."""
        await self._means.collections.drop(job.collection)
        await self._means.collections.create(job.collection, width)
        job = replace(job, stage="")
        await asyncio.to_thread(self._catalogue.change, job)
        return job


def _task_of(entry: Entry) -> Task:
    """Add a document again, from its file."""
    return Task(
        kind=TaskKind.FILE,
        name=entry.source,
        place=entry.url,
        digest=entry.digest,
        media_type=entry.media_type,
        charset=entry.charset,
    )
