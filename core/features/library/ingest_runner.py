"""Start, list and resume ingests. A lease makes one of several processes work on each ingest."""

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
from core.features.library.add_document import IngestPorts
from core.features.library.document_files import STORED_PASSAGES, passages_to_json
from core.features.library.ingests import (
    Ingest,
    IngestAction,
    IngestSource,
    IngestState,
    IngestTask,
    TaskKind,
)
from core.features.library.plan_ingest import plan_ingest, stored_task
from core.features.library.running_ingest import KNOBS, RunningIngest
from core.features.library.vector_database import embedding_width, open_or_create
from core.model import LibraryDocument
from core.model.library import checked_name
from core.ports import Embed
from core.storage.process_lock import ProcessLock

if TYPE_CHECKING:
    from core.config.access import Access

_GATHERING, _EMPTYING = "gathering", "emptying"
"""The stages of a re-embedding before its tasks: store the documents as tasks, then empty the collection."""
_SCROLL_LIMIT = 1_000


class IngestRunner:
    """Runs the ingests of a process.

    `folder` holds the leases that show which processes are alive. Methods raise the errors of `Library`.
    """

    def __init__(
        self, folder: Path, ports: IngestPorts, embedder: Callable[[Access | None, str], Awaitable[Embed]]
    ) -> None:
        self._folder = folder
        self._ports = ports
        self._catalogue = ports.catalogue
        self._embedder = embedder
        self._ingests: tuple[RunningIngest, ...] = ()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._starting: dict[str, str] = {}
        """By collection, the id of the ingest that is stored but not running yet."""
        self._lease: ProcessLock | None = None

    async def add(
        self,
        name: str,
        sources: Sequence[IngestSource],
        *,
        knobs: ChunkKnobs | None = None,
        access: Access | None = None,
    ) -> RunningIngest:
        """Start to add documents, returning once they are stored.

        A missing collection is created.

        Raises:
            BadInput: when there is nothing to add, too much, or a folder is not allowed by the operator, or while
                the collection is being re-embedded.
            LibraryFailed: when the collection holds vectors of another width, distance or model.
            EmbedFailed: when the embedder cannot be asked.
        """
        async with self._exclusive(name := checked_name(name)):
            await self._refuse_conflict(name, IngestAction.ADD)
            files, limits = self._catalogue.files, self._ports.limits
            tasks = await asyncio.to_thread(lambda: plan_ingest(sources, limits, files.size()))
            embed = await self._embedder(access, name)
            await open_or_create(self._ports.collections, name, embed)
            ingest = self._new_ingest(name, IngestAction.ADD, embed, knobs)
            added = await asyncio.to_thread(self._catalogue.add_ingest, ingest, tasks)
            return self._started(RunningIngest(ingest, added, self._ports, embed))

    async def reembed(
        self, name: str, *, knobs: ChunkKnobs | None = None, access: Access | None = None
    ) -> RunningIngest:
        """Start to embed the documents of a collection again with the current embedder.

        Documents are read again from their files. Passages of other tools keep text, metadata and ids.

        Raises:
            BadInput: while documents are being added to the collection, or it is being re-embedded.
            EmbedFailed: when the embedder cannot be asked.
        """
        async with self._exclusive(name := checked_name(name)):
            await self._refuse_conflict(name, IngestAction.REEMBED)
            await self._ports.collections.about(name)
            embed = await self._embedder(access, name)
            width = await embedding_width(embed)
            ingest = self._new_ingest(name, IngestAction.REEMBED, embed, knobs, stage=_GATHERING)
            await asyncio.to_thread(self._catalogue.add_ingest, ingest)
            ingest = await self._recreate_collection(await self._record_documents(ingest), width)
            tasks = await asyncio.to_thread(self._catalogue.tasks, ingest.id)
            return self._started(RunningIngest(ingest, tasks, self._ports, embed))

    @asynccontextmanager
    async def stopped(self, name: str) -> AsyncIterator[None]:
        """Stop the ingests into a collection, for its deletion inside this context. None is resumed later."""
        async with self._exclusive(name):
            for running in self.running(name):
                running.cancel()
                await running.wait()
            yield
            for ingest in await self._abandoned():
                if ingest.collection == name:
                    await self._stop(ingest, "The collection was deleted.")

    def running(self, name: str = "") -> tuple[RunningIngest, ...]:
        """Return this process's running ingests, by default of all collections. May be called from any thread."""
        return tuple(
            running
            for running in self._ingests
            if running.ingest.live and name in ("", running.ingest.collection)
        )

    async def get(self, name: str) -> Ingest | None:
        """Return the ingest of this id with its tasks, or None. Of another process it is as that stored it."""
        if running := self.find(name):
            return running.progress
        ingest = await asyncio.to_thread(self._catalogue.ingest, name)
        return ingest and await self._with_tasks(ingest)

    def find(self, name: str) -> RunningIngest | None:
        """Return this process's running ingest of this id, or None."""
        return next((running for running in self.running() if running.ingest.id == name), None)

    async def all(self, collection: str = "") -> tuple[Ingest, ...]:
        """Return the stored ingests with their tasks, latest first. The latest 50 that have ended are kept."""
        ingests = await asyncio.to_thread(self._catalogue.ingests, collection)
        return tuple([await self._with_tasks(ingest) for ingest in ingests])

    async def _with_tasks(self, ingest: Ingest) -> Ingest:
        """Return the ingest with its stored tasks. One that nobody works on is interrupted."""
        tasks = await asyncio.to_thread(self._catalogue.tasks, ingest.id)
        if ingest.live and not self._is_active(ingest):
            ingest = replace(ingest, state=IngestState.INTERRUPTED)
        return ingest.with_tasks(tasks)

    async def unfinished(self) -> tuple[Ingest, ...]:
        """Return ingests whose process has ended, which `resume` continues."""
        return tuple([await self._with_tasks(ingest) for ingest in await self._abandoned()])

    async def resume(self, *, access: Access | None = None) -> tuple[RunningIngest, ...]:
        """Resume every ingest whose process has ended. Only one process resumes each.

        An ingest whose collection or embedder has changed stays unfinished, with the reason in its message.
        """
        await asyncio.to_thread(self._catalogue.delete_unused_files)
        resumed = [await self._claim(abandoned, access) for abandoned in await self._abandoned()]
        return tuple(filter(None, resumed))

    async def aclose(self) -> None:
        """Interrupt the running ingests. They can be resumed."""
        for ingest in self.running():
            await ingest.interrupt()
        if self._lease:
            self._lease.close()
            self._lease = None

    @asynccontextmanager
    async def _exclusive(self, name: str) -> AsyncIterator[None]:
        """Serialise the start, resumption and stop of ingests into a collection."""
        async with self._locks[name]:
            try:
                yield
            finally:
                self._starting.pop(name, None)

    async def _refuse_conflict(self, name: str, action: IngestAction, own: str = "") -> None:
        """Refuse an action that another ingest forbids. `own` is the id of this ingest.

        A re-embedding forbids every other ingest, even if it was interrupted while it emptied the collection. Adding
        documents forbids re-embedding.

        Raises:
            BadInput: naming the conflicting ingest.
        """
        actions = {
            ingest.action
            for ingest in await asyncio.to_thread(self._catalogue.unfinished_ingests)
            if ingest.collection == name
            and ingest.id != own
            and (ingest.stage == _EMPTYING or (ingest.live and self._is_active(ingest)))
        }
        if IngestAction.REEMBED in actions:
            raise BadInput(f"{name} is being re-embedded.", hint="Resume that, or wait until it has ended.")
        if actions and action is IngestAction.REEMBED:
            raise BadInput(
                f"Documents are being added to {name}.", hint="Stop that first, or wait until it has ended."
            )

    def _new_ingest(
        self, name: str, action: IngestAction, embed: Embed, knobs: ChunkKnobs | None, *, stage: str = ""
    ) -> Ingest:
        ingest = Ingest(
            id=secrets.token_urlsafe(12),
            collection=name,
            action=action,
            embedder=embed.identity,
            knobs=KNOBS.dump_json(knobs or ChunkKnobs()).decode(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            stage=stage,
            owner=self._owner().name,
        )
        self._starting[name] = ingest.id
        return ingest

    def _started(self, ingest: RunningIngest) -> RunningIngest:
        self._ingests = (*self.running(), ingest)
        return ingest

    def _owner(self) -> ProcessLock:
        if self._lease is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lease = ProcessLock(self._folder)
            self._lease.sweep()
        return self._lease

    def _is_active(self, ingest: Ingest) -> bool:
        """Return whether a live process works on an unfinished ingest."""
        if ingest.owner != self._owner().name:
            return self._owner().is_alive(ingest.owner)
        running = {running.ingest.id for running in self.running()}
        return ingest.id in running | {self._starting.get(ingest.collection)}

    async def _abandoned(self) -> list[Ingest]:
        ingests = await asyncio.to_thread(self._catalogue.unfinished_ingests)
        return [ingest for ingest in ingests if not self._is_active(ingest)]

    async def _claim(self, abandoned: Ingest, access: Access | None) -> RunningIngest | None:
        """Resume an ingest, or return None if another process claimed it or nothing is left to do."""
        ingest = replace(abandoned, owner=self._owner().name, state=IngestState.LIVE, message="")
        async with self._exclusive(ingest.collection):
            if self._is_active(ingest) or not await asyncio.to_thread(
                self._catalogue.claim_ingest, abandoned, ingest.owner
            ):
                return None
            try:
                return await self._resume(ingest, access)
            except OpenQueryError as error:
                failed = replace(ingest, state=IngestState.INTERRUPTED, message=str(error))
                await asyncio.to_thread(self._catalogue.update_ingest, failed)
                return None

    async def _resume(self, ingest: Ingest, access: Access | None) -> RunningIngest | None:
        if ingest.stage == _GATHERING:
            await self._stop(ingest, "Stopped before anything was changed.")
            return None
        await self._refuse_conflict(ingest.collection, ingest.action, ingest.id)
        self._starting[ingest.collection] = ingest.id
        embed = await self._embedder(access, ingest.collection)
        if ingest.stage == _EMPTYING:
            ingest = await self._recreate_collection(ingest, await embedding_width(embed))
        else:
            await open_or_create(self._ports.collections, ingest.collection, embed)
        tasks = await asyncio.to_thread(self._catalogue.tasks, ingest.id)
        return self._started(RunningIngest(ingest, tasks, self._ports, embed, resumed=True))

    async def _stop(self, ingest: Ingest, message: str) -> None:
        """Stop an abandoned ingest, and delete the files of its tasks."""
        for task in await asyncio.to_thread(self._catalogue.tasks, ingest.id):
            if not task.state.ended:
                await asyncio.to_thread(self._catalogue.update_task, task.stopped())
        stopped = replace(ingest, state=IngestState.STOPPED, message=message)
        await asyncio.to_thread(self._catalogue.update_ingest, stopped)

    async def _record_documents(self, ingest: Ingest) -> Ingest:
        """Store the collection's documents as tasks, which read them again from their files."""
        documents = await asyncio.to_thread(self._catalogue.documents, ingest.collection)
        stored = [document for document in documents if document.stored]
        await self._record_passages(ingest, {document.digest for document in stored})
        await asyncio.to_thread(self._catalogue.add_tasks, ingest.id, list(map(_task_of, stored)))
        ingest = replace(ingest, stage=_EMPTYING)
        await asyncio.to_thread(self._catalogue.update_ingest, ingest)
        return ingest

    async def _record_passages(self, ingest: Ingest, stored: set[str]) -> None:
        """Store the passages without a stored file, before the collection is emptied."""
        after, number = "", 0
        while True:
            passages, after = await self._ports.collections.scroll(ingest.collection, _SCROLL_LIMIT, after)
            if without_file := [passage for passage in passages if passage.document not in stored]:
                number += 1
                task = stored_task(f"passages {number}", STORED_PASSAGES, passages_to_json(without_file))
                await asyncio.to_thread(self._catalogue.add_tasks, ingest.id, [task])
            if not after:
                return

    async def _recreate_collection(self, ingest: Ingest, width: int) -> Ingest:
        """Delete the collection and create it again with the embedder's width."""
        await self._ports.collections.drop(ingest.collection)
        await self._ports.collections.create(ingest.collection, width)
        ingest = replace(ingest, stage="")
        await asyncio.to_thread(self._catalogue.update_ingest, ingest)
        return ingest


def _task_of(document: LibraryDocument) -> IngestTask:
    """Return the task of reading a document again."""
    return IngestTask(
        kind=TaskKind.FILE,
        name=document.source,
        location=document.url,
        digest=document.digest,
        media_type=document.media_type,
        charset=document.charset,
    )
