"""The phases of a run composed: passages found, an index ranked, an answer written and checked."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from core.config.knobs import Knobs, Strategy
from core.model import Index, Page, Phase, Ranking, source_numbers
from core.ports import Ports
from core.run import events as e
from core.run.recorder import Recorder
from core.stages.answer import AnswerBrokeOff, answer
from core.stages.check import check
from core.stages.chunk import chunk
from core.stages.conversation.pages_in_hand import unread, with_pages_in_hand
from core.stages.egress import admitted_history, admitted_reranking, admitted_sources, embeddable_pages
from core.stages.embed import embed
from core.stages.partial_results import written_so_far
from core.stages.plan import plan
from core.stages.rank import sources
from core.stages.read import read
from core.stages.rerank import rank_and_rerank
from core.stages.search import search
from core.stages.spending import Spending
from core.stages.time_budget import UNLIMITED, TimeBudget


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
            history=admitted_history(run.turn.history, chat, ports, emit) if run.turn else (),
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
