"""Pages in hand: those of earlier questions of a conversation, ranked with new ones and never fetched again."""

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
"""Message and hint for a query without an answer at the end of reading."""

PAGES_IN_HAND = "pages of earlier questions"
"""The text of the query that stands for them. It is never searched."""

NO_NEW_PAGE = "The searches found no new page."


def add_pages_in_hand(earlier: Run, recorder: Recorder) -> None:
    """Give the run the pages of an earlier one, as the results of a query that stands for them. Nothing is fetched."""
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
    """The hits whose page the run did not have when it began to search."""
    async with aclosing(hits):
        async for hit in hits:
            if hit.key not in run.pages:
                yield hit


async def with_pages_in_hand(recorder: Recorder, pages: AsyncGenerator[Page]) -> AsyncGenerator[Page]:
    """The pages that the run has already, then these; at the end, events that end the searches that are still open.

    With pages in hand it is a note, not an error, that nothing new could be searched or read. A cancelled run emits
    none: it is known to be unfinished.
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
    """Emit the end of planning and of searches that the deadline for pages has cut off."""
    run, emit = recorder.run, recorder.emit
    for query in run.queries:
        if query not in run.replies and query not in run.search_faults:
            emit(e.QueryFailed(query, *SEARCH_UNFINISHED))
    for phase in (Phase.PLAN, Phase.SEARCH):
        if phase in run.timeline.phases and run.timeline.phases[phase].end is None:
            emit(e.PhaseEnded(phase))
