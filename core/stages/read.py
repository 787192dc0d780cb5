"""Fetch and extract the pages of hits as they arrive, up to a deadline. Every skip has its reason."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, suppress

from core.config.knobs import ReadKnobs
from core.errors import ReadFailed, SearchFailed
from core.injection import injection_signs
from core.model import CAPTCHA, Article, Document, Hit, Page, Phase, Severity, Skip, SkipReason, Unreadable
from core.ports import Extract, Web
from core.run.events import Emit, Fetched, FetchStarted, Note, PageRead, PageSkipped, PhaseEnded, PhaseStarted
from core.run.page_request import PageRequest, Requester, page_request
from core.stages.streams import map_concurrently, until
from core.stages.time_budget import UNLIMITED, TimeBudget
from core.text.sanitize import plural, pluralize

NO_CONTENT = "Found search results but could not extract readable content."
"""The message of a run without a readable page or snippet."""

_IN_FLIGHT_FACTOR = 4
"""Pages in flight, as a multiple of concurrent fetches.

A page that waits for an extraction worker does not delay the next fetch. The limit avoids keeping all bodies of a long
list in memory.
"""


async def read(  # noqa: PLR0917  # a stage takes what it uses
    hits: AsyncGenerator[Hit],
    knobs: ReadKnobs,
    web: Web,
    extract: Extract,
    emit: Emit,
    budget: TimeBudget = UNLIMITED,
) -> AsyncGenerator[Page]:
    """Yield each page as soon as its article is extracted. This ends when the time in `budget` is over.

    If no page can be read, the hits' own snippets are yielded as pages marked `snippet_only`.

    Raises:
        ReadFailed: when there is no readable page and no snippet. For a single page it gives the reason.
        SearchFailed: when the time is over and no search has found a page.
    """
    deadline = ReadDeadline(knobs, budget)
    fetching = asyncio.Semaphore(knobs.concurrency)
    hits_by_key: dict[str, Hit] = {}
    finished_keys: set[str] = set()
    requester = Requester()
    requests: dict[str, PageRequest] = {}
    skips: list[Skip] = []
    any_page = False

    def skip(hit: Hit, reason: SkipReason, detail: str, seconds: float) -> None:
        skips.append(Skip(key=hit.key, url=hit.url, reason=reason, detail=detail, seconds=seconds))
        emit(PageSkipped(skips[-1]))

    async def known_hits() -> AsyncGenerator[Hit]:
        async for hit in hits:
            if not hits_by_key:
                emit(PhaseStarted(Phase.READ))
                deadline.start()
            hits_by_key[hit.key] = hit
            if not hit.collection:
                deadline.add_hit()
            yield hit
        deadline.close_hits()

    async def read_page(hit: Hit) -> Page | None:
        start = time.perf_counter()
        page = None
        try:
            with page_request(requester) as requests[hit.key]:
                async with fetching:
                    start = time.perf_counter()
                    document, seconds = await _fetched(hit, knobs, web, emit)
                article = await extract(document, knobs.extractor)
            page = _page(hit, document, article, seconds)
            emit(PageRead(page))
        except Unreadable as error:
            skip(hit, error.reason, error.detail, time.perf_counter() - start)
        finished_keys.add(hit.key)
        if not hit.collection:
            deadline.add_outcome(read=page is not None)
        return page

    arrivals = map_concurrently(known_hits(), read_page, at_once=_IN_FLIGHT_FACTOR * knobs.concurrency)
    async with aclosing(until(arrivals, deadline.expired())) as timely:
        async for page in timely:
            any_page = True
            yield page
    for key, hit in hits_by_key.items():
        if key not in finished_keys:
            skip(hit, deadline.reason, deadline.detail_of(requests.get(key)), deadline.elapsed)
    if deadline.out_of_time:
        emit(_out_of_time(budget, any_hit=bool(hits_by_key)))

    if not any_page:
        for page in _snippet_pages(hits_by_key.values(), skips, emit):
            emit(PageRead(page))
            yield page
    emit(PhaseEnded(Phase.READ))


class ReadDeadline:
    """The end of reading: the phase deadline, the time of the run, or the early cut.

    The early cut follows when enough pages have an outcome and no other outcome arrives for a time. A page has an
    outcome when it was read or is known to be unreadable. Refusals are fast, so the early cut also needs a page that
    was read. Only pages of the web are counted, because passages of a collection are available at once.
    """

    def __init__(self, knobs: ReadKnobs, budget: TimeBudget) -> None:
        self._knobs = knobs
        self._budget = budget
        self._start = self._last = time.perf_counter()
        self._hits = self._outcomes = self._read = 0
        self._hits_closed = False
        self._changed = asyncio.Event()
        self.reason = SkipReason.CUT
        self.out_of_time = False
        """Whether the time of the run ended the wait, not the phase deadline."""

    def start(self) -> None:
        """Start the clock at the first hit. Planning and searching are not counted."""
        self._start = self._last = time.perf_counter()

    def add_hit(self) -> None:
        """Count a page to be read."""
        self._hits += 1
        self._changed.set()

    def close_hits(self) -> None:
        """Note that there are no more hits."""
        self._hits_closed = True
        self._changed.set()

    def add_outcome(self, *, read: bool) -> None:
        """Count a page that was read, failed or was skipped."""
        self._outcomes += 1
        self._read += read
        self._last = time.perf_counter()
        self._changed.set()

    async def expired(self) -> None:
        """Wait until unfinished pages are to be skipped. `reason` gives the reason."""
        while (patience := self._patience()) > 0:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if patience == math.inf else patience):
                    await self._changed.wait()

    @property
    def elapsed(self) -> float:
        """Seconds since reading began."""
        return time.perf_counter() - self._start

    @property
    def detail(self) -> str:
        """The reason for skipping pages, as text."""
        if self.out_of_time:
            return f"not in when there was time for an answer within {self._budget.seconds:g} s only"
        if self.reason is SkipReason.DEADLINE:
            return f"not in after {self._knobs.deadline:g} s for all pages"
        return (
            f"{self._outcomes} of {pluralize(self._hits, 'page')} {plural(self._outcomes, 'was', 'were')} read or refused, "
            f"and none came for {self._knobs.early_cut_idle:g} s"
        )

    def detail_of(self, request: PageRequest | None) -> str:
        """Return `detail`, and the cause of a page's wait."""
        return f"{self.detail}; {request.waited_for}" if request and request.waited_for else self.detail

    def _patience(self) -> float:
        """Return the seconds to wait if nothing changes."""
        now, knobs = time.perf_counter(), self._knobs
        budgeted = self._budget.retrieval_left
        if budgeted <= 0:
            self.reason, self.out_of_time = SkipReason.DEADLINE, True
            return budgeted
        if not self._hits:
            return budgeted
        patience = min(self._start + knobs.deadline - now if knobs.deadline else math.inf, budgeted)
        if patience <= 0:
            self.reason = SkipReason.DEADLINE
        is_cut_due = (
            0 < knobs.early_cut_percent < 100 and self._outcomes * 100 >= self._hits * knobs.early_cut_percent
        )
        if is_cut_due and self._read and self._hits_closed:
            patience = min(patience, self._last + knobs.early_cut_idle - now)
        return patience


async def _fetched(hit: Hit, knobs: ReadKnobs, web: Web, emit: Emit) -> tuple[Document, float]:
    """Fetch a hit's page, and measure the seconds."""
    start = time.perf_counter()
    emit(FetchStarted(hit.key, hit.url))
    document = await web(hit.url, knobs)
    seconds = time.perf_counter() - start
    emit(Fetched(hit.key, len(document.body)))
    return document, seconds


def _page(hit: Hit, document: Document, article: Article, seconds: float) -> Page:
    return Page(
        key=hit.key,
        url=document.url,
        title=article.title or hit.title,
        article=article,
        status=document.status,
        media_type=document.media_type,
        size=len(document.body),
        seconds=seconds,
        from_cache=document.from_cache,
    )


def _out_of_time(budget: TimeBudget, *, any_hit: bool) -> Note:
    """Return the note that the run's time is over.

    Raises:
        SearchFailed: when no search has found a page.
    """
    if not any_hit:
        raise SearchFailed(
            f"No search had answered in time for an answer within {budget.seconds:g} s.",
            hint="Ask again, or have the time limit raised.",
        )
    return Note(
        Phase.READ,
        f"Searching and reading ended early, to answer within {budget.seconds:g} s.",
        "Have the time limit raised to wait for slow searches and pages.",
        Severity.WARNING,
    )


def _snippet_pages(hits: Iterable[Hit], skips: Sequence[Skip], emit: Emit) -> list[Page]:
    if pages := [_snippet_page(hit) for hit in hits if hit.snippet.strip()]:
        emit(
            Note(
                Phase.READ,
                f"No page could be read ({_reasons(skips)}), so the snippets of the search results are used instead.",
                severity=Severity.WARNING,
            )
        )
        return pages
    if len(skips) == 1:
        reason = f"{skips[0].reason}, {skips[0].detail}" if skips[0].detail else skips[0].reason
        raise ReadFailed(
            f"{NO_CONTENT} The page could not be read: {reason}.",
            hint="A longer page timeout may help if it was slow.",
        )
    raise ReadFailed(
        f"{NO_CONTENT} None of the {pluralize(len(skips), 'page')} could be read: {_reasons(skips)}.",
        hint="Every page that was skipped has its reason; a longer page timeout or other queries may help.",
    )


def _reasons(skips: Sequence[Skip]) -> str:
    """Count the skipped pages by reason. HTTP errors are counted by status."""
    reasons = (
        skip.detail
        if skip.reason is SkipReason.STATUS
        else CAPTCHA
        if skip.detail == CAPTCHA
        else skip.reason
        for skip in skips
    )
    counts = Counter(str(reason).partition(",")[0] for reason in reasons)
    return ", ".join(f"{count:,} × {reason}" for reason, count in counts.most_common(5))


def _snippet_page(hit: Hit) -> Page:
    text = hit.snippet.strip()
    article = Article(text=text, extractor="snippet", title=hit.title, injection_signs=injection_signs(text))
    return Page(key=hit.key, url=hit.url, title=hit.title, article=article, snippet_only=True)
