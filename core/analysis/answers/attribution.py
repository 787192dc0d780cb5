"""Attribution: similarity of each answer sentence to each source, with the numbers, dates and names they share.

Similarity is not entailment. Measured with the local embedder on 750 pairs of claims and sentences judged by
people: a cosine below .40 have 7 % of supporting sentences, 92 % of sentences about another subject, and 25 %
of sentences on the subject that say nothing about the claim; refuting sentences are as similar as supporting
ones. A low similarity is worth a look, and a high one proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from core.analysis.answers.named_facts import NamedFacts, missing_numbers, named_facts
from core.analysis.embedding_map.text_vectors import Vectors, embed_texts
from core.analysis.rankings.null_distribution import UNRELATED_QUESTIONS
from core.errors import EmbedFailed
from core.model import AnswerKind, Sentence, Source
from core.ports import Embed
from core.run.state import Run
from core.stages.check import check
from core.text.lexicon import tokens
from core.text.sentences import sentences

SIMILAR = 0.38
"""The minimum similarity of a supporting sentence, on a scale from 0 (unrelated sentences) to 1 (equal ones)."""

SIMILAR_BY_WORDS = 0.3
"""The minimum share of a sentence's words in its source, where there are no vectors."""


class Flag(StrEnum):
    """A possible attribution error."""

    NO_CITATION = "cites no source"
    DISSIMILAR = "no similar sentence in the cited sources"
    NUMBERS = "numbers not in the cited sources"
    ELSEWHERE = "a source that is not cited is much more similar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One sentence of the answer against one source.

    `source.passage.text[start:end]` is the source's most similar sentence. Numbers and names are looked up
    in its whole passage and title.
    """

    source: int
    """The source's number."""
    similarity: float
    start: int
    end: int
    cited: bool
    shared_names: tuple[str, ...]
    shared_numbers: tuple[str, ...]
    missing_numbers: tuple[str, ...]
    """Numbers and dates of the sentence that the source does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of the answer with a cell for each source, in the order of their numbers."""

    sentence: Sentence
    text: str
    """Without its citation marks."""
    cells: tuple[Cell, ...]
    unknown_numbers: tuple[str, ...]
    """Numbers and dates that no source it cites has; where it cites none, that no source has."""
    flags: tuple[Flag, ...]

    @property
    def best(self) -> Cell | None:
        return max(self.cells, key=lambda cell: cell.similarity, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """All claims. `limit` is the similarity from which a cell counts as similar.

    `measure` is "cosine", or "words" (the share of the claim's words) when embedding failed with `fault`.
    """

    claims: tuple[Claim, ...]
    sources: tuple[Source, ...]
    measure: str
    limit: float
    fault: str = ""

    @property
    def summary(self) -> AttributionSummary:
        cited = [claim for claim in self.claims if claim.sentence.cites]
        return AttributionSummary(
            sentences=len(self.claims),
            cited=len(cited),
            similar=sum(Flag.DISSIMILAR not in claim.flags for claim in cited),
            sources=len(self.sources),
            used=len({number for claim in cited for number in claim.sentence.cites}),
            unknown_numbers=sum(len(claim.unknown_numbers) for claim in self.claims),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionSummary:
    """`similar` counts cited sentences with a similar sentence in a source they cite."""

    sentences: int
    cited: int
    similar: int
    sources: int
    used: int
    unknown_numbers: int


async def attribution(run: Run, embed: Embed) -> Attribution:
    """Compare the answer's sentences with the sources it was written from, with one call to the embedder.

    When the embedder fails, words are compared instead. An answer that reports nothing found has no claims.
    """
    nothing_found = run.answer is not None and run.answer.kind is AnswerKind.NOTHING
    claims = () if nothing_found else run.check.sentences
    texts = [_bare(run.text[sentence.start : sentence.end]) for sentence in claims]
    places = [
        (column, start, end)
        for column, source in enumerate(run.sources)
        for start, end in sentences(source.passage.text)
    ]
    quoted = [run.sources[column].passage.text[start:end] for column, start, end in places]
    fault = ""
    try:
        vectors = (
            await embed_texts([*texts, *quoted, *UNRELATED_QUESTIONS], embed) if texts and quoted else None
        )
    except EmbedFailed as error:
        vectors, fault = None, str(error)
    if vectors is None:
        similar, limit, measure = _by_words(texts, quoted), SIMILAR_BY_WORDS, "words"
    else:
        own, theirs, unrelated = np.split(vectors, [len(texts), len(texts) + len(quoted)])
        similar, measure = np.clip(own @ theirs.T, -1, 1), "cosine"
        base = float((own @ unrelated.T).mean())
        limit = base + SIMILAR * (1 - base)
    known = [named_facts(f"{source.title}\n{source.passage.text}") for source in run.sources]
    found = [
        _claim(sentence, text, similar[row], places, run.sources, known, limit)
        for row, (sentence, text) in enumerate(zip(claims, texts, strict=True))
    ]
    return Attribution(claims=tuple(found), sources=run.sources, measure=measure, limit=limit, fault=fault)


def _claim(  # noqa: PLR0917  # one call, by name of its arguments
    sentence: Sentence,
    text: str,
    similar: Vectors,
    places: Sequence[tuple[int, int, int]],
    sources: Sequence[Source],
    known: Sequence[NamedFacts],
    limit: float,
) -> Claim:
    best: dict[int, tuple[float, int, int]] = {}
    for value, (column, start, end) in zip(similar.tolist(), places, strict=True):
        if column not in best or value > best[column][0]:
            best[column] = value, start, end
    own = named_facts(text)
    cells = []
    for column, source in enumerate(sources):
        value, start, end = best.get(column, (0.0, 0, 0))
        missing = missing_numbers(own, known[column])
        cells.append(
            Cell(
                source=source.number,
                similarity=value,
                start=start,
                end=end,
                cited=source.number in sentence.cites,
                shared_names=tuple(sorted(own.names & known[column].names)),
                shared_numbers=tuple(sorted((own.numbers | own.dates) - missing)),
                missing_numbers=tuple(sorted(missing)),
            )
        )
    judged = [cell for cell in cells if cell.cited] or cells
    unknown = sorted(
        number for number in own.numbers | own.dates if all(number in cell.missing_numbers for cell in judged)
    )
    flags = _flags(cells, unknown=bool(unknown), limit=limit)
    return Claim(
        sentence=sentence, text=text, cells=tuple(cells), unknown_numbers=tuple(unknown), flags=flags
    )


def _flags(cells: Sequence[Cell], *, unknown: bool, limit: float) -> tuple[Flag, ...]:
    flags = []
    cited = max((cell.similarity for cell in cells if cell.cited), default=None)
    other = max((cell.similarity for cell in cells if not cell.cited), default=0.0)
    if cited is None:
        flags.append(Flag.NO_CITATION)
    elif cited < limit:
        flags.append(Flag.DISSIMILAR)
    if unknown:
        flags.append(Flag.NUMBERS)
    if cited is not None and other >= limit and other - cited >= 0.2:
        flags.append(Flag.ELSEWHERE)
    return tuple(flags)


def _bare(text: str) -> str:
    """The sentence without its citation marks."""
    for mark in reversed(check(text, 0).citations):
        text = text[: mark.start].rstrip() + text[mark.end :]
    return text


def _by_words(texts: Sequence[str], quoted: Sequence[str]) -> Vectors:
    """The share of each text's different words that each quoted sentence has."""
    theirs = [set(tokens(text)) for text in quoted]
    shares = np.zeros((len(texts), len(quoted)), dtype=np.float32)
    for row, text in enumerate(texts):
        own = set(tokens(text))
        for column, words in enumerate(theirs):
            shares[row, column] = len(own & words) / max(len(own), 1)
    return shares
