"""Measure whether known passages cover a question, or whether new pages are needed."""

import asyncio
import re
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from core.errors import EmbedFailed
from core.model import Index, Phase
from core.ports import Embed
from core.run.events import Emit
from core.stages.metered_models import MeteredEmbed
from core.stages.ranking.bm25 import bm25_index
from core.stages.ranking.calibration import calibration_of
from core.text.bm25_index import inverse_document_frequency, tokens
from core.text.content_words import content_words
from core.text.language import dominant_language

ENOUGH_COVERAGE = 0.55
"""The minimum coverage for answering from known passages. Decision 0057 has the figures."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TermCoverage:
    """A content word of the question in its spelling, and the number of passages with it."""

    term: str
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How well an index covers a question."""

    value: float
    """The coverage from 0 to 1."""
    terms: tuple[TermCoverage, ...] = ()
    note: str = ""
    """The reason why only words were compared, for the screen, or "" if similarities were used too."""
    vector: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    """The question's vector, comparable with those of the index. None if only words were compared."""

    @property
    def enough(self) -> bool:
        """Whether the coverage suffices to answer without a new search."""
        return self.value >= ENOUGH_COVERAGE


def coverage(question: str, index: Index) -> Coverage:
    """Measure how well the best passage covers a question.

        coverage = max over passages of (held + similarity) / 2

    `held` is the share of the question's content words in the passage, compared by stems. Each word is weighted by its
    inverse document frequency among the passages, so that a rare or missing name weighs most. `similarity` is the
    calibrated cosine of passage and question. Without vectors, coverage is `held` alone. Without content words, it is
    the similarity.

    Args:
        question: a standalone question.
        index: the passages. `index.question` is the vector of this question or None, not another question's.
    """
    by_words = bm25_index(index.passages)
    passages = len(index.passages)
    language = dominant_language([question]) or by_words.language
    terms = content_words(question, language)
    holding = [by_words.texts_with(tokens(term, by_words.language)) for term in terms]
    counts = [int(np.count_nonzero(rows)) for rows in holding]
    weights = np.array([inverse_document_frequency(count, passages) for count in counts])
    parts = []
    if terms:
        parts.append(weights @ np.array(holding) / weights.sum())
    if index.vectors is not None and index.question is not None:
        similarity = calibration_of(index.embedder).similarity
        parts.append(np.array([similarity(cosine) for cosine in (index.vectors @ index.question).tolist()]))
    written = {word.casefold(): word for word in _WORD.findall(question)}
    return Coverage(
        value=float(np.mean(parts, axis=0).max()) if parts and passages else 0.0,
        terms=tuple(
            TermCoverage(term=written.get(term, term), passages=count)
            for term, count in zip(terms, counts, strict=True)
        ),
    )


async def embedded_coverage(question: str, index: Index, embed: Embed, emit: Emit) -> Coverage:
    """Measure `coverage` with the question's own vector.

    The vector is used if the index has vectors of this embedder. Otherwise a note gives the reason. The cost of the
    call is reported to `emit`. Never raises `EmbedFailed`.
    """
    vector, note = None, "The passages have no vectors, so coverage is by words alone."
    if index.vectors is not None and index.embedder != embed.identity:
        note = f"The passages were embedded by {index.embedder}, so coverage is by words alone."
    elif index.vectors is not None:
        try:
            vector = (await MeteredEmbed(embed, Phase.PLAN, emit)([question])).vectors[0]
            note = ""
        except EmbedFailed as error:
            note = f"The question could not be embedded, so coverage is by words alone: {error}"
    # In a thread: a large index without a ranking takes a while.
    measured = await asyncio.to_thread(coverage, question, replace(index, question=vector))
    return replace(measured, note=note, vector=vector)
