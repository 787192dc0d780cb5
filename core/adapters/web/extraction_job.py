"""Work for a reading process, and the second try of a page that lost its process."""

import math
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from core.adapters.web.extraction_worker import ExtractionWorker
from core.model import Article, Document, Extractor, SkipReason, Unreadable
from core.reading.absence import Absence, absence_from_article
from core.reading.file_types import HTML

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExtractionJob(Generic[T]):
    """Work by a process within `seconds`, or by `in_thread` without a process."""

    request: Callable[[ExtractionWorker], Coroutine[Any, Any, T]]
    in_thread: Callable[[], T]
    seconds: float
    cpu_seconds: float = math.inf
    """CPU time after which the worker ends itself."""
    patient: bool = False
    """Whether the job keeps its process even when another run waits."""


def drawing_job(body: bytes, page: int, width: int, seconds: float) -> ExtractionJob[bytes]:
    """Draw a page of a PDF as a PNG. Pages are counted from 1. The image is at most `width` pixels wide."""

    def in_thread() -> bytes:
        from core.reading.pdf.images import draw_page

        return draw_page(body, page, width)

    return ExtractionJob(
        lambda worker: worker.draw(body, page, width, seconds), in_thread, seconds, patient=True
    )


def absence_job(
    document: Document, text: str, extractor: Extractor, seconds: float
) -> ExtractionJob[Absence]:
    """Find why a text is missing in a page's article."""
    return ExtractionJob(
        lambda worker: worker.absence(document, text, extractor, seconds),
        lambda: absence_from_article(document, text, extractor),
        seconds,
        patient=True,
    )


def extraction_job(
    document: Document, extractor: Extractor, seconds: float, cpu_seconds: float
) -> ExtractionJob[Article]:
    """Extract a document's article."""

    def in_thread() -> Article:
        from core.reading import extract

        return extract(document, extractor)

    return ExtractionJob(
        lambda worker: worker.extract(document, extractor, seconds, cpu_seconds),
        in_thread,
        seconds,
        cpu_seconds,
    )


class Stopped(Unreadable):
    """A job's process was ended, because its time was used up or another run waited."""

    def __init__(self, job: ExtractionJob[Any], kept_waiting: float | None = None) -> None:
        self.used_up = kept_waiting is None
        limit = min(job.seconds, job.cpu_seconds)
        detail = f"{limit:g} s" if kept_waiting is None else f"{kept_waiting:.1f} s, and another run waited"
        super().__init__(SkipReason.CRASHED, f"not read within {detail}")


Submit = Callable[[ExtractionJob[Article], bool], Awaitable[Article]]
"""Run a job. True marks the second try of a page, which is last in its run's queue. Raises `Stopped`."""


async def read_in_two_tries(
    submit: Submit,
    document: Document,
    extractor: Extractor,
    extraction: Callable[[Document, Extractor], ExtractionJob[Article]],
) -> Article:
    """Extract the article, with a second try.

    HTML that used up its time has its second try with the fast extractor. A page that only kept others waiting has a
    second try too. The article's `fallback` gives the reason.

    Raises:
        Unreadable: the reader's verdict, or CRASHED when no try ended.
    """
    html = document.media_type in HTML
    try:
        return await submit(extraction(document, extractor), False)
    except Stopped as stopped:
        if stopped.used_up and not (html and extractor is Extractor.ACCURATE):
            raise
        why = stopped.detail
    second = Extractor.FAST if html and extractor is Extractor.ACCURATE else extractor
    try:
        article = await submit(extraction(document, second), True)
    except Stopped as stopped:
        raise Unreadable(SkipReason.CRASHED, f"{why}; at the second try {stopped.detail}") from stopped
    return article if second is extractor else replace(article, fallback=f"{extractor} extractor: {why}")
