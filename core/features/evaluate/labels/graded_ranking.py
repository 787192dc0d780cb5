"""Metrics of a run's ranking by labels of its passages, with bounds for missing labels."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.features.evaluate.labels.passage_labels import PlacedLabels, passage_grades
from core.features.evaluate.metrics import ranking_metrics
from core.features.evaluate.metrics.excerpt_metrics import excerpt_precision, excerpt_recall
from core.features.evaluate.statistics.significance import Verdict
from core.model import Grade, Index, Place, Ranking
from core.text.display import decimal

DEPTH = 10
"""The k of nDCG and MRR, and the depth of proposals for labelling."""
_ROUNDING = 1e-12
"""Rounding error between sums of the same discounts in another order."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and highest value of a metric over all ways to complete the labels."""

    low: float
    high: float

    def __str__(self) -> str:
        return self._text(".3f")

    @property
    def signed(self) -> str:
        """The bounds with signs, for a difference."""
        return self._text("+.3f")

    def _text(self, form: str) -> str:
        low, high = f"{self.low:{form}}", f"{self.high:{form}}"
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedRanking:
    """A ranking with the grades of its passages, by id. Rankings of the same passages use the same ids."""

    order: tuple[str, ...]
    """Passage ids, best first."""
    grades: Mapping[str, int]
    """The grades of the labelled passages at any rank."""
    recall: float | None
    """The share of the relevant characters in the context, or None without a relevant label."""
    precision: float | None
    """The relevant share of the context's characters, or None without a relevant label."""

    @property
    def labelled(self) -> int:
        """The number of grades among the first `DEPTH` passages."""
        return len(self.order[:DEPTH]) - len(self._missing)

    @property
    def ndcg(self) -> Bounds | None:
        """nDCG with the grade as the gain, or None without a relevant passage."""
        return self._bounds(ranking_metrics.ndcg)

    @property
    def reciprocal_rank(self) -> Bounds | None:
        """The reciprocal rank, or None without a relevant passage."""
        return self._bounds(ranking_metrics.reciprocal_rank)

    @property
    def figures(self) -> dict[str, str]:
        """The known metrics as text, by name. Without a relevant passage the result is empty."""
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
        """The ungraded passages among the first, best first."""
        return [passage for passage in self.order[:DEPTH] if passage not in self.grades]


def graded(index: Index, ranking: Ranking, labels: PlacedLabels, context: Iterable[Place]) -> GradedRanking:
    """Return the ranking graded by the labels.

    `context` is the spans of the sources' texts.
    """
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
    """nDCG of two rankings, with bounds for missing labels."""

    ranking: Bounds | None
    """Bounds for the first ranking, or None without a relevant passage."""
    other: Bounds | None
    difference: Bounds
    """The first minus the second.

    Narrower than the two bounds suggest, because a missing label counts in both. Without a relevant passage it is the
    difference of DCG.
    """

    @property
    def verdict(self) -> Verdict:
        """The verdict for any grades of the unlabelled passages."""
        low, high = self.difference.low, self.difference.high
        if -_ROUNDING < low <= high < _ROUNDING:
            return Verdict.EQUAL
        return Verdict.BETTER if low > _ROUNDING else Verdict.WORSE if high < -_ROUNDING else Verdict.OPEN


def compare(ranking: GradedRanking, other: GradedRanking) -> NdcgComparison:
    """Compare nDCG of two rankings of one question, as far as the labels decide.

    Two orders of the same passages share the ideal order and the missing labels, so their difference is bounded
    directly. For rankings of different passages, the difference is bounded by the bounds of each.
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
    """Return the id of the unlabelled passage whose label can change most, or None.

    The label changes the difference to `other` if that is given and open, else the nDCG of `ranking`.
    """
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
    """Yield the grades of the missing passages that give a metric its extremes.

    For each ideal ranking the highest grades are at the best ranks, then at the worst ranks.
    """
    for grades in _missing_grades(len(missing)):
        yield dict(zip(missing, grades, strict=True))
        yield dict(zip(reversed(missing), grades, strict=True))


def _missing_grades(count: int) -> Iterator[list[int]]:
    """Yield every multiset of `count` grades, highest first. Each determines an ideal ranking."""
    for relevant in range(count + 1):
        for partly in range(count - relevant + 1):
            grades = [Grade.RELEVANT] * relevant + [Grade.PARTLY] * partly
            yield [int(grade) for grade in (*grades, *[Grade.NOT_RELEVANT] * (count - len(grades)))]


def _discounts(ranking: GradedRanking) -> dict[str, float]:
    return {passage: ranking_metrics.discount(rank) for rank, passage in enumerate(ranking.order[:DEPTH], 1)}


def _weighted(weights: Iterable[float], gains: Sequence[int]) -> float:
    """Return the sum of products of the common length."""
    return math.fsum(weight * gain for weight, gain in zip(weights, gains, strict=False))


def _heaviest(weights: Mapping[str, float], ranking: GradedRanking) -> str | None:
    missing = {passage: weight for passage, weight in weights.items() if passage not in ranking.grades}
    return max(missing, key=missing.__getitem__, default=None)
