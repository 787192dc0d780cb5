"""Metrics of one run's ranking against labels of its passages, with what the unlabelled ones leave open."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.evaluation.labels.passage_labels import PlacedLabels, passage_grades
from core.evaluation.metrics import ranking_metrics
from core.evaluation.metrics.excerpt_metrics import excerpt_precision, excerpt_recall
from core.evaluation.statistics.significance import Verdict
from core.model import Grade, Index, Place, Ranking
from core.text.display import decimal

DEPTH = 10
"""The k of nDCG, MRR and of what is proposed for labelling."""
_ROUNDING = 1e-12
"""Sums of the same discounts in another order differ by less."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and the highest value that a metric can have once the first passages are all labelled."""

    low: float
    high: float

    def __str__(self) -> str:
        return self._text(".3f")

    @property
    def signed(self) -> str:
        """With the sign of each bound, for a difference."""
        return self._text("+.3f")

    def _text(self, form: str) -> str:
        low, high = f"{self.low:{form}}", f"{self.high:{form}}"
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedRanking:
    """A ranking with the grades of its passages, by id. Ids of two rankings agree where the passages do."""

    order: tuple[str, ...]
    """Passage ids, best first."""
    grades: Mapping[str, int]
    """Of the labelled passages, wherever they are ranked."""
    recall: float | None
    """The share of the relevant characters that are in the context; None without a relevant label."""
    precision: float | None
    """The share of the context's characters that are labelled relevant; None without a relevant label."""

    @property
    def labelled(self) -> int:
        """How many of the first `DEPTH` passages have a grade."""
        return len(self.order[:DEPTH]) - len(self._missing)

    @property
    def ndcg(self) -> Bounds | None:
        """nDCG with the grade as the gain; None without a relevant passage."""
        return self._bounds(ranking_metrics.ndcg)

    @property
    def reciprocal_rank(self) -> Bounds | None:
        """None without a relevant passage."""
        return self._bounds(ranking_metrics.reciprocal_rank)

    @property
    def figures(self) -> dict[str, str]:
        """The metrics that there are by their names, as text; none without a relevant passage."""
        texts = {f"nDCG@{DEPTH}": self.ndcg, f"MRR@{DEPTH}": self.reciprocal_rank}
        shares = {"recall": self.recall, "precision": self.precision}
        return {name: str(bounds) for name, bounds in texts.items() if bounds} | {
            name: decimal(share, 3) for name, share in shares.items() if share is not None
        }

    def _bounds(self, metric: ranking_metrics.Metric) -> Bounds | None:
        if not any(grade > 0 for grade in self.grades.values()):
            return None
        first = self.order[:DEPTH]
        values = [metric(first, {**self.grades, **missing}, DEPTH) for missing in _extremes(self._missing)]
        return Bounds(min(values), max(values))

    @property
    def _missing(self) -> list[str]:
        """Those of the first passages that have no grade, best first."""
        return [passage for passage in self.order[:DEPTH] if passage not in self.grades]


def graded(index: Index, ranking: Ranking, labels: PlacedLabels, context: Iterable[Place]) -> GradedRanking:
    """The ranking with the labels projected onto its passages. `context` is where the texts of the sources stand."""
    rows = passage_grades(index.passages, labels.labels)
    ranges = [(place.page, place.start, place.end) for place in context]
    excerpts = labels.excerpts
    return GradedRanking(
        order=tuple(index.passages[row].id for row in ranking.order.tolist()),
        grades={index.passages[row].id: grade for row, grade in rows.items()},
        recall=excerpt_recall(excerpts, ranges) if excerpts else None,
        precision=excerpt_precision(excerpts, ranges) if excerpts else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NdcgComparison:
    """nDCG of two rankings, once the first passages of both are all labelled."""

    ranking: Bounds | None
    """None without a relevant passage."""
    other: Bounds | None
    difference: Bounds
    """The first minus the second: narrower than the two bounds suggest, because a missing label counts in both. DCG in
    place of nDCG without a relevant passage."""

    @property
    def verdict(self) -> Verdict:
        """What is so whatever the labels that are missing will be."""
        low, high = self.difference.low, self.difference.high
        if -_ROUNDING < low <= high < _ROUNDING:
            return Verdict.EQUAL
        return Verdict.BETTER if low > _ROUNDING else Verdict.WORSE if high < -_ROUNDING else Verdict.OPEN


def compare(ranking: GradedRanking, other: GradedRanking) -> NdcgComparison:
    """nDCG of two rankings of one question, and their difference, as far as the labels decide them.

    Two orders of the same passages share the ideal order and the missing labels, and the difference is bounded over
    these. Of other passages, the bounds of each are taken as they are.
    """
    if set(ranking.order) != set(other.order):
        ours, theirs = ranking.ndcg, other.ndcg
        low, high = (ours.low - theirs.high, ours.high - theirs.low) if ours and theirs else (-1.0, 1.0)
        return NdcgComparison(ranking=ours, other=theirs, difference=Bounds(low, high))
    first, second = _discounts(ranking), _discounts(other)
    missing = [passage for passage in {**first, **second} if passage not in ranking.grades]
    weights = (first, second, ranking_metrics.discount_differences(ranking.order, other.order, DEPTH))
    relevant = any(grade > 0 for grade in ranking.grades.values())
    labelled_gains = [
        math.fsum(weight.get(passage, 0.0) * grade for passage, grade in ranking.grades.items())
        for weight in weights
    ]
    missing_weights = [
        sorted((weight.get(passage, 0.0) for passage in missing), reverse=True) for weight in weights
    ]
    lows, highs = [math.inf] * 3, [-math.inf] * 3
    for grades in _missing_grades(len(missing)):
        gains = sorted([*ranking.grades.values(), *grades], reverse=True)[:DEPTH]
        ideal = _weighted(map(ranking_metrics.discount, range(1, DEPTH + 1)), gains) if relevant else 1.0
        for place in range(3):
            lows[place] = min(
                lows[place],
                (labelled_gains[place] + _weighted(reversed(missing_weights[place]), grades)) / ideal,
            )
            highs[place] = max(
                highs[place], (labelled_gains[place] + _weighted(missing_weights[place], grades)) / ideal
            )
    ours, theirs, difference = map(Bounds, lows, highs)
    return NdcgComparison(
        ranking=ours if relevant else None, other=theirs if relevant else None, difference=difference
    )


def next_to_label(ranking: GradedRanking, other: GradedRanking | None = None) -> str | None:
    """The id of the passage of `ranking` whose label can change most: the difference to the other ranking, if there is
    one and it is open, else the ranking's nDCG. None when no label of its first passages is missing."""
    if other is not None and compare(ranking, other).verdict is Verdict.OPEN:
        ranked = set(ranking.order)
        weights = ranking_metrics.discount_differences(ranking.order, other.order, DEPTH)
        heaviest = _heaviest(
            {passage: abs(weight) for passage, weight in weights.items() if passage in ranked}, ranking
        )
        if heaviest is not None:
            return heaviest
    return _heaviest(_discounts(ranking), ranking)


def _extremes(missing: Sequence[str]) -> Iterator[dict[str, int]]:
    """Grades of the missing passages, best ranked first, among which a metric has its extremes: those of each ideal
    ranking, with the highest grades at the best ranks, and at the worst ones."""
    for grades in _missing_grades(len(missing)):
        yield dict(zip(missing, grades, strict=True))
        yield dict(zip(reversed(missing), grades, strict=True))


def _missing_grades(count: int) -> Iterator[list[int]]:
    """Every multiset of grades that so many passages can have, highest first. Each decides an ideal ranking."""
    for relevant in range(count + 1):
        for partly in range(count - relevant + 1):
            grades = [Grade.RELEVANT] * relevant + [Grade.PARTLY] * partly
            yield [int(grade) for grade in (*grades, *[Grade.NOT_RELEVANT] * (count - len(grades)))]


def _discounts(ranking: GradedRanking) -> dict[str, float]:
    return {passage: ranking_metrics.discount(rank) for rank, passage in enumerate(ranking.order[:DEPTH], 1)}


def _weighted(weights: Iterable[float], gains: Sequence[int]) -> float:
    """The sum of products; weights beyond the gains count nothing."""
    return math.fsum(weight * gain for weight, gain in zip(weights, gains, strict=False))


def _heaviest(weights: Mapping[str, float], ranking: GradedRanking) -> str | None:
    missing = {passage: weight for passage, weight in weights.items() if passage not in ranking.grades}
    return max(missing, key=missing.__getitem__, default=None)
