"""The process that holds the embedded database, seen from the outside: started when needed, asked, ended."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adapters.qdrant.edge_protocol import HEAD, NOTHING, packed, unpacked
from core.adapters.worker_process import IMPORT_ROOT, command, environment
from core.errors import LibraryFailed

_PATIENCE = 10.0
"""Seconds that it may take to write everything to disk at the end."""

Reply = tuple[dict[str, Any], NDArray[np.float32]]


class EdgeProcess:
    """Questions and answers over pipes. A question whose asker lost interest is answered all the same."""

    def __init__(self, folder: Path, idle: float) -> None:
        self.folder = folder
        self._arguments = (str(folder), str(idle))
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    async def ask(self, do: str, numbers: NDArray[np.float32] = NOTHING, **arguments: Any) -> Reply:
        """The answer's message and numbers.

        Raises:
            LibraryFailed: when the process cannot be started, or ends before it has answered.
        """
        question = next(self._numbers)
        async with self._starting:
            process = await self._running()
        pipe = process.stdin
        if pipe is None:
            raise self._gone()
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[question] = answered
        try:
            pipe.write(packed({"id": question, "do": do, "with": arguments}, numbers))
            await pipe.drain()
            return await answered
        except OSError as error:
            # Its end shows here first when it is being written to; whoever asks next needs a new one.
            if self._listening:
                await asyncio.wait({self._listening}, timeout=_PATIENCE)
            raise self._gone() from error
        finally:
            self._waiting.pop(question, None)
            if answered.done() and not answered.cancelled():
                answered.exception()  # seen, also where writing failed first

    async def aclose(self) -> None:
        """End the process once everything is on disk."""
        process, listening = self._process, self._listening
        self._process = self._listening = None
        if process is None or listening is None:
            return
        if process.stdin:
            process.stdin.close()
        try:
            async with asyncio.timeout(_PATIENCE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        await listening

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._listening is not None and not self._listening.done():
            return self._process
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            process = await asyncio.create_subprocess_exec(
                *command("adapters.qdrant.edge_worker", *self._arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=IMPORT_ROOT,
                env=environment(),
                start_new_session=True,  # Ctrl-C is for the parent, which then ends it in order
            )
        except (OSError, NotImplementedError) as error:
            raise LibraryFailed(
                f"The library below {self.folder} cannot be opened ({error}).",
                hint="Set OPENQUERY_DATA to a folder that can be written, or QDRANT_URL to a Qdrant server.",
            ) from error
        self._process = process
        self._listening = asyncio.create_task(self._listen(process))
        return process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Hand every answer to whoever asked, and tell all of them when there will be none."""
        try:
            while process.stdout:
                message, numbers = await _frame(process.stdout)
                answered = self._waiting.pop(message.pop("id"), None)
                if answered and not answered.done():
                    answered.set_result((message, numbers))
        except (asyncio.IncompleteReadError, OSError, ValueError):
            pass  # it has ended, which is told below
        finally:
            for answered in self._waiting.values():
                if not answered.done():
                    answered.set_exception(self._gone())
            self._waiting.clear()

    def _gone(self) -> LibraryFailed:
        return LibraryFailed(
            f"The process that holds the library below {self.folder} has ended.",
            hint="Ask again: it is started anew, and what it had confirmed is on disk. When it does not start, the disk may be "
            "full, or requirements.txt not installed.",
        )


async def _frame(pipe: asyncio.StreamReader) -> Reply:
    told, raw = HEAD.unpack(await pipe.readexactly(HEAD.size))
    return unpacked(await pipe.readexactly(told), await pipe.readexactly(raw))
