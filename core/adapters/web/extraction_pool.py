"""A pool of extraction processes that can be killed: the `Extract` port for untrusted documents."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

from core.adapters.web.extraction_worker import ExtractionWorker, WorkerDied
from core.model import Article, Document, Extractor, SkipReason, Unreadable

log = logging.getLogger(__name__)

T = TypeVar("T")

HTML_SECONDS = 10.0
PDF_SECONDS = 15.0
"""For PDFs, office files and books."""
_SHORT = frozenset(
    {
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "text/markdown",
        "application/json",
        "application/xml",
    }
)
MEGABYTES = 1_000
"""Address space of a worker. A page of 1.5 MB needs a tenth of it."""
_MAX_DOCUMENTS = 500
"""Documents after which a process is replaced: parsers fragment memory."""


class ExtractionPool:
    """A pool of reading processes, started when first needed or by `start`, one for each core.

    A process that dies, hangs or outgrows its memory is replaced, and only its page is skipped; when its
    successor does not start, so is the next page, and the one after it tries again. A caller that is
    cancelled leaves its process to finish and to be used again. Where no process has ever started, one
    thread reads instead, without protection, and `fallback` says why.
    """

    def __init__(
        self,
        count: int | None = None,
        *,
        html_seconds: float = HTML_SECONDS,
        pdf_seconds: float = PDF_SECONDS,
        megabytes: int = MEGABYTES,
        python: str = sys.executable,
    ) -> None:
        """`python` is the interpreter of the processes; `megabytes` bounds the address space of each."""
        self._count = count or os.cpu_count() or 1
        self._html_seconds, self._pdf_seconds = html_seconds, pdf_seconds
        self._megabytes, self._python = megabytes, python
        self.fallback: str | None = None
        self._ever_started = False
        """Whether any process has started; then a later failure to start does not switch to the thread."""
        self._starting = 0
        self._idle: deque[ExtractionWorker] = deque()
        self._busy: set[ExtractionWorker] = set()
        self._slots = asyncio.Semaphore(self._count)
        self._jobs: set[asyncio.Task[Any]] = set()
        self._thread: ThreadPoolExecutor | None = None
        self._closed = False

    @property
    def count(self) -> int:
        return self._count

    @property
    def pids(self) -> set[int]:
        """The processes that are there now, idle and busy."""
        return {worker.pid for worker in (*self._idle, *self._busy)}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def start(self) -> None:
        """Start all processes now, so that the first page does not wait for them."""
        await asyncio.gather(*(self._prestart() for _ in range(self._count)))

    async def aclose(self) -> None:
        """End all processes. Jobs under way end with them."""
        self._closed = True
        for job in tuple(self._jobs):
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await asyncio.gather(*(worker.aclose() for worker in (*self._idle, *self._busy)))
        self._idle.clear()
        self._busy.clear()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, document: Document, extractor: Extractor) -> Article:
        """The document's article.

        Raises:
            Unreadable: CRASHED when the process died or took too long, otherwise the reader's verdict.
        """
        limit = self._html_seconds if document.media_type in _SHORT else self._pdf_seconds

        def fallback() -> Article:
            from core.reading import extract

            return extract(document, extractor)

        return await self._submit(lambda worker: worker.extract(document, extractor, limit), fallback, limit)

    async def draw(self, body: bytes, page: int, width: int) -> bytes:
        """A page of a PDF, counted from 1, as a PNG at most `width` pixels wide.

        Raises:
            Unreadable: CRASHED when the process died or took too long, otherwise why it cannot be drawn.
        """
        limit = self._pdf_seconds

        def fallback() -> bytes:
            from core.reading.pdf_images import draw_page

            return draw_page(body, page, width)

        return await self._submit(lambda worker: worker.draw(body, page, width, limit), fallback, limit)

    async def _submit(
        self, request: Callable[[ExtractionWorker], Awaitable[T]], fallback: Callable[[], T], limit: float
    ) -> T:
        """The result of `request` on a free process; of `fallback` in a thread where no process can start."""
        await self._slots.acquire()
        try:
            job = asyncio.create_task(self._run_in_worker(request, fallback, limit))
        except BaseException:
            self._slots.release()
            raise
        self._jobs.add(job)
        job.add_done_callback(self._on_job_done)
        # Shielded: killing a warm process for a caller who lost interest would cost more than its last page.
        return await asyncio.shield(job)

    def _on_job_done(self, job: asyncio.Task[Any]) -> None:
        self._jobs.discard(job)
        self._slots.release()
        if not job.cancelled():
            job.exception()  # seen, even when the caller is gone

    async def _run_in_worker(
        self, request: Callable[[ExtractionWorker], Awaitable[T]], fallback: Callable[[], T], limit: float
    ) -> T:
        worker = await self._acquire_worker()
        if worker is None:
            return await self._run_in_thread(fallback, limit)
        try:
            async with asyncio.timeout(limit):
                result = await request(worker)
        except Unreadable:
            self._release(worker)
            raise
        except TimeoutError as error:
            self._discard(worker)
            raise Unreadable(SkipReason.CRASHED, f"not read within {limit:g} s") from error
        except WorkerDied as error:
            self._discard(worker)
            raise Unreadable(SkipReason.CRASHED, "the page took its reader down") from error
        except BaseException:
            self._discard(worker)
            raise
        self._release(worker)
        return result

    async def _acquire_worker(self) -> ExtractionWorker | None:
        """An idle process or a new one, marked as busy; None where a thread has to do.

        Raises:
            Unreadable: CRASHED when a new one is needed and does not start.
        """
        worker = self._idle.pop() if self._idle else await self._start_worker()
        if worker is not None:
            self._busy.add(worker)
        elif self.fallback is None:
            raise Unreadable(SkipReason.CRASHED, "no process could be started to read it")
        return worker

    async def _prestart(self) -> None:
        # In a place of its own: a page that comes meanwhile waits for this process and starts none besides.
        async with self._slots:
            missing = self._count - len(self._idle) - len(self._busy) - self._starting
            if missing > 0 and (worker := await self._start_worker()) is not None:
                self._release(worker)

    async def _start_worker(self) -> ExtractionWorker | None:
        """A new process; None when it does not start, and none is tried where none ever did."""
        if self.fallback is not None:
            return None
        self._starting += 1
        try:
            worker = await ExtractionWorker.start(self._python, self._megabytes)
        except WorkerDied as error:
            log.warning("a worker process did not start: %s", error)
            if not self._ever_started:
                self.fallback = f"reading in a thread, because worker processes do not start ({error})"
            return None
        finally:
            self._starting -= 1
        self._ever_started, self.fallback = True, None
        return worker

    def _release(self, worker: ExtractionWorker) -> None:
        if worker.spent or worker.served >= _MAX_DOCUMENTS or self._closed:
            self._discard(worker)
        else:
            self._busy.discard(worker)
            self._idle.append(worker)

    def _discard(self, worker: ExtractionWorker) -> None:
        worker.kill()
        self._busy.discard(worker)

    async def _run_in_thread(self, fallback: Callable[[], T], limit: float) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reading")
        running = asyncio.get_running_loop().run_in_executor(self._thread, fallback)
        try:
            async with asyncio.timeout(limit):
                return await running
        except TimeoutError as error:
            self._thread = None  # a thread cannot be killed: it is left behind, and another one goes on
            raise Unreadable(SkipReason.CRASHED, f"not read within {limit:g} s") from error
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(SkipReason.BROKEN, f"{type(error).__name__} in the parser") from error
