"""Embed the question and the passages while pages are still arriving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from core.config.knobs import EmbedKnobs
from core.errors import EmbedFailed
from core.model import Index, Passage, Phase, Severity
from core.ports import Embed
from core.run.events import BatchFailed, Embedded, EmbedStarted, Emit, Note, PhaseEnded, PhaseStarted
from core.stages.chunk import folded
from core.stages.embedding.batching import batched, vectors_of
from core.stages.embedding.cascade import EmbeddingPriority
from core.stages.embedding.vector_buffer import VectorBuffer, Vectors
from core.stages.time_budget import UNLIMITED, TimeBudget


async def embed(
    question: str,
    passages: AsyncGenerator[tuple[Passage, ...]],
    knobs: EmbedKnobs,
    port: Embed,
    emit: Emit,
    *,
    page_order: Callable[[str], int],
    first: EmbeddingPriority | None = None,
    budget: TimeBudget = UNLIMITED,
    on_arrival: Callable[[Index], Awaitable[None]] | None = None,
    on_stop: Callable[[Index], None] | None = None,
) -> Index:
    """Embed passages into a sorted index as they arrive.

    The index is sorted by `page_order(page key)` and offset, with identical texts folded. The question is sent at once,
    and passages as they arrive. A call has at most `knobs.batch` texts (and `port.batch`), and at most
    `knobs.in_flight` calls run at a time. The index does not depend on the order of arrival. `page_order` is first
    called after the last page.

    A call that fails, or has not returned when its time in `budget` is over, loses its passages, which is reported.
    Without the question's vector, or without any passage's, the index has no vectors, and a note says that only words
    are used for ranking.

    Args:
        question: the question to answer.
        passages: the passages, a page at a time.
        knobs: size and number of the calls.
        port: the embedder.
        emit: called with every event.
        page_order: the position of a page in the index.
        first: chooses the passages that are embedded before the index is returned. The others wait. It is called before
            each call, and finally with the passages of the index, so that the choice does not depend on the order of
            arrival. None: no passage waits.
        budget: the time of the run.
        on_arrival: awaited after the last passage has arrived, with an index of all passages without vectors, while they
            are embedded.
        on_stop: called when the work is cancelled, with the index so far, if a passage has arrived. Passages without a
            vector are in `not_embedded`. If none has a vector, the index has all passages without vectors.
    """
    question_vector = asyncio.create_task(vectors_of(port, [question], emit, budget))
    work = _Work(question=question, port=port, emit=emit, question_vector=question_vector, budget=budget)

    async def arriving() -> AsyncGenerator[tuple[Passage, ...]]:
        async with aclosing(passages):
            async for some in passages:
                if not work.passages and some:
                    emit(PhaseStarted(Phase.EMBED))  # until then it waits for queries and pages
                work.passages.extend(some)
                yield some
        if on_arrival:
            await on_arrival(_without_vectors(work, page_order))

    try:
        size = min(knobs.batch, port.batch)
        if first:
            await _best_first(arriving(), work, first, size, page_order)
        else:
            await batched(arriving(), work.batch, size=size, at_once=knobs.in_flight)
        await asyncio.wait([question_vector])
    except asyncio.CancelledError:
        if on_stop and work.passages:
            on_stop(_index_so_far(work, page_order))
        raise
    finally:
        question_vector.cancel()
        await asyncio.gather(question_vector, return_exceptions=True)
    index = _index(work, page_order)
    if work.passages:
        emit(PhaseEnded(Phase.EMBED))
    return index


@dataclass(slots=True, kw_only=True)
class _Work:
    """The state of the phase: embedded passages and failures."""

    question: str
    port: Embed
    emit: Emit
    question_vector: asyncio.Task[tuple[Vectors, int]]
    budget: TimeBudget
    passages: list[Passage] = field(default_factory=list)
    first: list[Passage] | None = None
    """The passages of the last choice. None: no choice was made."""
    sent: set[str] = field(default_factory=set)
    """Texts of chosen passages."""
    in_hand: tuple[Passage, ...] = ()
    """The passages that the last choice was made from."""
    complete: bool = False
    """Whether `in_hand` has all passages of the index."""
    known: VectorBuffer = field(default_factory=VectorBuffer)
    fault: EmbedFailed | None = None
    numbers: count[int] = field(default_factory=lambda: count(1))

    async def chosen(self, first: EmbeddingPriority, size: int) -> tuple[Passage, ...]:
        """Choose at most `size` passages to embed next. The result is empty when all chosen passages were sent."""
        rows = await asyncio.to_thread(first.rows, self.in_hand, self.complete)
        self.first = [self.in_hand[row] for row in rows.tolist()]
        new = tuple(passage for passage in self.first if passage.text not in self.sent)[:size]
        self.sent.update(passage.text for passage in new)
        return new

    async def batch(self, passages: tuple[Passage, ...]) -> None:
        """Embed a batch. A failure is emitted, not raised."""
        if _failed(self.question_vector):
            return  # without the question's vector no other vector is useful
        number = next(self.numbers)
        fresh = [
            text for text in dict.fromkeys(passage.text for passage in passages) if text not in self.known
        ]
        self.emit(EmbedStarted(number, len(passages)))
        try:
            reused = len(passages) - len(fresh)
            vectors, cached = await vectors_of(self.port, fresh, self.emit, self.budget, number)
            reused += cached
            question = (await asyncio.shield(self.question_vector))[0][0]
            if fresh:
                self._keep(fresh, vectors, len(question))
            rows = self.known.of([passage.text for passage in passages])
            cosine = tuple(round(float(score), 4) for score in np.vecdot(rows, question))
        except EmbedFailed as fault:
            self.fault = fault
            self.emit(BatchFailed(number, len(passages), fault.message, fault.hint))
        else:
            self.emit(Embedded(number, tuple(passage.id for passage in passages), cosine, reused))

    def _keep(self, texts: Sequence[str], vectors: Vectors, width: int) -> None:
        if vectors.shape[1] != width:
            raise EmbedFailed(
                f"{self.port.identity} gave vectors of different widths.",
                hint="Use an embedding model that always answers with the same number of dimensions.",
            )
        self.known.add(texts, vectors)


async def _best_first(
    arrivals: AsyncGenerator[tuple[Passage, ...]],
    work: _Work,
    first: EmbeddingPriority,
    size: int,
    page_order: Callable[[str], int],
) -> None:
    """Embed the passages that `first` chooses, best first.

    Each call takes the best passages at its start. While pages are missing, only full calls are made.
    """
    arrived, choosing = asyncio.Event(), asyncio.Lock()

    async def arrive() -> None:
        try:
            async for _ in arrivals:
                arrived.set()
        finally:
            arrived.set()

    arriving = asyncio.create_task(arrive())

    async def next_call() -> tuple[Passage, ...]:
        """Choose the passages of the next call. The result is empty when all chosen passages were sent."""
        while True:
            arrived.clear()
            if not work.complete and arriving.done():
                arriving.result()
                work.in_hand, work.complete = folded(_ordered(work, page_order)), True
            if not work.complete:
                if first.early_budget() < len(work.sent) + size:
                    await arrived.wait()
                    continue
                work.in_hand = tuple(work.passages)
            if (chosen := await work.chosen(first, size)) or work.complete:
                return chosen
            if not arriving.done():
                await arrived.wait()

    async def embed_best() -> None:
        while True:
            async with choosing:
                chosen = await next_call()
            if not chosen:
                return
            await work.batch(chosen)

    # Two calls, so that the embedder has work while one call makes its choice.
    calls = [asyncio.create_task(embed_best()) for _ in range(2)]
    try:
        await asyncio.gather(*calls)
    finally:
        for task in (arriving, *calls):
            task.cancel()
        await asyncio.gather(arriving, *calls, return_exceptions=True)


def _ordered(work: _Work, page_order: Callable[[str], int]) -> list[Passage]:
    places = {passage.place.page: page_order(passage.place.page) for passage in work.passages}
    return sorted(
        work.passages,
        key=lambda passage: (places[passage.place.page], passage.place.page, passage.place.start),
    )


def _without_vectors(work: _Work, page_order: Callable[[str], int]) -> Index:
    passages = folded(_ordered(work, page_order))
    return Index(passages=passages, vectors=None, question=None, embedder=work.port.identity)


def _index_so_far(work: _Work, page_order: Callable[[str], int]) -> Index:
    """Build the index of cancelled work. It has the passages with a vector, or all passages if none has one."""
    has_question_vector = (
        work.question_vector.done()
        and not work.question_vector.cancelled()
        and work.question_vector.exception() is None
    )
    if has_question_vector and work.known:
        return _with_vectors(work, page_order)
    return _without_vectors(work, page_order)


def _index(work: _Work, page_order: Callable[[str], int]) -> Index:
    fault = _failed(work.question_vector) or (work.fault if work.passages and not work.known else None)
    if fault:
        ranked = f"{fault.message} Passages are ranked by BM25 only."
        work.emit(Note(Phase.EMBED, ranked, fault.hint, Severity.WARNING))
        return _without_vectors(work, page_order)
    return _with_vectors(work, page_order)


def _with_vectors(work: _Work, page_order: Callable[[str], int]) -> Index:
    """Build the index with one contiguous read-only matrix. Passages that were not chosen have no vector yet."""
    ordered = _ordered(work, page_order)
    question = work.question_vector.result()[0][0]
    first = None if work.first is None else {passage.text for passage in work.first}
    failed = {text for passage in ordered if (text := passage.text) not in work.known}
    if first is not None:
        failed &= first
    # If no passage is lost, reuse the tuple of the last choice: its BM25 index is cached.
    in_index = (
        folded(passage for passage in ordered if passage.text not in failed)
        if failed or not work.complete
        else work.in_hand
    )
    not_embedded = folded(passage for passage in ordered if passage.text in failed)
    chosen = [row for row, passage in enumerate(in_index) if first is None or passage.text in first]
    texts = [in_index[row].text for row in chosen]
    vectors = work.known.take_matrix(texts) if texts else np.empty((0, len(question)), dtype=np.float32)
    if len(chosen) < len(in_index):
        embedded, vectors = vectors, np.full((len(in_index), len(question)), np.nan, dtype=np.float32)
        vectors[chosen] = embedded
        vectors.flags.writeable = False
    question.flags.writeable = False
    return Index(
        passages=in_index,
        vectors=vectors,
        question=question,
        embedder=work.port.identity,
        not_embedded=not_embedded,
        embedder_languages=tuple(sorted(work.port.languages)),
    )


def _failed(question_vector: asyncio.Task[tuple[Vectors, int]]) -> EmbedFailed | None:
    if (
        question_vector.done()
        and not question_vector.cancelled()
        and isinstance(fault := question_vector.exception(), EmbedFailed)
    ):
        return fault
    return None
