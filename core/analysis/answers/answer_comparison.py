"""Comparison of two answers: common sentences and sources, and counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter

from core.analysis.answers.answer_stats import AnswerStats, answer_stats
from core.analysis.rankings.passage_matching import match_passages
from core.analysis.text_diff import DiffKind, DiffPiece, aligned
from core.model import Source, Usage
from core.run.state import AnswerVersion
from core.text.text_length import TextLength

MOST_SENTENCES = 1000
"""The most sentences of an answer that are compared, from the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerComparison:
    """The second answer against the first.

    `pieces` are the sentences of both in reading order, with the citations of their own answer. Common sentences have
    the citations of the second. `left_out` counts the sentences that were not compared, `citations_changed` the common
    sentences that cite other passages in the second answer.
    """

    pieces: tuple[DiffPiece, ...]
    citations_changed: int
    before: AnswerStats
    after: AnswerStats
    left_out: int = 0

    def count(self, kind: DiffKind) -> int:
        """Return the number of sentences of this kind."""
        return sum(piece.kind is kind for piece in self.pieces)

    @property
    def similarity(self) -> float:
        """Sørensen–Dice coefficient of the two answers' sentences, from 0 to 1."""
        common = self.count(DiffKind.COMMON)
        return 2 * common / (len(self.pieces) + common) if self.pieces else 1.0


def shared_sources(before: Sequence[Source], after: Sequence[Source]) -> dict[int, int]:
    """Return the numbers of the sources with the same passage, first to second."""
    pairs = match_passages([source.passage for source in before], [source.passage for source in after])
    return {before[row].number: after[other].number for row, other in pairs.items()}


def source_labels(
    before: Sequence[Source], after: Sequence[Source], names: tuple[str, str]
) -> tuple[dict[int, str], dict[int, str]]:
    """Return labels of the sources that differ, for each answer, by number. `names` are those of the answers."""
    same = shared_sources(before, after)
    labels: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for first, second in same.items():
        if first != second:
            labels[0][first], labels[1][second] = f"now {second}", f"was {first}"
    both = ({*same}, {*same.values()})
    for own, shared, sources, name in zip(labels, both, (before, after), names, strict=True):
        own |= {source.number: f"only in {name}" for source in sources if source.number not in shared}
    return labels


def compare_answers(before: AnswerVersion, after: AnswerVersion) -> AnswerComparison:
    """Diff two answers sentence by sentence. Letter case, white space, Markdown and citations are ignored."""
    pieces, citations_changed = _diff(before, after)
    return AnswerComparison(
        pieces=pieces,
        citations_changed=citations_changed,
        before=answer_stats(before),
        after=answer_stats(after),
        left_out=sum(max(len(version.check.sentences) - MOST_SENTENCES, 0) for version in (before, after)),
    )


def _diff(before: AnswerVersion, after: AnswerVersion) -> tuple[tuple[DiffPiece, ...], int]:
    same = shared_sources(before.sources, after.sources)
    first, second = before.check.sentences[:MOST_SENTENCES], after.check.sentences[:MOST_SENTENCES]
    pieces: list[DiffPiece] = []
    citations_changed = 0
    for kind, sentence, other in aligned(first, second, attrgetter("text"), autojunk=False):
        pieces.append(DiffPiece(kind=kind, text=other.text, cites=other.cites))
        if kind is DiffKind.COMMON:
            citations_changed += {same.get(number, -number) for number in sentence.cites} != set(other.cites)
    return tuple(pieces), citations_changed


# --- counts side by side ----------------------------------------------------------------------------------


class Unit(StrEnum):
    """The unit of a metric."""

    COUNT = "count"
    SECONDS = "seconds"
    DOLLARS = "dollars"


@dataclass(frozen=True, slots=True)
class AnswerMetric:
    """One count of both answers, each None if unknown."""

    label: str
    before: float | None
    after: float | None
    unit: Unit = Unit.COUNT
    hint: str = ""

    @property
    def difference(self) -> float | None:
        """After minus before, or None if either is unknown."""
        return None if self.before is None or self.after is None else self.after - self.before


def answer_metrics(
    comparison: AnswerComparison, before_seconds: float | None = None, after_seconds: float | None = None
) -> tuple[AnswerMetric, ...]:
    """Return every metric with a value for either answer."""
    before, after = comparison.before, comparison.after
    paid, other = before.usage, after.usage
    estimated = "Estimated from the sources: four characters a token"
    reported = "As reported by the provider"
    whole = "From the request to the model to its last token"
    prompt = _of(paid, "prompt_tokens"), _of(other, "prompt_tokens")
    completion = _of(paid, "completion_tokens"), _of(other, "completion_tokens")
    metrics = (
        _lengths(before.length, after.length),
        AnswerMetric("sentences", before.sentences, after.sentences),
        AnswerMetric("sentences cited", before.sentences_cited, after.sentences_cited),
        AnswerMetric("passages cited", before.sources_cited, after.sources_cited),
        AnswerMetric("context tokens", before.context_tokens, after.context_tokens, Unit.COUNT, estimated),
        AnswerMetric("prompt tokens", *prompt, Unit.COUNT, reported),
        AnswerMetric("answer tokens", *completion, Unit.COUNT, reported),
        AnswerMetric("cost", _of(paid, "cost"), _of(other, "cost"), Unit.DOLLARS, reported),
        AnswerMetric("time", before_seconds, after_seconds, Unit.SECONDS, whole),
    )
    return tuple(metric for metric in metrics if metric.before is not None or metric.after is not None)


def _lengths(before: TextLength | None, after: TextLength | None) -> AnswerMetric:
    in_words = all(length is None or length.in_words for length in (before, after))
    unit = "words" if in_words else "characters"
    return AnswerMetric(unit, _of(before, unit), _of(after, unit))


def _of(counts: Usage | TextLength | None, name: str) -> float | None:
    return None if counts is None else getattr(counts, name)
