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
from core.model import Page, Phase, Ranking
from core.ports import Ports
from core.run import events as e
from core.run.recorder import Listener, Recorder
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
    "Skipped: the deadline for pages had passed.",
    "A longer phase deadline waits for slow searches.",
)
"""What is said of a query that was not answered when reading ended, and what to do."""

log = logging.getLogger(__name__)


async def research(
    question: str, knobs: Knobs, ports: Ports, listen: Listener | None = None, *, run_id: str | None = None
) -> Run:
    """Answer a question from the web, telling `listen` every step.

    The run that is returned has status done or failed; what went wrong is in it, not raised. Cancelling
    ends it as stopped, with everything it had.

    Raises:
        BadInput: when the question is empty or too long.
    """
    question = checked_question(question)
    recorder = Recorder(listen)
    emit = recorder.emit
    emit(e.RunStarted(run_id or secrets.token_urlsafe(16), question, knobs, datetime.now(UTC).isoformat()))
    async with ending(recorder):
        queries = plan(question, knobs.plan, ports.chat, emit)
        hits = search(queries, knobs.search, ports.search, emit)
        pages = read(hits, knobs.read, ports.web, ports.extract, emit)
        await index_and_rank(recorder, _last(recorder, pages), ports)
        await write(recorder, ports)
    return recorder.run


async def index_and_rank(recorder: Recorder, pages: AsyncGenerator[Page], ports: Ports) -> None:
    """Pages become passages, passages an index, the index a ranking."""
    knobs, emit = recorder.run.knobs, recorder.emit
    passages = chunk(pages, knobs.chunk, emit)
    index = await embed(
        recorder.run.question, passages, knobs.embed, ports.embed, emit, page_order=recorder.page_order
    )
    emit(e.Indexed(index))
    await rank_index(recorder, ports)


async def rank_index(recorder: Recorder, ports: Ports, known: Ranking | None = None) -> None:
    """The index becomes a ranking; reranking scores of `known`, an earlier one of this index, may serve again."""
    run, knobs = recorder.run, recorder.run.knobs.rank
    if run.index is None:
        return
    recorder.emit(e.PhaseStarted(Phase.RANK))
    # Off the loop: the first use of BM25 imports its library and reads every passage.
    ranked = partial(rank, run.question, run.index, pages=run.pages)
    if not knobs.rerank:
        ranking = await asyncio.to_thread(ranked, knobs)
    else:
        first = await asyncio.to_thread(ranked, replace(knobs, diversity=0.0))
        scores = await rerank(run.question, run.index, first, ports.rerank, recorder.emit, known)
        by = ports.rerank.identity if ports.rerank else ""
        ranking = await asyncio.to_thread(ranked, knobs, rerank=scores, reranker=by)
    recorder.emit(e.Ranked(ranking))
    recorder.emit(e.PhaseEnded(Phase.RANK))


async def write(recorder: Recorder, ports: Ports) -> None:
    """The context becomes numbered sources, and an answer whose citations are checked."""
    run, emit = recorder.run, recorder.emit
    if run.index is None or run.ranking is None:
        return
    numbered = sources(run.ranking, run.index, run.pages)
    emit(e.SourcesChosen(numbered))
    try:
        text = await answer(run.question, numbered, run.knobs.answer, ports.chat, ports.embed, emit)
    except ChatFailed as error:
        if error.partial is not None:
            emit(e.Answered(error.partial))
            emit(e.Checked(check(error.partial.text, len(numbered))))
        raise
    emit(e.Answered(text))
    emit(e.PhaseStarted(Phase.CHECK))
    emit(e.Checked(check(text.text, len(numbered))))
    emit(e.PhaseEnded(Phase.CHECK))


async def _last(recorder: Recorder, pages: AsyncGenerator[Page]) -> AsyncGenerator[Page]:
    """The pages, and after the last of them a word on what the end of reading left unfinished.

    Who stops a run knows that it is unfinished, so nothing is told then.
    """
    try:
        async with aclosing(pages):
            async for page in pages:
                yield page
    except ReadFailed:
        _let_go(recorder)
        raise
    _let_go(recorder)


def _let_go(recorder: Recorder) -> None:
    """Settle the planning and the searches that the deadline for pages has ended."""
    run, emit = recorder.run, recorder.emit
    for query in run.queries:
        if query not in run.replies and query not in run.search_faults:
            emit(e.QueryFailed(query, *NOT_WAITED_FOR))
    for phase in (Phase.PLAN, Phase.SEARCH):
        if phase in run.timeline.phases and run.timeline.phases[phase].end is None:
            emit(e.PhaseEnded(phase))


def failure(error: BaseException) -> e.RunFailed:
    """What a person is told of an error. One that OpenQuery did not foresee is only logged in full."""
    if isinstance(error, OpenQueryError):
        return e.RunFailed(error.part, error.message, error.hint, error.exit_code)
    log.error("a run broke", exc_info=error)
    return e.RunFailed(
        "openquery",
        "Something inside OpenQuery went wrong.",
        "The results so far are stored; the server's log has the details.",
    )


@asynccontextmanager
async def ending(recorder: Recorder) -> AsyncIterator[None]:
    """Tell how the run ended, whichever way it did."""
    try:
        yield
    except asyncio.CancelledError:
        recorder.emit(e.RunStopped())
        raise
    except Exception as error:
        recorder.emit(failure(error))
    else:
        recorder.emit(e.RunDone())
