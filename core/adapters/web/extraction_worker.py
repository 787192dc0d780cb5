"""A reading worker process as seen by its parent: start, requests, end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from core.adapters.worker_process import WorkerProcess
from core.errors import OpenQueryError
from core.model import Article, Document, Extractor, Unreadable
from core.reading.absence import Absence
from core.reading.replies import BODY_LIMIT, HEAD_LIMIT, Reply, Verdict, read_reply
from core.sandbox import Confinement
from core.text.sanitize import one_line

T = TypeVar("T")

_START_SECONDS = 60.0
_REPLIES = ThreadPoolExecutor(1, "replies")
"""Reads replies, so that a long reply does not block the event loop."""


class WorkerDied(OpenQueryError):
    """The process ended or sent an invalid reply."""


class ExtractionWorker:
    """A process that extracts one document at a time. A caller that times out or is unsure kills it."""

    def __init__(self, process: WorkerProcess) -> None:
        """Wrap a process that `start` has made."""
        self._process = process
        self.confinement = Confinement(())
        self.served = 0
        self.retire = False
        """Whether the process replied but should not be used again."""

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @classmethod
    async def start(cls, starting: Awaitable[WorkerProcess]) -> ExtractionWorker:
        """Return a worker in a process that is starting, with loaded parsers.

        Raises:
            WorkerDied: when it cannot be started.
        """
        try:
            async with asyncio.timeout(_START_SECONDS):
                worker = cls(await starting)
        except (OSError, NotImplementedError, ValueError, RuntimeError) as error:
            raise WorkerDied(f"{type(error).__name__}: {error}") from error
        try:
            async with asyncio.timeout(_START_SECONDS):
                worker.confinement = _expected(Confinement, await worker._receive())
        except TimeoutError as error:
            worker.kill()
            raise WorkerDied(f"not ready within {_START_SECONDS:g} s") from error
        except BaseException:
            worker.kill()
            raise
        return worker

    async def extract(
        self, document: Document, extractor: Extractor, limit: float, cpu_limit: float = 0.0
    ) -> Article:
        """Extract a document's article.

        `limit` is the caller's own, in seconds: the process ends itself some time after it. It also ends when it has
        used `cpu_limit` seconds of CPU, unless that is 0.

        Raises:
            Unreadable: the worker's verdict about the document.
            WorkerDied: when the process is gone.
        """
        header = _header(document, extractor) | {"limit": limit, "cpu_limit": cpu_limit}
        return _expected(Article, await self._request(header, document.body))

    async def absence(self, document: Document, text: str, extractor: Extractor, limit: float) -> Absence:
        """Find why a text is missing in the article. Raises like `extract`."""
        header = _header(document, extractor) | {"missing": text, "limit": limit}
        return _expected(Absence, await self._request(header, document.body))

    async def draw(self, body: bytes, page: int, width: int, limit: float) -> bytes:
        """Draw a page of a PDF as a PNG. Raises like `extract`."""
        return _expected(bytes, await self._request({"page": page, "width": width, "limit": limit}, body))

    async def _request(self, header: dict[str, Any], body: bytes) -> Reply:
        """Send a request and return its reply. Raises `Unreadable` if it is a verdict."""
        self.served += 1
        try:
            await self._process.send(json.dumps(header).encode(), body)
        except OSError as error:
            raise WorkerDied("it does not listen any more") from error
        reply = await self._receive()
        if isinstance(reply, Verdict):
            self.retire = reply.retire
            raise Unreadable(reply.reason, one_line(reply.detail))
        return reply

    def kill(self) -> None:
        """End the process now, with its job."""
        self._process.kill()

    async def aclose(self) -> None:
        """End the process, and wait for its end."""
        self.kill()
        await self._process.wait()

    async def _receive(self) -> Reply:
        """Receive a reply. Raises `WorkerDied` when the process ends or its reply is invalid."""
        try:
            frame = await self._process.receive(HEAD_LIMIT, BODY_LIMIT)
            return await asyncio.get_running_loop().run_in_executor(_REPLIES, read_reply, *frame)
        except asyncio.IncompleteReadError as error:
            raise WorkerDied("it ended") from error
        except (ValueError, OSError) as error:
            raise WorkerDied("its reply is none") from error


def _header(document: Document, extractor: Extractor) -> dict[str, Any]:
    return {
        "url": document.url,
        "media_type": document.media_type,
        "charset": document.charset,
        "extractor": extractor.value,
        "kept": document.kept,
    }


def _expected(kind: type[T], reply: Reply) -> T:
    if not isinstance(reply, kind):
        raise WorkerDied("its reply is of another kind")
    return reply
