"""Counts of a data set, and the estimated cost of a sweep over it."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from cachetools import LRUCache, cached

from core.config.knobs import ChunkKnobs, Knobs, RankKnobs, Strategy
from core.config.memory import machine_memory
from core.config.prices import Prices
from core.config.schema import ordering_knobs
from core.features.evaluate.data_sets.corpus import document_pages, document_passages
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.metrics.retrieval_metrics import measure_ranking
from core.model import Index, Passage, Usage
from core.ports import Embed, Rerank
from core.stages.rank import rank
from core.text.sanitize import estimated_tokens

SAMPLE_CHARACTERS = 200_000
"""The number of characters of documents that an estimate samples.

A small data set is sampled completely.
"""
_DIMENSIONS = 1536
"""Assumed dimensions of an embedder's vectors before any is known."""
_TIMED_TEXTS, _TIMED_DIMENSIONS = 16, 384
_RERANK_SECONDS = 0.5
"""Assumed seconds per call of a reranking model, with four concurrent calls."""
_RANGE = 0.7, 1.6
"""The least and greatest time of a sweep, as factors of the estimate, because the machine's other load is unknown."""

Cached = Callable[[Sequence[str]], Awaitable[tuple[int, int]]]
"""Returns how many of the texts have a cached vector, and its dimensions or 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetSummary:
    """The counts of a data set."""

    documents: int
    characters: int
    questions: int
    unanswerable: int
    """Questions without a relevant document, which no mean counts."""
    relevant: Mapping[int, int]
    """The number of questions by their number of relevant documents."""
    digest: str
    """SHA-256 of documents and questions in their order, in hexadecimal."""
    warnings: tuple[str, ...]
    sample: tuple[CorpusDocument, ...] = ()
    """The first documents, for estimates."""
    question: Question | None = None
    """An answerable question of the data set."""


def summarize(data: DataSet) -> DataSetSummary:
    """Count a data set, reading it if unchecked.

    Raises:
        BadInput: when a document cannot be used.
    """
    contents = data.contents()
    digest = hashlib.sha256(contents.digest.encode())
    for question in data.questions:
        digest.update(
            f"{question.id}\0{question.text}\0{sorted(question.judgements.items())}\0{question.excerpts}\0".encode(
                errors="surrogatepass"
            )
        )
    relevant = Counter(
        sum(grade > 0 for grade in question.judgements.values()) for question in data.questions
    )
    return DataSetSummary(
        documents=contents.documents,
        characters=contents.characters,
        questions=len(data.questions),
        unanswerable=relevant[0],
        relevant=dict(sorted(relevant.items())),
        digest=digest.hexdigest(),
        warnings=data.warnings,
        sample=tuple(_first(data.documents())),
        question=next((question for question in data.questions if question.answerable), None),
    )


def _first(documents: Iterable[CorpusDocument]) -> Iterator[CorpusDocument]:
    """Yield the first documents, of about `SAMPLE_CHARACTERS` characters together."""
    characters_left = SAMPLE_CHARACTERS
    for document in documents:
        yield document
        characters_left -= len(document.text)
        if characters_left <= 0:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCost:
    """The estimated cost of a sweep, from a sample of its documents."""

    settings: int
    rankings: int
    """Settings times answerable questions."""
    chunkings: int
    """The number of chunkings."""
    texts: int
    """Passages and questions to embed."""
    new: int
    """Texts without a cached vector."""
    tokens: int
    """Tokens of the new texts and of the pairs to rerank."""
    pairs: int
    """Pairs of question and passage for the reranking model."""
    calls: int
    """Calls of the reranking model."""
    dollars: float | None
    """US dollars by the price table, or None if a price is unknown."""
    memory: int
    """Bytes of texts and vectors of the largest chunking."""
    machine_memory: int
    """Bytes of this machine's memory."""
    seconds: Mapping[str, float]
    """Seconds by activity: `chunk`, `embed`, `rerank`, `rank`.

    The local model and the rankings are timed on this machine.
    """

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and greatest expected seconds."""
        total = sum(self.seconds.values())
        return _RANGE[0] * total, _RANGE[1] * total


_embedder_timings: LRUCache[str, tuple[int, float]] = LRUCache(64)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepModels:
    """The models, prices and workers of a sweep."""

    embed: Embed
    cached: Cached
    rerank: Rerank | None
    prices: Prices
    workers: int = 1
    """The number of ranking processes."""


async def sweep_cost(summary: DataSetSummary, tried: Sequence[Knobs], models: SweepModels) -> SweepCost:
    """Estimate the cost of settings over a data set.

    The first call for a chunking cuts the sample into passages. A local embedder embeds a few of its texts once.

    Raises:
        EmbedFailed: when the local embedder cannot be loaded.
    """
    answerable = summary.questions - summary.unanswerable
    sample = DataSet(name="", questions=(), documents=lambda: iter(summary.sample))
    scale = summary.characters / max(sum(len(document.text) for document in summary.sample), 1)
    embedded = {knobs.chunk for knobs in tried if knobs.rank.strategy is not Strategy.BM25}
    passages: dict[ChunkKnobs, float] = {}
    texts = new = characters = dimensions = 0
    largest = 0.0
    seconds = dict.fromkeys(("chunk", "embed", "rerank", "rank"), 0.0)
    unknown: list[str] = []
    for chunk in dict.fromkeys(knobs.chunk for knobs in tried):
        cut, cut_seconds = await asyncio.to_thread(_cut, summary.digest, sample, chunk)
        passages[chunk] = len(cut) * scale
        seconds["chunk"] += cut_seconds * scale
        if chunk in embedded:
            contents = [passage.text for passage in cut]
            known, width = await models.cached(contents)
            dimensions = dimensions or width
            fresh = (len(contents) - known) * scale
            texts, new = texts + round(passages[chunk]), new + round(fresh)
            characters += round(fresh * sum(map(len, contents)) / max(len(contents), 1))
            if known < len(contents):
                unknown = contents
        largest = max(
            largest, passages[chunk] * (4 * (dimensions or _DIMENSIONS) * (chunk in embedded) + chunk.size)
        )
    if unknown and not models.embed.host:
        dimensions, each = await _time_embedder(models.embed, unknown)
        seconds["embed"] = characters * each
    if embedded:  # the questions, cached about as often as the passages
        new += round(summary.questions * new / max(texts, 1))
        texts += summary.questions
    for (chunk, strategy), count in Counter((knobs.chunk, knobs.rank.strategy) for knobs in tried).items():
        each = await asyncio.to_thread(_time_ranking, summary, sample, chunk, strategy)
        seconds["rank"] += each * scale * count * answerable / models.workers
    # Settings with the same order before reranking share its scores.
    depth = models.rerank.depth if models.rerank else 0
    reranked = {
        (knobs.chunk, replace(ordering_knobs(knobs.rank), diversity=0.0)): min(
            depth, round(passages[knobs.chunk])
        )
        for knobs in tried
        if knobs.rank.rerank
    }
    pairs, calls = sum(reranked.values()) * answerable, len(reranked) * answerable
    seconds["rerank"] = calls * _RERANK_SECONDS / 4
    pair_tokens = (
        sum(estimated_tokens(chunk.size) * count for (chunk, *_), count in reranked.items()) * answerable
    )
    billed = [(models.embed.identity if models.embed.host else "", estimated_tokens(characters))]
    billed.append((models.rerank.identity if models.rerank else "", pair_tokens))
    return SweepCost(
        settings=len(tried),
        rankings=len(tried) * answerable,
        chunkings=len(passages),
        texts=texts,
        new=new,
        tokens=sum(tokens for _, tokens in billed),
        pairs=pairs,
        calls=calls,
        dollars=_dollars(billed, models.prices),
        memory=round(largest + summary.characters),
        machine_memory=machine_memory(),
        seconds=seconds,
    )


def _dollars(billed: Iterable[tuple[str, int]], prices: Prices) -> float | None:
    """Return the price of reading the tokens, by model identity, or None if unknown.

    An empty identity is a model of this process.
    """
    dollars = 0.0
    for identity, tokens in billed:
        if identity and tokens:
            price = prices.price(identity)
            if price is None:
                return None
            dollars += price.of(Usage(prompt_tokens=tokens, completion_tokens=0)).dollars
    return dollars


@cached(LRUCache(64), key=lambda digest, sample, chunk: (digest, chunk))
def _cut(digest: str, sample: DataSet, chunk: ChunkKnobs) -> tuple[tuple[Passage, ...], float]:
    """Return the passages of the sample for a chunking, and the seconds, computed once."""
    pages, began = document_pages(sample), time.thread_time()
    return document_passages(pages, chunk), time.thread_time() - began


async def _time_embedder(embed: Embed, texts: Sequence[str]) -> tuple[int, float]:
    """Return the dimensions of a local embedder and its seconds per character, timed once."""
    if embed.identity not in _embedder_timings:
        await embed(texts[:1])  # which loads the model
        began = time.perf_counter()
        vectors = (await embed(texts[:_TIMED_TEXTS])).vectors
        each = (time.perf_counter() - began) / max(sum(map(len, texts[:_TIMED_TEXTS])), 1)
        _embedder_timings[embed.identity] = vectors.shape[1], each
    return _embedder_timings[embed.identity]


@cached(LRUCache(256), key=lambda summary, sample, chunk, strategy: (summary.digest, chunk, strategy))
def _time_ranking(summary: DataSetSummary, sample: DataSet, chunk: ChunkKnobs, strategy: Strategy) -> float:
    """Return the seconds to rank the sample for a question and measure it, timed once."""
    passages, pages = _cut(summary.digest, sample, chunk)[0], document_pages(sample)
    vectors = np.zeros((len(passages), _TIMED_DIMENSIONS), np.float32)
    index = Index(passages=passages, vectors=vectors, question=vectors[0], embedder="")
    question = summary.question or Question(id="", text="")
    knobs = RankKnobs(strategy=strategy)
    seconds = 0.0
    for _ in range(2):  # the first reads every passage, which settings share
        began = time.thread_time()
        measure_ranking(question, index, rank(question.text, index, knobs, pages), pages, knobs)
        seconds = time.thread_time() - began
    return seconds
