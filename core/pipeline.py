"""What OpenQuery does, on one screen.

Stages are chained streams: each takes what the one before it yields, as it is yielded, so a page is being
fetched while other queries are still being written, and embedded while other pages are still on their way.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from core import events as e
from core.errors import BadInput, ChatFailed, OpenQueryError, ReadFailed, SearchFailed
from core.flow import collected
from core.journal import Journal, Listen
from core.knobs import Knobs, ReadKnobs, checked_query, checked_question
from core.model import Author, Evidence, Extractor, Hit, Page, Phase, Query
from core.ports import Ports
from core.run import Run
from core.stages.answer import answer
from core.stages.check import check
from core.stages.chunk import chunk
from core.stages.embed import embed
from core.stages.plan import plan
from core.stages.rank import rank, sources
from core.stages.read import read
from core.stages.rerank import rerank
from core.stages.search import search

NOT_WAITED_FOR = (
    "Not waited for: the deadline for pages had passed.",
    "A longer phase deadline waits for slow searches.",
)
"""What is said of a query that was not answered when reading ended, and what to do."""

T = TypeVar("T")
log = logging.getLogger(__name__)


async def research(
    question: str, knobs: Knobs, ports: Ports, listen: Listen | None = None, *, run_id: str | None = None
) -> Run:
    """Answer a question from the web, telling `listen` every step.

    The run that is returned has status done or failed; what went wrong is in it, not raised. Cancelling
    ends it as stopped, with everything it had.

    Raises:
        BadInput: when the question is empty or too long.
    """
    question = checked_question(question)
    journal = Journal(listen)
    tell = journal.tell
    tell(e.RunStarted(run_id or secrets.token_urlsafe(16), question, knobs, datetime.now(UTC).isoformat()))
    async with _ending(journal):
        queries = plan(question, knobs.plan, ports.chat, tell)
        hits = search(queries, knobs.search, ports.search, tell)
        pages = read(hits, knobs.read, ports.web, ports.extract, tell)
        await _weigh(journal, _last(journal, pages), ports)
        await _answer(journal, ports)
    return journal.run


async def retune(run: Run, knobs: Knobs, ports: Ports, listen: Listen | None = None) -> Run:
    """Rank the pages in hand under other knobs. Nothing is planned, searched, fetched or answered.

    Only texts that were never embedded before reach the embedder, and only when the passages change.
    """
    journal = Journal(listen, run)
    journal.tell(e.RunResumed(knobs))
    async with _ending(journal):
        if run.index is not None and knobs.chunk == run.knobs.chunk:
            await _rank(journal, ports, known=run.evidence)
        else:
            await _weigh(journal, _stream(run.ranked_pages), ports)
    return journal.run


async def embed_anew(run: Run, knobs: Knobs, ports: Ports, listen: Listen | None = None) -> Run:
    """Cut, embed and rank the pages in hand, whatever index the run has: for another embedder, say."""
    journal = Journal(listen, run)
    journal.tell(e.RunResumed(knobs))
    async with _ending(journal):
        await _weigh(journal, _stream(run.ranked_pages), ports)
    return journal.run


async def read_more(run: Run, keys: Iterable[str], ports: Ports, listen: Listen | None = None) -> Run:
    """Fetch hits that were skipped, and rank them with the pages in hand. No page that was read is fetched again.

    When none of them can be read, a note says so and the ranking stays as it was.
    """
    wanted = set(keys)
    hits = [hit for hit in run.hits if hit.key in wanted and not run.has_read(hit.key)]
    journal = Journal(listen, run)
    journal.tell(e.RunResumed(run.knobs))
    async with _ending(journal):
        await _read_also(journal, hits, run.knobs.read, ports)
    return journal.run


async def search_more(run: Run, text: str, ports: Ports, listen: Listen | None = None) -> Run:
    """Search one more query, written by a person, and rank its new pages with those in hand.

    No other query is searched and no page is fetched twice. When the search fails or none of the new pages
    can be read, a note says so and the ranking stays as it was.

    Raises:
        BadInput: as `added_query` does.
    """
    query = added_query(run, text)
    journal = Journal(listen, run)
    tell = journal.tell
    tell(e.RunResumed(run.knobs))
    async with _ending(journal):
        tell(e.QueryPlanned(query))
        try:
            found = await collected(search(_stream([query]), run.knobs.search, ports.search, tell))
        except SearchFailed as error:
            tell(e.Noted(Phase.SEARCH, f"“{query.text}”: {error.message}", error.hint))
        else:
            fresh = [hit for hit in found if all(hit.key != known.key for known in run.hits)]
            if not fresh:
                tell(e.Noted(Phase.SEARCH, f"“{query.text}” found no page that was not found before."))
            await _read_also(journal, fresh, run.knobs.read, ports)
    return journal.run


async def read_as(
    run: Run, key: str, extractor: Extractor, ports: Ports, listen: Listen | None = None
) -> Run:
    """Read one page by another extractor, and rank it with the other pages in hand.

    It is fetched again only when it was not kept. When that fails, a note says so and its text stays.
    """
    hits = [hit for hit in run.hits if hit.key == key]
    knobs = replace(run.knobs.read, extractor=extractor, fresh=False)
    journal = Journal(listen, run)
    journal.tell(e.RunResumed(run.knobs))
    async with _ending(journal):
        await _read_also(journal, hits, knobs, ports)
    return journal.run


def added_query(run: Run, text: str) -> Query:
    """A query that a person adds to a run.

    Raises:
        BadInput: when it is empty, too long, or was searched already.
    """
    query = Query(text=checked_query(text), author=Author.PERSON)
    if any(query.text.casefold() == known.text.casefold() for known in run.queries):
        raise BadInput("This query was searched already.", hint="Ask in other words.")
    return query


async def answer_again(
    run: Run, ports: Ports, listen: Listen | None = None, *, tuned: Run | None = None
) -> Run:
    """Answer once more, from the ranking of `tuned` when one is given. The earlier answer is kept beside it."""
    journal = Journal(listen, run)
    journal.tell(e.RunResumed((tuned or run).knobs))
    if tuned is not None and tuned.index is not None and tuned.evidence is not None:
        journal.tell(e.Indexed(tuned.index))
        journal.tell(e.Ranked(tuned.evidence))
    async with _ending(journal):
        await _answer(journal, ports)
    return journal.run


async def _last(journal: Journal, pages: AsyncGenerator[Page]) -> AsyncGenerator[Page]:
    """The pages, and after the last of them a word on what the end of reading left unfinished.

    Who stops a run knows that it is unfinished, so nothing is told then.
    """
    try:
        async with aclosing(pages):
            async for page in pages:
                yield page
    except ReadFailed:
        _let_go(journal)
        raise
    _let_go(journal)


def _let_go(journal: Journal) -> None:
    """Settle the planning and the searches that the deadline for pages has ended."""
    run, tell = journal.run, journal.tell
    for query in run.queries:
        if query not in run.replies and query not in run.search_faults:
            tell(e.SearchBroke(query, *NOT_WAITED_FOR))
    for phase in (Phase.PLAN, Phase.SEARCH):
        if phase in run.timeline.phases and run.timeline.phases[phase].end is None:
            tell(e.PhaseEnded(phase))


async def _read_also(journal: Journal, hits: Iterable[Hit], knobs: ReadKnobs, ports: Ports) -> None:
    """Read pages for a run that has ended, and rank them with those in hand.

    Snippets stand in only where a run has no page at all, and only then is it an error that none can be
    read; else a note says so, and nothing is ranked.
    """
    others = journal.run.pages
    bare = [replace(hit, snippet="") if others else hit for hit in hits]
    if not bare:
        return
    try:
        await collected(read(_stream(bare), knobs, ports.web, ports.extract, journal.tell))
    except ReadFailed as error:
        if not others:
            raise
        journal.tell(e.Noted(Phase.READ, error.message, error.hint))
    else:
        await _weigh(journal, _stream(journal.run.ranked_pages), ports)


async def _weigh(journal: Journal, pages: AsyncGenerator[Page], ports: Ports) -> None:
    """Pages become passages, passages an index, the index a ranking."""
    knobs, tell = journal.run.knobs, journal.tell
    passages = chunk(pages, knobs.chunk, tell)
    index = await embed(
        journal.run.question, passages, knobs.embed, ports.embed, tell, page_order=journal.page_order
    )
    tell(e.Indexed(index))
    await _rank(journal, ports)


async def _rank(journal: Journal, ports: Ports, known: Evidence | None = None) -> None:
    """`known` is an earlier ranking of the same index, whose reranking scores may serve again."""
    run, knobs = journal.run, journal.run.knobs.rank
    if run.index is None:
        return
    journal.tell(e.PhaseStarted(Phase.RANK))
    # Off the loop: the first use of BM25 imports its library and reads every passage.
    ranked = partial(rank, run.question, run.index, pages=run.pages)
    if not knobs.rerank:
        evidence = await asyncio.to_thread(ranked, knobs)
    else:
        first = await asyncio.to_thread(ranked, replace(knobs, diversity=0.0))
        scores = await rerank(run.question, run.index, first, ports.rerank, journal.tell, known)
        by = ports.rerank.identity if ports.rerank else ""
        evidence = await asyncio.to_thread(ranked, knobs, rerank=scores, reranker=by)
    journal.tell(e.Ranked(evidence))
    journal.tell(e.PhaseEnded(Phase.RANK))


async def _answer(journal: Journal, ports: Ports) -> None:
    run, tell = journal.run, journal.tell
    if run.index is None or run.evidence is None:
        return
    numbered = sources(run.evidence, run.index, run.pages)
    tell(e.SourcesChosen(numbered))
    try:
        text = await answer(run.question, numbered, run.knobs.answer, ports.chat, ports.embed, tell)
    except ChatFailed as error:
        if error.partial is not None:
            tell(e.Answered(error.partial))
            tell(e.Checked(check(error.partial.text, len(numbered))))
        raise
    tell(e.Answered(text))
    tell(e.PhaseStarted(Phase.CHECK))
    tell(e.Checked(check(text.text, len(numbered))))
    tell(e.PhaseEnded(Phase.CHECK))


def failure(error: BaseException) -> e.RunFailed:
    """What a person is told of an error. One that OpenQuery did not foresee is only logged in full."""
    if isinstance(error, OpenQueryError):
        return e.RunFailed(error.part, error.message, error.hint, error.exit_code)
    log.error("a run broke", exc_info=error)
    return e.RunFailed(
        "openquery",
        "Something inside OpenQuery went wrong.",
        "What was found so far is kept. The server's log has the details.",
    )


@asynccontextmanager
async def _ending(journal: Journal) -> AsyncIterator[None]:
    """Tell how the run ended, whichever way it did."""
    try:
        yield
    except asyncio.CancelledError:
        journal.tell(e.RunStopped())
        raise
    except Exception as error:
        journal.tell(failure(error))
    else:
        journal.tell(e.RunDone())


async def _stream(items: Iterable[T]) -> AsyncGenerator[T]:
    """The items, with a turn for everybody else after each: cutting many pages anew takes a while."""
    for item in items:
        yield item
        await asyncio.sleep(0)
