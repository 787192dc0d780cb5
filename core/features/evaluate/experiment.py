"""Experiments: the same questions under several settings, with the product's own chunking and ranking.

Texts are embedded once for each chunking, for all ranking settings. A question that fails is reported with its reason
and left out of means and comparisons.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from pydantic import FiniteFloat

from core.adapters.workers.jobs import Shared, Workers, run_job
from core.config.knobs import ChunkKnobs, Knobs, RankKnobs, Strategy
from core.errors import EmbedFailed, OpenQueryError
from core.features.evaluate.data_sets.corpus import Corpus, Vectors, build_corpus, document_pages
from core.features.evaluate.data_sets.data_set import DataSet, Question
from core.features.evaluate.experiment_state import SweepPhase, SweepProgress
from core.features.evaluate.failing_ports import StrictRerank, WatchedEmbed, require_reranker
from core.features.evaluate.metrics.retrieval_metrics import measure_ranking, ranked_documents
from core.features.evaluate.sweep import fewest_changes_first, name_of
from core.model import Index
from core.ports import Embed, Rerank
from core.stages.rank import rank
from core.stages.rerank import rank_and_rerank
from core.stages.streams import collected, map_in_order, stream

_QUESTIONS_TOGETHER = 64
_QUESTIONS_A_JOB = 64
"""Large enough that sending a job costs a hundredth of its time, small enough that a lost worker costs seconds."""
_HELD_BYTES = 256_000_000
"""Memory for passages and vectors that further settings of the same chunking need."""
_RERANKED_TOGETHER = 4
"""Questions that the reranking model scores concurrently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The metrics of one setting over all questions."""

    setting: str
    """The changes from the defaults, such as `chunk.size:300 rank.strategy:bm25`, or `defaults`."""
    values: Mapping[str, Mapping[str, FiniteFloat]]
    """The metrics of each answerable question, by question id."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """The reasons why questions have no metrics, by question id."""
    passages: int = 0
    seconds: float = 0.0
    """CPU seconds of ranking and measuring, without the shared chunking and embedding.

    With a reranking model: elapsed seconds, including waits for the model.
    """

    @property
    def seconds_a_question(self) -> float:
        """The mean of `seconds` over the measured questions."""
        return self.seconds / max(len(self.values), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """The questions, and by text the vector of each or the reason why it has none."""

    questions: tuple[Question, ...]
    vectors: Mapping[str, Vectors | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialResult:
    """The metrics of some questions under one setting."""

    values: Mapping[str, Mapping[str, float]]
    failed: Mapping[str, str]
    seconds: float
    rankings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The first documents of each question, best first."""


OnRankings = Callable[[str, Mapping[str, Sequence[str]]], None]
"""Called with a setting and its `PartialResult.rankings` before its result is yielded."""


async def run_experiment(
    data: DataSet,
    tried: Sequence[Knobs],
    embed: Embed,
    workers: Workers,
    *,
    rerank: Rerank | None = None,
    done: Collection[str] = (),
    progress: SweepProgress | None = None,
    on_rankings: OnRankings = lambda setting, rankings: None,
) -> AsyncGenerator[Result]:
    """Yield one result for each setting as it is computed. Settings that change one knob come first.

    Documents are chunked and embedded here, one chunking after another. Meanwhile the workers rank and measure the
    settings of the previous chunking, some questions per job. Results and their order are the same with any workers.
    Settings with a reranking model are ranked here, which calls the model. The embedder is not called if all settings
    rank by BM25. `done` are the names of settings to skip.

    Raises:
        BadInput: when a document of the data set cannot be used, or there is no reranking model for a setting.
        EmbedFailed: when passages cannot be embedded: a ranking of the rest would measure something else.
        WorkersFailed: when the workers cannot be reached any more, or the same work ends one after another.
    """
    remaining = [knobs for knobs in tried if name_of(knobs) not in done]
    require_reranker(remaining, rerank)
    reranker = StrictRerank(rerank) if rerank else None
    progress = progress or SweepProgress()
    answerable = sum(question.answerable for question in data.questions)
    progress.begin(total=len(tried) * answerable, done=(len(tried) - len(remaining)) * answerable)
    embed = WatchedEmbed(embed, progress)
    vectors = await _question_vectors(data.questions, embed) if any(map(_by_vectors, remaining)) else {}
    question_set = Shared(QuestionSet(questions=data.questions, vectors=vectors))
    jobs = math.ceil(len(data.questions) / _QUESTIONS_A_JOB)

    async def result_of(item: tuple[Knobs, Shared[Corpus]]) -> Result:
        knobs, corpus = item
        if reranker and knobs.rank.rerank:
            parts = await _reranked_parts(knobs, corpus.value, question_set.value, reranker, progress)
        else:
            parts = await _parts(knobs, corpus, question_set, workers, progress)
        on_rankings(name_of(knobs), {name: ids for part in parts for name, ids in part.rankings.items()})
        return _joined(knobs, corpus.value, parts)

    with_corpora = _with_corpora(data, remaining, embed, workers.count, progress)
    # Enough settings that no worker waits for the last job of a setting.
    at_once = 1 + math.ceil(workers.count / max(jobs, 1))
    async with aclosing(map_in_order(with_corpora, result_of, at_once=at_once)) as results:
        async for result in results:
            yield result


def _by_vectors(knobs: Knobs) -> bool:
    return knobs.rank.strategy is not Strategy.BM25


async def _with_corpora(
    data: DataSet, tried: Sequence[Knobs], embed: Embed, at_once: int, progress: SweepProgress
) -> AsyncGenerator[tuple[Knobs, Shared[Corpus]]]:
    """Yield each setting with its passages, which settings of one chunking share.

    Passages stay in memory for later settings, up to `_HELD_BYTES`. Passages beyond the limit are chunked and embedded
    again, with vectors from the embedder's cache.
    """
    pages = await asyncio.to_thread(document_pages, data) if tried else {}
    characters = sum(len(page.text) for page in pages.values())
    by_vectors = {knobs.chunk for knobs in tried if _by_vectors(knobs)}
    estimates = {chunk: characters / max(chunk.size - chunk.overlap, 1) for chunk in by_vectors}
    ratio, left = 1.0, Counter(knobs.chunk for knobs in tried)
    held: dict[ChunkKnobs, Shared[Corpus]] = {}
    progress.plan_texts(sum(estimates.values()))
    for knobs in fewest_changes_first(tried):
        chunk = knobs.chunk
        if chunk not in held:
            _make_room(held)
            progress.enter(SweepPhase.EMBED)
            corpus = await build_corpus(pages, chunk, embed, vectors=chunk in by_vectors, at_once=at_once)
            held[chunk] = Shared(corpus)
            if estimate := estimates.pop(chunk, 0.0):
                ratio = len(corpus.passages) / estimate
            progress.plan_texts(ratio * sum(estimates.values()))
            progress.enter(SweepPhase.RANK)
        shared = held[chunk]
        left[chunk] -= 1
        if not left[chunk]:
            del held[chunk]
        yield knobs, shared


def _make_room(held: dict[ChunkKnobs, Shared[Corpus]]) -> None:
    """Drop the largest passages, until `_HELD_BYTES` suffices."""
    sizes = {chunk: _size(shared.value) for chunk, shared in held.items()}
    while sum(sizes.values()) > _HELD_BYTES:
        largest = max(sizes, key=lambda chunk: sizes[chunk])
        del held[largest], sizes[largest]


def _size(corpus: Corpus) -> int:
    vectors = 0 if corpus.vectors is None else corpus.vectors.nbytes
    return vectors + sum(len(passage.text) for passage in corpus.passages)


async def _question_vectors(questions: Sequence[Question], embed: Embed) -> dict[str, Vectors | str]:
    """Return the vector of each question, by text, or the reason why it has none.

    A failed call is repeated for each text alone.
    """
    texts = list(dict.fromkeys(question.text for question in questions))
    vectors: dict[str, Vectors | str] = {}
    for start in range(0, len(texts), _QUESTIONS_TOGETHER):
        some = texts[start : start + _QUESTIONS_TOGETHER]
        try:
            vectors.update(zip(some, (await embed(some)).vectors, strict=True))
        except EmbedFailed:
            for text in some:
                try:
                    vectors[text] = (await embed([text])).vectors[0]
                except EmbedFailed as error:
                    vectors[text] = str(error)
    return vectors


async def _parts(
    knobs: Knobs,
    corpus: Shared[Corpus],
    question_set: Shared[QuestionSet],
    workers: Workers,
    progress: SweepProgress,
) -> Sequence[PartialResult]:
    async def job(start: int) -> PartialResult:
        part = await run_job(workers, _rank_some, knobs.rank, corpus, question_set, start)
        progress.questions += len(part.values) + len(part.failed)
        return part

    starts = range(0, len(question_set.value.questions), _QUESTIONS_A_JOB)
    return await asyncio.gather(*map(job, starts))


async def _reranked_parts(
    knobs: Knobs, corpus: Corpus, question_set: QuestionSet, reranker: Rerank, progress: SweepProgress
) -> Sequence[PartialResult]:
    """Return the parts of the result of a setting with the reranking model, some questions at a time."""

    async def measure(question: Question) -> PartialResult:
        progress.questions += 1
        began = time.monotonic()
        index = _index(question, corpus, question_set, knobs.rank)
        if isinstance(index, str):
            return PartialResult(values={}, failed={question.id: index}, seconds=0.0)
        try:
            ranking = await rank_and_rerank(
                question.text, index, knobs.rank, corpus.pages, reranker, lambda event: None
            )
        except OpenQueryError as error:
            return PartialResult(
                values={}, failed={question.id: str(error)}, seconds=time.monotonic() - began
            )
        values = measure_ranking(question, index, ranking, corpus.pages, knobs.rank)
        return PartialResult(
            values={question.id: values},
            failed={},
            seconds=time.monotonic() - began,
            rankings={question.id: ranked_documents(index, ranking)},
        )

    answerable = stream(question for question in question_set.questions if question.answerable)
    return await collected(map_in_order(answerable, measure, at_once=_RERANKED_TOGETHER))


def _joined(knobs: Knobs, corpus: Corpus, parts: Sequence[PartialResult]) -> Result:
    return Result(
        setting=name_of(knobs),
        values={name: values for part in parts for name, values in part.values.items()},
        failed={name: why for part in parts for name, why in part.failed.items()},
        passages=len(corpus.passages),
        seconds=sum(part.seconds for part in parts),
    )


def _rank_some(knobs: RankKnobs, corpus: Corpus, question_set: QuestionSet, start: int) -> PartialResult:
    """Rank and measure some questions, in a worker."""
    began = time.thread_time()
    values: dict[str, dict[str, float]] = {}
    failed: dict[str, str] = {}
    rankings: dict[str, list[str]] = {}
    for question in question_set.questions[start : start + _QUESTIONS_A_JOB]:
        index = _index(question, corpus, question_set, knobs)
        if isinstance(index, str):
            failed[question.id] = index
        elif question.answerable:
            ranking = rank(question.text, index, knobs, corpus.pages)
            values[question.id] = measure_ranking(question, index, ranking, corpus.pages, knobs)
            rankings[question.id] = ranked_documents(index, ranking)
    return PartialResult(values=values, failed=failed, seconds=time.thread_time() - began, rankings=rankings)


def _index(question: Question, corpus: Corpus, question_set: QuestionSet, knobs: RankKnobs) -> Index | str:
    """Return the passages with the question's vector, or why a needed vector is missing."""
    vector = question_set.vectors.get(question.text)
    if isinstance(vector, str) and knobs.strategy is not Strategy.BM25:
        return vector
    return corpus.index(None if isinstance(vector, str) else vector)
