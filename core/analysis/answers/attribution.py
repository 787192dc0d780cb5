"""Every sentence of the answer against every source: how similar they are, and which particulars they share.

Similarity is not truth. Measured with the local embedder on 750 pairs of claims and sentences that people
had judged: of sentences that support a claim 7 % have a cosine below .40, of sentences about something
else 92 %, of sentences on the subject that say nothing about the claim 25 %; sentences that refute a claim
are as similar as those that support it. So a low similarity is worth a look, and a high one proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from core.analysis.answers.named_facts import NamedFacts, missing_numbers, named_facts
from core.analysis.embedding_map.text_vectors import Vectors, vectors_of
from core.analysis.rankings.unrelated_questions import UNRELATED
from core.errors import EmbedFailed
from core.model import AnswerKind, Sentence, Source
from core.ports import Embed
from core.run.state import Run
from core.stages.check import check
from core.text.lexicon import tokens
from core.text.sentences import sentences

SIMILAR = 0.38
"""The least similarity of a support, on a scale where unrelated sentences are at 0 and equal ones at 1."""

SIMILAR_BY_WORDS = 0.3
"""The least share of a sentence's words in its source where there are no vectors."""


class Flag(StrEnum):
    """What deserves a look."""

    NO_CITATION = "cites no source"
    DISSIMILAR = "the sources it cites say nothing similar"
    NUMBERS = "has numbers that the sources it cites do not have"
    ELSEWHERE = "another source is much more similar than those it cites"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One sentence of the answer against one source.

    `source.passage.text[start:end]` is the source's most similar sentence. Particulars are sought in its
    whole passage and title.
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

    `measure` is cosine, or words when there were no vectors: the share of the claim's words, with `fault`
    telling why.
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
    """Compare the answer's sentences with the sources it was written from, in one pass of the embedder.

    Where the embedder fails, words are compared instead. An answer that says nothing was found has no claims.
    """
    silent = run.answer is not None and run.answer.kind is AnswerKind.NOTHING
    claims = () if silent else run.check.sentences
    texts = [_bare(run.text[sentence.start : sentence.end]) for sentence in claims]
    places = [
        (column, start, end)
        for column, source in enumerate(run.sources)
        for start, end in sentences(source.passage.text)
    ]
    quoted = [run.sources[column].passage.text[start:end] for column, start, end in places]
    fault = ""
    try:
        vectors = await vectors_of([*texts, *quoted, *UNRELATED], embed) if texts and quoted else None
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
