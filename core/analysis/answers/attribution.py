"""Attribution: similarity of each answer sentence to each source, with common numbers and names.

Similarity is not entailment. Measured with the local embedder on 750 pairs of claims and sentences judged by people: a
cosine below .40 have 7 % of supporting sentences, 92 % of sentences about another subject, and 25 % of sentences on the
subject that say nothing about the claim. Refuting sentences are as similar as supporting sentences. A low similarity is
worth a look, and a high similarity proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from core.analysis.embedding_map.text_vectors import Vectors, embed_texts
from core.analysis.rankings.null_distribution import UNRELATED_QUESTIONS
from core.errors import EmbedFailed
from core.model import AnswerKind, CitationCheck, Sentence, Source
from core.ports import Embed
from core.run.state import Run
from core.stages.rank import require_texts
from core.text.bm25_index import tokens
from core.text.facts.named_facts import (
    MOST_SENTENCES,
    NamedFacts,
    claimed_facts,
    missing_numbers,
    source_facts,
    unsupported_numbers,
)
from core.text.markdown.cited_sentences import read_sentences

SIMILAR = 0.38
"""The minimum similarity of a supporting sentence, on a scale from 0 (unrelated sentences) to 1 (equal ones)."""

SIMILAR_BY_WORDS = 0.3
"""The minimum share of a sentence's words in its source, without vectors."""
_NO_SENTENCE = Sentence(start=0, end=0, cites=())


class Flag(StrEnum):
    """A possible attribution error."""

    NO_CITATION = "cites no source"
    DISSIMILAR = "no similar sentence in a cited source"
    NUMBERS = "numbers not in the cited sources"
    ELSEWHERE = "a source that is not cited is much more similar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One sentence of the answer against one source.

    `source.text[start:end]` is the source's most similar sentence, `text` the same without Markdown. Numbers and names
    are looked up in the whole passage and title.
    """

    source: int
    """The source's number."""
    similarity: float
    start: int
    end: int
    text: str
    cited: bool
    dissimilar: bool
    """Whether the similarity is below the limit."""
    shared_names: tuple[str, ...]
    shared_numbers: tuple[str, ...]
    missing_numbers: tuple[str, ...]
    """Numbers and dates of the sentence that are missing in the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributedSentence:
    """A sentence of the answer with a cell for each source, ordered by source number."""

    sentence: Sentence
    cells: tuple[Cell, ...]
    unknown_numbers: tuple[str, ...]
    """Numbers and dates missing in the cited sources, or in all sources if none is cited."""
    flags: tuple[Flag, ...]

    @property
    def text(self) -> str:
        """The text without citations and Markdown."""
        return self.sentence.text

    @property
    def citations(self) -> tuple[Cell, ...]:
        """The cells of the cited sources."""
        return tuple(cell for cell in self.cells if cell.cited)

    @property
    def flag_labels(self) -> tuple[str, ...]:
        """The flags with their sources or numbers."""
        cited = (
            f"cited source{'s' if len(self.dissimilar) > 1 else ''} {', '.join(map(str, self.dissimilar))}"
        )
        labels = {
            Flag.DISSIMILAR: f"no similar sentence in {cited}",
            Flag.NUMBERS: f"{Flag.NUMBERS}: {', '.join(self.unknown_numbers[:4])}",
        }
        return tuple(labels.get(flag, str(flag)) for flag in self.flags)

    @property
    def dissimilar(self) -> tuple[int, ...]:
        """The numbers of cited sources without a similar sentence."""
        return tuple(cell.source for cell in self.citations if cell.dissimilar)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The attribution of the answer's first `MOST_SENTENCES` sentences.

    `left_out` counts further sentences. `limit` is the least similarity of a similar cell. `measure` is "cosine", or
    "words" (the share of the sentence's words) if embedding failed with `fault`.
    """

    sentences: tuple[AttributedSentence, ...]
    sources: tuple[Source, ...]
    measure: str
    limit: float
    fault: str = ""
    left_out: int = 0

    def strength(self, cell: Cell) -> float:
        """Return how strongly to draw a cell.

        From 0 at half the limit and below, to 1 for equal sentences.
        """
        return max(0.0, min((cell.similarity - self.limit / 2) / (1 - self.limit / 2), 1.0))

    @property
    def summary(self) -> AttributionSummary:
        """Counts over all sentences."""
        cited = [entry for entry in self.sentences if entry.sentence.cites]
        return AttributionSummary(
            sentences=len(self.sentences),
            cited=len(cited),
            citations=(
                counts := CitationCheck(sentences=tuple(entry.sentence for entry in cited)).citation_counts
            ).total(),
            similar=counts.total() - sum(len(entry.dissimilar) for entry in cited),
            sources=len(self.sources),
            used=len(counts),
            unknown_numbers=sum(len(entry.unknown_numbers) for entry in self.sentences),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionSummary:
    """Counts of an attribution.

    `citations` counts pairs of a sentence and a cited source, `similar` the pairs with a similar sentence in the
    source.
    """

    sentences: int
    cited: int
    citations: int
    similar: int
    sources: int
    used: int
    unknown_numbers: int


async def attribution(run: Run, embed: Embed) -> Attribution:
    """Compare the answer's sentences with its sources, with one call to the embedder.

    If the embedder fails, words are compared instead. An answer that reports nothing found has no sentences.

    Raises:
        BadInput: when the text of a source was left out of a file.
    """
    require_texts([source.passage for source in run.sources], run.pages)
    nothing_found = run.answer is not None and run.answer.kind is AnswerKind.NOT_FOUND
    sentences = () if nothing_found else run.check.sentences[:MOST_SENTENCES]
    texts = [sentence.text for sentence in sentences]
    places = [
        (column, sentence) for column, source in enumerate(run.sources) for sentence in _sentences_of(source)
    ]
    quoted = [sentence.text for _, sentence in places]
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
    facts_by_source = [source_facts(source) for source in run.sources]
    attributed = [
        _attributed(sentence, similar[row], places, run.sources, facts_by_source, limit)
        for row, sentence in enumerate(sentences)
    ]
    return Attribution(
        sentences=tuple(attributed),
        sources=run.sources,
        measure=measure,
        limit=limit,
        fault=fault,
        left_out=0 if nothing_found else len(run.check.sentences) - len(sentences),
    )


def _sentences_of(source: Source) -> tuple[Sentence, ...]:
    """Return the sentences of a source's passage.

    A passage without sentences, such as a heading or code, is returned whole.
    """
    text = source.text
    whole = Sentence(start=0, end=len(text), cites=(), text=text)
    return read_sentences(text) or ((whole,) if text.strip() else ())


def _attributed(  # noqa: PLR0917
    sentence: Sentence,
    similar: Vectors,
    places: Sequence[tuple[int, Sentence]],
    sources: Sequence[Source],
    facts_by_source: Sequence[NamedFacts],
    limit: float,
) -> AttributedSentence:
    best: dict[int, tuple[float, Sentence]] = {}
    for value, (column, theirs) in zip(similar.tolist(), places, strict=True):
        if column not in best or value > best[column][0]:
            best[column] = value, theirs
    own = claimed_facts(sentence.text)
    cells = []
    for column, source in enumerate(sources):
        value, theirs = best.get(column, (0.0, _NO_SENTENCE))
        missing = missing_numbers(own, facts_by_source[column])
        cells.append(
            Cell(
                source=source.number,
                similarity=value,
                start=theirs.start,
                end=theirs.end,
                text=theirs.text,
                cited=source.number in sentence.cites,
                dissimilar=value < limit,
                shared_names=tuple(sorted(own.names & facts_by_source[column].names)),
                shared_numbers=tuple(sorted(own.stated - missing)),
                missing_numbers=tuple(sorted(missing)),
            )
        )
    cited = [facts for facts, cell in zip(facts_by_source, cells, strict=True) if cell.cited]
    unknown = unsupported_numbers(own, cited or facts_by_source)
    flags = _flags(cells, unknown=bool(unknown), limit=limit)
    return AttributedSentence(sentence=sentence, cells=tuple(cells), unknown_numbers=unknown, flags=flags)


def _flags(cells: Sequence[Cell], *, unknown: bool, limit: float) -> tuple[Flag, ...]:
    flags = []
    cited = max((cell.similarity for cell in cells if cell.cited), default=None)
    other = max((cell.similarity for cell in cells if not cell.cited), default=0.0)
    if cited is None:
        flags.append(Flag.NO_CITATION)
    elif any(cell.cited and cell.dissimilar for cell in cells):
        flags.append(Flag.DISSIMILAR)
    if unknown:
        flags.append(Flag.NUMBERS)
    if cited is not None and other >= limit and other - cited >= 0.2:
        flags.append(Flag.ELSEWHERE)
    return tuple(flags)


def _by_words(texts: Sequence[str], quoted: Sequence[str]) -> Vectors:
    """Return the share of each text's distinct words in each quoted sentence."""
    theirs = [set(tokens(text)) for text in quoted]
    shares = np.zeros((len(texts), len(quoted)), dtype=np.float32)
    for row, text in enumerate(texts):
        own = set(tokens(text))
        for column, words in enumerate(theirs):
            shares[row, column] = len(own & words) / max(len(own), 1)
    return shares
