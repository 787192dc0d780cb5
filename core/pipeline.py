"""What OpenQuery does, on one screen.

Stages are chained streams: each takes what the one before it yields, as it is yielded, so a page is being
fetched while other queries are still being written, and embedded while other pages are still on their way.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from core.config.knobs import Knobs, checked_question
from core.errors import ChatFailed, OpenQueryError, ReadFailed
from core.model import Evidence, Page, Phase
from core.ports import Ports
from core.run import events as e
from core.run.recorder import Journal, Listen
from core.run.state import Run
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
    async with ending(journal):
        queries = plan(question, knobs.plan, ports.chat, tell)
        hits = search(queries, knobs.search, ports.search, tell)
        pages = read(hits, knobs.read, ports.web, ports.extract, tell)
        await weigh(journal, _last(journal, pages), ports)
        await write(journal, ports)
    return journal.run


async def weigh(journal: Journal, pages: AsyncGenerator[Page], ports: Ports) -> None:
    """Pages become passages, passages an index, the index a ranking."""
    knobs, tell = journal.run.knobs, journal.tell
    passages = chunk(pages, knobs.chunk, tell)
    index = await embed(
        journal.run.question, passages, knobs.embed, ports.embed, tell, page_order=journal.page_order
    )
    tell(e.Indexed(index))
    await order(journal, ports)


async def order(journal: Journal, ports: Ports, known: Evidence | None = None) -> None:
    """The index becomes a ranking; reranking scores of `known`, an earlier one of this index, may serve again."""
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


async def write(journal: Journal, ports: Ports) -> None:
    """The context becomes numbered sources, and an answer whose citations are checked."""
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
async def ending(journal: Journal) -> AsyncIterator[None]:
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
