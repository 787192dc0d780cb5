"""A pool of extraction processes that can be killed: the `Extract` port for untrusted documents."""

import asyncio
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from core.adapters.web.extraction_job import (
    ExtractionJob,
    Stopped,
    absence_job,
    drawing_job,
    extraction_job,
    read_in_two_tries,
)
from core.adapters.web.extraction_worker import ExtractionWorker, WorkerDied
from core.adapters.web.fair_slots import FairSlots, Slot
from core.adapters.worker_process import ForkServer, WorkerProcess
from core.model import Article, Document, Extractor, SkipReason, Unreadable
from core.reading.absence import Absence
from core.reading.file_types import HTML
from core.sandbox import Confinement, forks

log = logging.getLogger(__name__)

T = TypeVar("T")

HTML_SECONDS = 10.0
PDF_SECONDS = 15.0
"""The time limit of PDFs, office files and books."""
HTML_CPU_SECONDS = 3.0
"""CPU time for the first try of an HTML page. The largest readable pages need half of it."""
SLICE_SECONDS = 1.5
"""Seconds after which a page loses its process to a waiting run without a process."""
_SHORT = HTML | frozenset({"text/plain", "text/markdown", "application/json", "application/xml"})
MEGABYTES = 1_000
"""Address space of a worker. A page of 1.5 MB needs a tenth of it."""
RETRY_SECONDS = 30.0
"""Seconds for which a thread replaces a process that could not be started, before the next attempt."""
_RESERVE = 1
"""Extra processes besides one for each core, for runs that find all others taken."""
_MAX_DOCUMENTS = 500
"""Documents after which a process is replaced, because parsers fragment memory."""


class ExtractionPool(AbstractAsyncContextManager["ExtractionPool"]):
    """A pool of reading processes, one for each core, started when needed or by `start`.

    Runs take turns. An extra process is started for a run when other runs use all of them. A page that uses up its
    time, or keeps another run waiting for too long, loses its process. It then has a second try at the end of its run's
    queue, for HTML with the fast extractor.

    After `start`, the extra process is kept ready too, and a process that ends is replaced before a page needs it.

    A process that dies, hangs or outgrows its memory is replaced, and only its page is skipped. If the replacement does
    not start, the next page is skipped too, and the page after it tries again. A caller that is cancelled leaves its
    process to finish, and the process is reused. If no process has ever started, a thread reads instead, without
    protection, until a process starts. `fallback` gives the reason.
    """

    def __init__(
        self,
        count: int | None = None,
        *,
        html_seconds: float = HTML_SECONDS,
        html_cpu_seconds: float = HTML_CPU_SECONDS,
        pdf_seconds: float = PDF_SECONDS,
        slice_seconds: float = SLICE_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        megabytes: int = MEGABYTES,
        python: str = "",
    ) -> None:
        """Configure the processes and time limits.

        `python` is another interpreter for the processes, each of which then loads the parsers. `megabytes` bounds the
        address space of each. A page has `html_seconds` or `pdf_seconds`, HTML also `html_cpu_seconds` of CPU.
        `slice_seconds` is the time for which it may keep other runs waiting. `retry_seconds` is the time for which a
        thread reads before a process is tried again.
        """
        self._count = count or os.cpu_count() or 1
        self._html_seconds, self._pdf_seconds = html_seconds, pdf_seconds
        self._html_cpu_seconds = html_cpu_seconds
        self._megabytes, self._python = megabytes, python
        self._forks = ForkServer("reading", str(megabytes)) if not python and forks.available() else None
        self.fallback: str | None = None
        self.confinement = Confinement(())
        """The confinement of the processes, after one has started."""
        self._ever_started = False
        """Whether any process has started. A later failure to start then does not switch to the thread."""
        self._retry_seconds, self._try_again = retry_seconds, 0.0
        self._starting = 0
        """The number of processes that pages wait for because none was ready."""
        self._idle: deque[ExtractionWorker] = deque()
        self._busy: set[ExtractionWorker] = set()
        self._slots = FairSlots(
            self._count, "a process to read it", reserve=_RESERVE, slice_seconds=slice_seconds
        )
        self._jobs: set[asyncio.Task[Any]] = set()
        self._kept_ready = False
        """Whether processes are started before a page needs them."""
        self._refills: set[asyncio.Task[None]] = set()
        self._thread: ThreadPoolExecutor | None = None
        self._closed = False

    @property
    def count(self) -> int:
        """The number of kept processes, without the reserve."""
        return self._count

    @property
    def pids(self) -> set[int]:
        """The ids of the current processes, idle and busy."""
        return {worker.pid for worker in (*self._idle, *self._busy)}

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def start(self) -> None:
        """Start all processes and keep them ready. No page then waits for a start."""
        self._kept_ready = True
        self._start_missing()
        await asyncio.gather(*self._refills)

    async def start_one(self) -> None:
        """Start a process unless there is one. `confinement` and `fallback` are then known."""
        if not (self._idle or self._busy or self._refills):
            self._refill()
        await asyncio.gather(*self._refills)

    async def aclose(self) -> None:
        """End all processes and their running jobs."""
        self._closed = True
        for job in tuple(self._jobs):
            job.cancel()
        await asyncio.gather(*self._jobs, *self._refills, return_exceptions=True)
        await asyncio.gather(*(worker.aclose() for worker in (*self._idle, *self._busy)))
        self._idle.clear()
        self._busy.clear()
        if self._forks is not None:
            await self._forks.aclose()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, document: Document, extractor: Extractor) -> Article:
        """Extract the document's article. Its `fallback` gives the reason for another extractor.

        Raises:
            Unreadable: CRASHED when the process died or took too long, otherwise the reader's verdict.
        """
        return await read_in_two_tries(self._submit, document, extractor, self._extraction)

    async def draw(self, body: bytes, page: int, width: int) -> bytes:
        """Draw a page of a PDF as a PNG. Pages are counted from 1. The image is at most `width` pixels wide.

        Raises:
            Unreadable: CRASHED when the process died or took too long, otherwise the reason why it cannot be drawn.
        """
        return await self._submit(drawing_job(body, page, width, self._pdf_seconds), False)

    async def absence(self, document: Document, text: str, extractor: Extractor) -> Absence:
        """Find why a text is missing in this extractor's article. Raises `Unreadable` like `draw`."""
        return await self._submit(absence_job(document, text, extractor, self._pdf_seconds), False)

    def _extraction(self, document: Document, extractor: Extractor) -> ExtractionJob[Article]:
        seconds = self._html_seconds if document.media_type in _SHORT else self._pdf_seconds
        cpu = self._html_cpu_seconds if document.media_type in HTML else seconds
        return extraction_job(document, extractor, seconds, cpu)

    async def _submit(self, job: ExtractionJob[T], second: bool) -> T:
        """Run a job on a process, or else in a thread.

        Raises:
            Stopped: when the job used up its time, or kept another run waiting.
        """
        slot = await self._slots.acquire(second=second)
        try:
            task = asyncio.create_task(self._run(job, slot))
        except BaseException:
            self._slots.release(slot)
            raise
        self._jobs.add(task)
        task.add_done_callback(lambda finished: self._on_job_done(finished, slot))
        # Shielded: killing a warm process for a cancelled caller would cost more than its last page.
        return await asyncio.shield(task)

    def _on_job_done(self, job: asyncio.Task[Any], slot: Slot) -> None:
        self._jobs.discard(job)
        self._slots.release(slot)
        if not job.cancelled():
            job.exception()  # retrieved, even without a caller

    async def _run(self, job: ExtractionJob[T], slot: Slot) -> T:
        worker = await self._acquire_worker()
        if worker is None:
            return await self._run_in_thread(job)
        self._slots.restart(slot)  # the time for starting a process does not count
        began = time.monotonic()
        working = asyncio.ensure_future(job.request(worker))
        recalled = asyncio.ensure_future(asyncio.Event().wait() if job.patient else slot.recalled.wait())
        try:
            await asyncio.wait({working, recalled}, timeout=job.seconds, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                result = working.result()
                self._release(worker)
                return result
            raise Stopped(job, time.monotonic() - began if recalled.done() else None)
        except WorkerDied as error:
            # A process at its CPU limit is ended by the system without a message.
            if time.monotonic() - began >= job.cpu_seconds:
                raise Stopped(job) from error
            raise Unreadable(SkipReason.CRASHED, "the page took its reader down") from error
        except Unreadable as verdict:
            if not isinstance(verdict, Stopped):
                self._release(worker)
            raise
        finally:
            if worker in self._busy:
                self._discard(worker)
            recalled.cancel()
            working.cancel()
            await asyncio.gather(working, recalled, return_exceptions=True)

    async def _acquire_worker(self) -> ExtractionWorker | None:
        """Return an idle or new process, marked as busy. None means that a thread must run the job.

        Raises:
            Unreadable: CRASHED when a new process is needed and does not start.
        """
        while not self._idle and self._refills:  # a process is starting already
            await asyncio.wait(self._refills, return_when=asyncio.FIRST_COMPLETED)
        if self._idle:
            worker: ExtractionWorker | None = self._idle.pop()
        else:
            self._starting += 1
            try:
                worker = await self._start_worker()
            finally:
                self._starting -= 1
        if worker is not None:
            self._busy.add(worker)
        elif self.fallback is None:
            raise Unreadable(SkipReason.CRASHED, "no process could be started to read it")
        return worker

    def _start_missing(self) -> None:
        expected = len(self._idle) + len(self._busy) + len(self._refills) + self._starting
        for _ in range(self._count + _RESERVE - expected):
            self._refill()

    def _refill(self) -> None:
        refill = asyncio.create_task(self._start_idle())
        self._refills.add(refill)
        refill.add_done_callback(self._refills.discard)

    async def _start_idle(self) -> None:
        if (worker := await self._start_worker()) is not None:
            self._release(worker)

    def _new_process(self) -> Awaitable[WorkerProcess]:
        if self._forks is not None:
            return self._forks.worker()
        python = self._python or sys.executable
        return WorkerProcess.start("reading", str(self._megabytes), python=python)

    async def _start_worker(self) -> ExtractionWorker | None:
        """Start a process, or return None. If no process ever started, this is tried at intervals."""
        if self.fallback is not None and time.monotonic() < self._try_again:
            return None
        try:
            worker = await ExtractionWorker.start(self._new_process())
        except WorkerDied as error:
            log.warning("a worker process did not start: %s", error)
            self._try_again = time.monotonic() + self._retry_seconds
            if not self._ever_started:
                self.fallback = f"reading in a thread, because worker processes do not start ({error})"
            return None
        self._ever_started, self.fallback = True, None
        self.confinement = worker.confinement
        return worker

    def _release(self, worker: ExtractionWorker) -> None:
        if worker.retire or worker.served >= _MAX_DOCUMENTS or self._closed:
            self._discard(worker)
        else:
            self._busy.discard(worker)
            self._idle.append(worker)

    def _discard(self, worker: ExtractionWorker) -> None:
        worker.kill()
        self._busy.discard(worker)
        if self._kept_ready and not self._closed:
            self._start_missing()

    async def _run_in_thread(self, job: ExtractionJob[T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reading")
        running = asyncio.get_running_loop().run_in_executor(self._thread, job.in_thread)
        try:
            async with asyncio.timeout(job.seconds):
                return await running
        except TimeoutError as error:
            self._thread = None  # a thread cannot be killed, so it is abandoned and replaced
            raise Stopped(job) from error
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(SkipReason.BROKEN, "an error in the parser") from error
