"""What a data set holds and what a sweep over it will take, known before it starts."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache, cached

from core.config.knobs import ChunkKnobs, Knobs, RankKnobs, Strategy
from core.config.memory import machine_memory
from core.config.prices import Prices
from core.evaluation.data_sets.corpus import document_pages, document_passages
from core.evaluation.data_sets.data_set import CorpusDocument, DataSet, Question
from core.evaluation.metrics.retrieval_metrics import measure_ranking
from core.model import Index, Passage, Usage
from core.ports import Embed, Rerank
from core.stages.rank import rank
from core.text.sanitize import estimated_tokens

SAMPLE_CHARACTERS = 200_000
"""Of the documents that a sweep is estimated by; they are all of a small data set."""
_DIMENSIONS = 1536
"""Of an embedder's vectors, while none of them is known."""
_TIMED_TEXTS, _TIMED_DIMENSIONS = 16, 384
_RERANK_SECONDS = 0.5
"""Of a call of a reranking model, of which four are under way, while nothing is known about it."""
_RANGE = 0.7, 1.6
"""What a sweep takes at least and at most, by its estimate: other work of the machine is not known."""

Cached = Callable[[Sequence[str]], Awaitable[tuple[int, int]]]
"""How many of these texts have a cached vector, and its dimensions; 0 where none has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetSummary:
    """The counts of a data set."""

    documents: int
    characters: int
    questions: int
    unanswerable: int
    """Questions without a relevant document, which are in no mean."""
    relevant: Mapping[int, int]
    """How many questions have so many relevant documents."""
    digest: str
    """SHA-256 of documents and questions in their order, in hexadecimal."""
    warnings: tuple[str, ...]
    sample: tuple[CorpusDocument, ...] = ()
    """Its first documents, which a sweep is estimated by."""
    question: Question | None = None
    """One of its questions with an answer."""


def summarize(data: DataSet) -> DataSetSummary:
    """Count a data set; one that was not checked is read for it.

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
    """The first documents, of about `SAMPLE_CHARACTERS` characters together."""
    characters_left = SAMPLE_CHARACTERS
    for document in documents:
        yield document
        characters_left -= len(document.text)
        if characters_left <= 0:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCost:
    """What a sweep will take, estimated by some of its documents, which are all of a small data set."""

    settings: int
    rankings: int
    """Settings times questions that have an answer."""
    chunkings: int
    """Ways of cutting documents into passages."""
    texts: int
    """Passages and questions to embed."""
    new: int
    """Of these, those without a cached vector."""
    tokens: int
    """Of the new texts, and of the pairs to rerank."""
    pairs: int
    """Of question and passage that the reranking model scores."""
    calls: int
    """Of the reranking model."""
    dollars: float | None
    """US dollars by the price table; None where a price is unknown."""
    memory: int
    """Bytes of the largest way of chunking: texts and vectors."""
    machine_memory: int
    """Bytes that this machine has."""
    seconds: Mapping[str, float]
    """By what is done: `chunk`, `embed`, `rerank`, `rank`. The local model and the rankings are timed on this machine."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The seconds that it takes at least and at most."""
        total = sum(self.seconds.values())
        return _RANGE[0] * total, _RANGE[1] * total


_embedder_timings: LRUCache[str, tuple[int, float]] = LRUCache(64)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepModels:
    """What a sweep asks, and what that costs."""

    embed: Embed
    cached: Cached
    rerank: Rerank | None
    prices: Prices
    workers: int = 1
    """Processes that rank."""


async def sweep_cost(summary: DataSetSummary, tried: Sequence[Knobs], models: SweepModels) -> SweepCost:
    """What these settings take over a data set of these counts. The first call for a way of chunking cuts the sample up;
    a local embedder embeds a few of its texts once.

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
    if embedded:  # the questions, of which about as many are cached
        new += round(summary.questions * new / max(texts, 1))
        texts += summary.questions
    for (chunk, strategy), count in Counter((knobs.chunk, knobs.rank.strategy) for knobs in tried).items():
        each = await asyncio.to_thread(_time_ranking, summary, sample, chunk, strategy)
        seconds["rank"] += each * scale * count * answerable / models.workers
    # Settings that differ in what is done with a ranking share its scores.
    depth = models.rerank.depth if models.rerank else 0
    reranked = {
        (knobs.chunk, knobs.rank.strategy, knobs.rank.cosine_weight): min(depth, round(passages[knobs.chunk]))
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
    """What reading so many tokens costs, by the identities of models; an empty one is a model of this process."""
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
    """The passages of the sample by one way of chunking, and the seconds that this took; computed once."""
    pages, began = document_pages(sample), time.thread_time()
    return document_passages(pages, chunk), time.thread_time() - began


async def _time_embedder(embed: Embed, texts: Sequence[str]) -> tuple[int, float]:
    """The dimensions of a local embedder's vectors, and the seconds that a character takes, timed once."""
    if embed.identity not in _embedder_timings:
        await embed(texts[:1])  # which loads the model
        began = time.perf_counter()
        vectors = (await embed(texts[:_TIMED_TEXTS])).vectors
        each = (time.perf_counter() - began) / max(sum(map(len, texts[:_TIMED_TEXTS])), 1)
        _embedder_timings[embed.identity] = vectors.shape[1], each
    return _embedder_timings[embed.identity]


@cached(LRUCache(256), key=lambda summary, sample, chunk, strategy: (summary.digest, chunk, strategy))
def _time_ranking(summary: DataSetSummary, sample: DataSet, chunk: ChunkKnobs, strategy: Strategy) -> float:
    """The seconds that ranking the sample for a question and measuring it takes, timed once."""
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
