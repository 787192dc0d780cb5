"""What a data set holds and what a sweep over it will take, known before it starts."""

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.config.knobs import Knobs, Strategy
from core.evaluation.data_sets.data_set import DataSet
from core.text.sanitize import estimated_tokens

_DIMENSIONS = 384
"""Of the built-in embedder's vectors."""
_FILLED = 0.85
"""How full passages are on average, since they end with a sentence."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCost:
    """What a sweep will take. Texts, tokens and bytes are estimates."""

    settings: int
    rankings: int
    """Settings times questions that have an answer."""
    chunkings: int
    """Ways of cutting documents into passages."""
    texts: int
    """Passages and questions to embed, less what the vector cache has."""
    tokens: int
    """Of these texts."""
    reranked: int
    """Questions for which a reranking model is asked, over all settings."""
    memory: int
    """Bytes of the largest way of chunking: texts and vectors."""


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
    )


def sweep_cost(summary: DataSetSummary, tried: Sequence[Knobs]) -> SweepCost:
    """What these settings take over a data set of these counts."""
    answerable = summary.questions - summary.unanswerable
    passages = {
        knobs.chunk: max(
            summary.documents,
            round(summary.characters / (knobs.chunk.size * _FILLED * (1 - knobs.chunk.overlap / 100))),
        )
        for knobs in tried
    }
    embedded = {knobs.chunk for knobs in tried if knobs.rank.strategy is not Strategy.BM25}
    texts = sum(passages[chunk] for chunk in embedded)
    sizes = [
        passages[chunk] * chunk.size * _FILLED
        + (4 * _DIMENSIONS * passages[chunk] if chunk in embedded else 0)
        for chunk in passages
    ]
    return SweepCost(
        settings=len(tried),
        rankings=len(tried) * answerable,
        chunkings=len(passages),
        texts=texts + (summary.questions if embedded else 0),
        tokens=sum(estimated_tokens(round(passages[chunk] * chunk.size * _FILLED)) for chunk in embedded),
        reranked=sum(knobs.rank.rerank for knobs in tried) * answerable,
        memory=round(max(sizes, default=0)),
    )


def sampled(tried: Sequence[Knobs], count: int) -> tuple[Knobs, ...]:
    """A random sample of the settings in their order, the same each time; all when there are no more than `count`.
    The defaults stay, where they are among them."""
    if count >= len(tried):
        return tuple(tried)
    defaults = [place for place, knobs in enumerate(tried) if knobs == Knobs()]
    others = [place for place in range(len(tried)) if place not in defaults]
    chosen = defaults + random.Random(0).sample(others, max(count - len(defaults), 0))  # noqa: S311 - no secret
    return tuple(tried[place] for place in sorted(chosen))
