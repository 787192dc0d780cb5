"""The pipeline: plan, search, read, chunk, embed, rank, answer, check.

Stages are chained streams: each consumes what the one before it yields, as it is yielded. A page is fetched while
further queries are still being written, and embedded while other pages are still downloading.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from core.config.knobs import Knobs, Strategy
from core.config.questions import checked_queries, checked_question
from core.config.run_knobs import Method
from core.errors import (
    INTERNAL_ERROR,
    INTERNAL_ERROR_HINT,
    BadInput,
    OpenQueryError,
)
from core.model import (
    AnswerFrom,
    Index,
    Page,
    Phase,
    Ranking,
    Turn,
    source_numbers,
)
from core.ports import Ports
from core.run import events as e
from core.run.recorder import Listener, Recorder
from core.run.state import Run
from core.stages.answer import AnswerBrokeOff, answer
from core.stages.check import check
from core.stages.chunk import chunk
from core.stages.conversation.pages_in_hand import add_pages_in_hand, unread, with_pages_in_hand
from core.stages.egress import admitted_reranking, admitted_sources, embeddable_pages
from core.stages.embed import embed
from core.stages.partial_results import rank_so_far, written_so_far
from core.stages.plan import plan
from core.stages.rank import sources
from core.stages.read import read
from core.stages.rerank import rank_and_rerank
from core.stages.search import search
from core.stages.spending import Spending
from core.stages.streams import stream
from core.stages.time_budget import UNLIMITED, TimeBudget

log = logging.getLogger(__name__)


async def research(
    question: str,
    knobs: Knobs,
    ports: Ports,
    listen: Listener | None = None,
    *,
    queries: Sequence[str] = (),
    run_id: str | None = None,
    budget: TimeBudget = UNLIMITED,
    turn: Turn | None = None,
    earlier: Run | None = None,
) -> Run:
    """Answer a question from the web.

    Args:
        question: what to answer.
        knobs: the settings of the run.
        ports: search, web, extraction, models.
        listen: called with every event and the run after it.
        queries: what to search for, up to 10 texts, in place of queries of the chat model.
        run_id: the id of the run; a random one when None.
        budget: the time after which the run answers with what it has.
        turn: of a follow-up question: its place in a conversation.
        earlier: the run before it, whose pages are in hand.

    Returns:
        The run with status done or failed. Errors are in it, not raised. A cancelled run has status stopped:
        what it has embedded so far is ranked, and what it has written is a partial answer. All of its events
        have gone to `listen`.

    Raises:
        BadInput: when the question or a query is empty or too long, or there are too many queries.
    """
    question, queries = checked_question(question), checked_queries(queries)
    if knobs.run.time_budget:
        budget = min(budget, TimeBudget(knobs.run.time_budget), key=lambda limit: limit.left)
    recorder = Recorder(listen)
    recorder.emit(_run_started(question, knobs, run_id, turn))
    async with run_outcome(recorder):
        if knobs.run.method is not Method.PIPELINE:
            raise BadInput(f"The method {knobs.run.method} is not there yet.", hint="Choose pipeline.")
        if turn and earlier and turn.answer_from is not AnswerFrom.SEARCH:
            add_pages_in_hand(earlier, recorder)
        if turn and turn.answer_from is AnswerFrom.PAGES:
            await index_and_rank(question, stream(recorder.run.ranked_pages), knobs, ports, recorder, budget)
        else:
            await find_passages(question, knobs, ports, recorder, budget, queries)
        await answer_and_check(question, knobs, ports, recorder, budget)
    return recorder.run


async def retrieve(
    question: str,
    knobs: Knobs,
    ports: Ports,
    listen: Listener | None = None,
    *,
    queries: Sequence[str] = (),
) -> Run:
    """Find the sources for a question, and write no answer. The chat model writes queries only, and none where some are given.

    Takes, returns and raises what `research` does.
    """
    question, queries = checked_question(question), checked_queries(queries)
    recorder = Recorder(listen)
    recorder.emit(_run_started(question, knobs))
    async with run_outcome(recorder):
        await find_passages(question, knobs, ports, recorder, queries=queries)
        run = recorder.run
        if run.index and run.ranking:
            recorder.emit(e.SourcesChosen(sources(run.ranking, run.index, run.pages, knobs.rank)))
    return recorder.run


def _run_started(
    question: str, knobs: Knobs, run_id: str | None = None, turn: Turn | None = None
) -> e.RunStarted:
    now = datetime.now(UTC).isoformat()
    return e.RunStarted(run_id or secrets.token_urlsafe(16), question, knobs, now, turn)


async def find_passages(  # noqa: PLR0917  # what a run is made of, in one order
    question: str,
    knobs: Knobs,
    ports: Ports,
    recorder: Recorder,
    budget: TimeBudget = UNLIMITED,
    queries: Sequence[str] = (),
) -> None:
    """Write queries unless some are given, search them, read the pages, and rank their passages.

    Pages that the run has already are not fetched again, and are ranked with the new ones. When no new one can be
    read, a note says so.
    """
    emit = recorder.emit
    planned = plan(question, knobs.plan, ports.chat, emit, queries)
    hits = search(planned, knobs.search, ports.search, emit)
    pages = read(unread(hits, recorder.run), knobs.read, ports.web, ports.extract, emit, budget)
    await index_and_rank(question, with_pages_in_hand(recorder, pages), knobs, ports, recorder, budget)


async def index_and_rank(  # noqa: PLR0917
    question: str,
    pages: AsyncGenerator[Page],
    knobs: Knobs,
    ports: Ports,
    recorder: Recorder,
    budget: TimeBudget = UNLIMITED,
) -> None:
    """Chunk the pages, embed the passages, and rank the index.

    Where the run had an index and BM25 alone ranks, this does not wait for vectors: the passages are ranked
    when they are chunked, and once more with their vectors. A run without an index that is cancelled keeps one
    of what was embedded by then; any other keeps the one it had.
    """
    run, emit = recorder.run, recorder.emit

    async def rank_without_vectors(index: Index) -> None:
        emit(e.Indexed(index))
        await rank_index(question, index, knobs, ports, recorder)

    passages = chunk(embeddable_pages(pages, ports), knobs.chunk, ports.embed, emit)
    index = await embed(
        question,
        passages,
        knobs.embed,
        ports.embed,
        emit,
        page_order=recorder.page_order,
        budget=budget,
        on_arrival=rank_without_vectors if run.index and knobs.rank.strategy is Strategy.BM25 else None,
        on_stop=None if run.index else lambda partial_index: emit(e.Indexed(partial_index)),
    )
    if recorder.run.index is run.index:
        emit(e.Indexed(index))
        await rank_index(question, index, knobs, ports, recorder)
    else:
        await rank_index(question, index, knobs, ports, recorder, previous=recorder.run.ranking)


async def rank_index(  # noqa: PLR0917
    question: str,
    index: Index,
    knobs: Knobs,
    ports: Ports,
    recorder: Recorder,
    previous: Ranking | None = None,
) -> None:
    """Rank an index: that of the run, or another one, which takes its place once it is ranked.

    Reranking scores of `previous`, an earlier ranking of the same passages, are reused.
    """
    run, emit = recorder.run, recorder.emit
    emit(e.PhaseStarted(Phase.RANK))
    admitted = admitted_reranking(knobs.rank, index, ports, run.notes, emit)
    ranking = await rank_and_rerank(question, index, admitted, run.pages, ports.rerank, emit, previous)
    if index is not run.index:
        emit(e.Indexed(index))
    emit(e.Ranked(ranking))
    emit(e.PhaseEnded(Phase.RANK))


async def answer_and_check(
    question: str, knobs: Knobs, ports: Ports, recorder: Recorder, budget: TimeBudget = UNLIMITED
) -> None:
    """Number the sources of the run's ranking, write the answer from them, and check its citations."""
    run, emit = recorder.run, recorder.emit
    if run.index is None or run.ranking is None:
        return
    numbered = sources(run.ranking, run.index, run.pages, knobs.rank, run.numbers)
    emit(e.SourcesChosen(numbered))
    admitted, chat = admitted_sources(numbered, ports, emit)
    try:
        text = await answer(
            question,
            admitted,
            knobs.answer,
            chat,
            ports.embed,
            emit,
            history=run.turn.history if run.turn else (),
            answers=ports.answers,
            budget=budget,
            spending=Spending(knobs=knobs.run, prices=ports.prices, run=recorder.run, since=run.before),
        )
    except AnswerBrokeOff as error:
        emit(e.Answered(error.partial))
        emit(e.Checked(check(error.partial.text, source_numbers(numbered))))
        raise
    except asyncio.CancelledError:
        if partial := written_so_far(recorder.run, chat):
            emit(e.Answered(partial))
            emit(e.Checked(check(partial.text, source_numbers(numbered))))
        raise
    emit(e.Answered(text))
    emit(e.PhaseStarted(Phase.CHECK))
    emit(e.Checked(check(text.text, source_numbers(numbered))))
    emit(e.PhaseEnded(Phase.CHECK))


def failure(error: BaseException) -> e.RunFailed:
    """The event for an error. The details of an unexpected one go to the log only."""
    if isinstance(error, OpenQueryError):
        return e.RunFailed(error.part, error.message, error.hint, error.exit_code)
    log.error("a run failed", exc_info=error)
    return e.RunFailed(
        "openquery",
        INTERNAL_ERROR,
        f"What was found so far is kept. {INTERNAL_ERROR_HINT}",
    )


@asynccontextmanager
async def run_outcome(recorder: Recorder) -> AsyncIterator[None]:
    """Emit how the run ended: done, stopped or failed. What a stopped run has embedded is ranked first."""
    try:
        yield
    except asyncio.CancelledError:
        try:
            await rank_so_far(recorder.run, recorder.emit)
        finally:
            recorder.emit(e.RunStopped())
        raise
    except Exception as error:
        recorder.emit(failure(error))
    else:
        recorder.emit(e.RunDone())
