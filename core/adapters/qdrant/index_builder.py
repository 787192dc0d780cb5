"""An index for searches of large collections, made when they have come to rest, without holding anybody up."""

from __future__ import annotations

import asyncio
import logging

from core.adapters.qdrant.edge_process import EdgeProcess
from core.adapters.worker_process import IMPORT_ROOT, command, environment
from core.errors import LibraryFailed

log = logging.getLogger("openquery.library")


class IndexBuilder:
    """Watches collections and settles those that have grown by `least` passages, `quiet` seconds after a change.

    Settling takes minutes of all cores at 100,000 passages and more. So another process, at low priority,
    works on a copy, which takes the original's place if that has not changed meanwhile; otherwise it is
    begun anew when there is quiet again. Until then each search compares with every passage.
    """

    def __init__(self, process: EdgeProcess, least: int, quiet: float) -> None:
        self._process = process
        self._least, self._quiet = least, quiet
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._working: dict[str, asyncio.Task[None]] = {}
        self._seen: set[str] = set()
        self._one = asyncio.Lock()

    def used(self, name: str) -> None:
        """Somebody looked into the collection: was it left unsettled?"""
        if name not in self._seen:
            self._wait(name)

    def changed(self, name: str) -> None:
        """Work on a copy is in vain now."""
        if name in self._working:
            self._working[name].cancel()
        self._wait(name)

    async def settle(self, name: str) -> bool:
        """Settle it now. False when there was nothing to do, or it was changed meanwhile.

        Raises:
            LibraryFailed: when it cannot be done.
        """
        async with self._one:
            told, _ = await self._process.ask("unsettled", name=name)
            if told.get("count", 0) < self._least:
                return False
            try:
                await self._work(await self._copy(name))
            except BaseException:
                await self._process.ask("discard", name=name)
                raise
            told, _ = await self._process.ask("replace", name=name)
            return bool(told.get("replaced"))

    async def aclose(self) -> None:
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        working = tuple(self._working.values())
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)

    def _wait(self, name: str) -> None:
        self._seen.add(name)
        if name in self._waiting:
            self._waiting[name].cancel()
        self._waiting[name] = asyncio.get_running_loop().call_later(self._quiet, self._begin, name)

    def _begin(self, name: str) -> None:
        self._waiting.pop(name, None)
        if name in self._working:
            self._wait(name)
            return
        task = asyncio.create_task(self._quietly(name))
        self._working[name] = task
        task.add_done_callback(lambda _: self._working.pop(name, None))

    async def _quietly(self, name: str) -> None:
        try:
            if await self.settle(name):
                log.info("collection %s has an index for searches", name)
        except LibraryFailed as error:
            log.warning("%s", error)

    async def _copy(self, name: str) -> str:
        told, _ = await self._process.ask("copy", name=name)
        if "copy" not in told:
            reason = told.get("refused") or told.get("failed")
            raise LibraryFailed(
                f"The collection {name} gets no index for searches ({reason}).",
                hint="A copy of it must fit on the disk for as long as that takes.",
            )
        return str(told["copy"])

    async def _work(self, copy: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *command("adapters.qdrant.edge_worker", "settle", copy),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=IMPORT_ROOT,
            env=environment(),
            start_new_session=True,
        )
        try:
            code = await process.wait()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        if code:
            raise LibraryFailed(
                f"The index for searches could not be made ({code}).",
                hint="Searches still compare with every passage. Is there memory and disk enough?",
            )
