"""Rank the pages of earlier questions with new pages, without fetching them again."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from core.errors import ReadFailed, SearchFailed
from core.model import Author, Hit, Page, Phase, Query, Result, SearchReply, Severity
from core.run import events as e
from core.run.recorder import Recorder
from core.run.state import Run

SEARCH_UNFINISHED = (
    "The search had not answered when the deadline for pages passed.",
    "Raise the phase deadline to wait for slow searches.",
)
"""The message and hint for a query without an answer at the end of reading."""

PAGES_IN_HAND = "pages of earlier questions"
"""The text of a query that represents these pages. It is never searched."""

NO_NEW_PAGE = "The searches found no new page."


def add_known_pages(earlier: Run, recorder: Recorder) -> None:
    """Add the pages of an earlier run to a new run.

    They are the results of a placeholder query, and are not fetched.
    """
    query = Query(text=PAGES_IN_HAND, author=Author.CONVERSATION)
    keys_in_hand = {page.key for page in earlier.ranked_pages}
    hits = [hit for hit in earlier.hits if hit.key in keys_in_hand]
    results = (
        Result(
            url=hit.url,
            title=hit.title,
            snippet=hit.snippet,
            rank=rank,
            published=hit.published,
            collection=hit.collection,
            similarity=hit.similarity,
        )
        for rank, hit in enumerate(hits, 1)
    )
    recorder.emit(e.QueryPlanned(query))
    recorder.emit(e.SearchAnswered(query, SearchReply(backend=earlier.backend, results=tuple(results))))
    for hit in hits:
        recorder.emit(e.PageRead(earlier.pages[hit.key]))


async def unread(hits: AsyncGenerator[Hit], run: Run) -> AsyncGenerator[Hit]:
    """Yield the hits whose page the run lacks."""
    async with aclosing(hits):
        async for hit in hits:
            if hit.key not in run.pages:
                yield hit


async def with_known_pages(recorder: Recorder, pages: AsyncGenerator[Page]) -> AsyncGenerator[Page]:
    """Yield the run's known pages, then these pages. At the end, events close the searches that are still open.

    If pages are known, a failed search or reading is a note instead of an error. A cancelled run emits no such events,
    because it is known to be unfinished.
    """
    in_hand = recorder.run.ranked_pages
    try:
        async with aclosing(pages):
            for page in in_hand:
                yield page
            async for page in pages:
                yield page
    except (ReadFailed, SearchFailed) as error:
        _end_open_searches(recorder)
        if not in_hand:
            raise
        part = Phase.SEARCH if isinstance(error, SearchFailed) else Phase.READ
        any_unread = any(hit.key not in recorder.run.pages for hit in recorder.run.hits)
        message = error.message if any_unread or part is Phase.SEARCH else NO_NEW_PAGE
        recorder.emit(e.Note(part, message, error.hint, Severity.WARNING))
    else:
        _end_open_searches(recorder)


def _end_open_searches(recorder: Recorder) -> None:
    """End planning and the searches cut off by the deadline."""
    run, emit = recorder.run, recorder.emit
    for query in run.queries:
        if query not in run.replies and query not in run.search_faults:
            emit(e.QueryFailed(query, *SEARCH_UNFINISHED))
    for phase in (Phase.PLAN, Phase.SEARCH):
        if phase in run.timeline.phases and run.timeline.phases[phase].end is None:
            emit(e.PhaseEnded(phase))
