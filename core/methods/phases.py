"""Phases of a run: find passages, rank an index, write and check an answer."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from core.config.knobs import Strategy
from core.methods.filling import embed_candidates
from core.methods.run_context import RunContext
from core.model import (
    NO_CLIENT,
    Answer,
    AnswerFrom,
    Index,
    Page,
    Passage,
    Phase,
    Ranking,
    Rows,
    Source,
    source_numbers,
)
from core.run import events as e
from core.run.recorder import Recorder
from core.run.state import Run
from core.run.transitions import index_event
from core.stages.answer import AnswerBrokeOff, answer
from core.stages.check import check
from core.stages.chunk import chunk
from core.stages.conversation.known_pages import unread, with_known_pages
from core.stages.egress import admitted_history, admitted_reranking, admitted_sources, embeddable_pages
from core.stages.embedding.cascade import EmbeddingPriority, cascades, early_budget, initial_rows
from core.stages.embedding.language_choice import embed_in_one_space
from core.stages.partial_results import written_so_far
from core.stages.plan import plan
from core.stages.rank import require_texts, sources
from core.stages.read import read
from core.stages.rerank import rank_and_rerank
from core.stages.run_budget import RunBudget
from core.stages.search import opens_addresses, search
from core.stages.streams import stream
from core.stages.time_budget import UNLIMITED
from core.text.urls import addresses_in

MOST_ADDRESSES = 3
"""The most pages that a question can name."""


async def find_passages(context: RunContext, queries: Sequence[str] = ()) -> None:
    """Search, read the pages, and rank their passages.

    Queries are written unless `queries` are given. Known pages are not fetched again, and are ranked with the new
    pages. A note reports if no new page can be read. A follow-up answered from known pages searches nothing.
    """
    knobs, ports, emit, run = context.knobs, context.ports, context.emit, context.run
    if run.turn and run.turn.answer_from is AnswerFrom.PAGES:
        await index_and_rank(context, stream(run.ranked_pages))
        return
    planned = plan(context.question, knobs.plan, ports.chat, emit, queries, addresses=_named_pages(context))
    hits = search(planned, knobs.search, ports.search, emit)
    pages = read(unread(hits, run), knobs.read, ports.web, ports.extract, emit, context.budget)
    await index_and_rank(context, with_known_pages(context.recorder, pages))


def _named_pages(context: RunContext) -> tuple[str, ...]:
    """Return the addresses in the question as a person wrote it, if they are to be opened. A note tells why not.

    More addresses than `MOST_ADDRESSES` are a part of a pasted text.
    """
    turn = context.run.turn
    addresses = addresses_in(turn.written if turn else context.question)
    reason = ""
    if len(addresses) > MOST_ADDRESSES:
        reason = f"a question can name {MOST_ADDRESSES}, and this has {len(addresses)}"
    elif not opens_addresses(context.knobs.search):
        reason = "the web is not searched"
    if addresses and reason:
        context.emit(e.Note(Phase.PLAN, f"Pages at addresses in the question were not read: {reason}."))
    return () if reason else addresses


async def index_and_rank(context: RunContext, pages: AsyncGenerator[Page]) -> None:
    """Chunk the pages, embed and rank their passages.

    If the run had an index and BM25 alone ranks, this does not wait for vectors: passages are ranked after chunking,
    and again with their vectors. A cancelled run without an index keeps an index of the passages embedded so far. Any
    other run keeps its index.
    """
    knobs, ports, recorder = context.knobs, context.ports, context.recorder
    run, emit = recorder.run, recorder.emit
    in_parts = cascades(knobs.embed, knobs.rank, ports.embed)

    async def rank_without_vectors(index: Index) -> None:
        emit(e.Indexed(index))
        await rank_index(replace(context, budget=UNLIMITED))

    passages = chunk(embeddable_pages(pages, ports), knobs.chunk, ports.embed, emit)
    index = await embed_in_one_space(
        context.question,
        passages,
        knobs.embed,
        ports,
        emit,
        pages=lambda: recorder.run.pages,
        page_order=recorder.page_order,
        first=_first_embedded(context.question, recorder) if in_parts else None,
        budget=context.budget,
        on_arrival=rank_without_vectors
        if run.index and knobs.rank.strategy is Strategy.BM25 and not in_parts
        else None,
        on_stop=None if run.index else lambda partial_index: emit(index_event(partial_index)),
    )
    if recorder.run.index is run.index:
        emit(index_event(index))
        await rank_index(context)
    else:
        await rank_index(context, index, recorder.run.ranking)


def _first_embedded(question: str, recorder: Recorder) -> EmbeddingPriority:
    """Return the passages to embed first, with a limit. It applies while pages are missing."""

    def rows(passages: tuple[Passage, ...], complete: bool) -> Rows:
        return initial_rows(question, passages, recorder.run.pages, keep=complete)

    return EmbeddingPriority(rows, lambda: early_budget(recorder.run))


async def rank_index(
    context: RunContext, other: Index | None = None, previous: Ranking | None = None
) -> None:
    """Rank the run's index, or an index replacing it.

    Waiting passages of the run's index that can enter the context are embedded first. Reranking scores of `previous`,
    an earlier ranking of the same passages, are reused.
    """
    ports, emit = context.ports, context.emit
    if other is None:
        await embed_candidates(context)
    run = context.run
    index = other or run.index
    assert index is not None  # noqa: S101  # the run has an index, or receives it
    emit(e.PhaseStarted(Phase.RANK))
    admitted = admitted_reranking(context.knobs.rank, index, ports, run.notes, emit)
    ranking = await rank_and_rerank(
        context.question, index, admitted, run.pages, ports.rerank, emit, previous
    )
    if other is not None:
        emit(e.Indexed(other))
    emit(e.Ranked(ranking))
    emit(e.PhaseEnded(Phase.RANK))


async def answer_and_check(context: RunContext, *, note: str = "") -> None:
    """Number the sources, write the answer, and check citations.

    A `note` on the answer is recorded before its first word.
    """
    emit = context.emit
    if context.run.ranking is None:
        return
    numbered = numbered_sources(context.run)
    emit(e.SourcesChosen(numbered, embedded_ids(context.run)))
    if note:
        emit(e.Note(Phase.ANSWER, note))
    try:
        text = await answer_from(context, numbered)
    except AnswerBrokeOff as error:
        emit(e.Answered(error.partial))
        emit(e.Checked(check(error.partial.text, source_numbers(numbered))))
        raise
    except asyncio.CancelledError:
        if partial := written_so_far(context.run, context.ports.chat):
            emit(e.Answered(partial))
            emit(e.Checked(check(partial.text, source_numbers(numbered))))
        raise
    answered_and_checked(text, numbered, context.recorder)


def embedded_ids(run: Run) -> tuple[str, ...]:
    """Return ids of the embedded passages. Without waiting passages the result is empty."""
    if run.index is None or not len(run.index.waiting):
        return ()
    waiting = set(run.index.waiting.tolist())
    return tuple(passage.id for row, passage in enumerate(run.index.passages) if row not in waiting)


def numbered_sources(run: Run) -> tuple[Source, ...]:
    """Return the numbered sources of the run's ranking.

    Numbered passages keep their numbers. Raises `BadInput` if texts of the passages are missing.
    """
    if run.index is None or run.ranking is None:
        return ()
    require_texts([run.index.passages[row] for row in run.ranking.context], run.pages)
    return sources(run.ranking, run.index, run.pages, run.knobs.rank, run.numbers)


async def answer_from(context: RunContext, numbered: Sequence[Source]) -> Answer:
    """Answer from allowed sources, within the run's budget.

    Raises the errors of `core.stages.answer.answer`.
    """
    knobs, ports, run, emit = context.knobs, context.ports, context.run, context.emit
    admitted, chat = admitted_sources(numbered, ports, emit)
    return await answer(
        context.question,
        admitted,
        knobs.answer,
        chat,
        ports.embedder_of(run.index),
        emit,
        history=admitted_history(run.turn.history, chat, ports, emit) if run.turn else (),
        client=run.client or NO_CLIENT,
        answers=ports.answers,
        budget=context.budget,
        run_budget=RunBudget(knobs=knobs.run, prices=ports.prices, run=run, since=run.before),
        quote=ports.quote,
    )


def answered_and_checked(text: Answer, numbered: Sequence[Source], recorder: Recorder) -> None:
    """Record the answer, and check its citations."""
    emit = recorder.emit
    emit(e.Answered(text))
    emit(e.PhaseStarted(Phase.CHECK))
    emit(e.Checked(check(text.text, source_numbers(numbered))))
    emit(e.PhaseEnded(Phase.CHECK))
