"""Metrics of one run's ranking against labels of its passages, with what the unlabelled ones leave open."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.evaluation import metrics
from core.evaluation.excerpts import excerpt_precision, excerpt_recall
from core.evaluation.labels import PlacedLabels, passage_grades
from core.model import Grade, Index, Place, Ranking

DEPTH = 10
"""The k of nDCG, MRR and of what is proposed for labelling."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and the highest value that a metric can have once the first passages are all labelled."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = f"{self.low:.3f}", f"{self.high:.3f}"
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
        return self._bounds(metrics.ndcg)

    @property
    def reciprocal_rank(self) -> Bounds | None:
        """None without a relevant passage."""
        return self._bounds(metrics.reciprocal_rank)

    def _bounds(self, metric: metrics.Metric) -> Bounds | None:
        if not any(grade > 0 for grade in self.grades.values()):
            return None
        first = self.order[:DEPTH]
        found = [metric(first, {**self.grades, **missing}, DEPTH) for missing in _extremes(self._missing)]
        return Bounds(min(found), max(found))

    @property
    def _missing(self) -> list[str]:
        """Those of the first passages that have no grade, best first."""
        return [one for one in self.order[:DEPTH] if one not in self.grades]


class Verdict(StrEnum):
    """A ranking against another one by nDCG, whatever the labels that are missing will be."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    OPEN = "open"


def graded(index: Index, ranking: Ranking, labels: PlacedLabels, context: Iterable[Place]) -> GradedRanking:
    """The ranking with the labels projected onto its passages. `context` is where the texts of the sources stand."""
    rows = passage_grades(index.passages, labels.labels)
    ranges = [(place.page, place.start, place.end) for place in context]
    wanted = labels.excerpts
    return GradedRanking(
        order=tuple(index.passages[row].id for row in ranking.order.tolist()),
        grades={index.passages[row].id: grade for row, grade in rows.items()},
        recall=excerpt_recall(wanted, ranges) if wanted else None,
        precision=excerpt_precision(wanted, ranges) if wanted else None,
    )


def verdict(ranking: GradedRanking, other: GradedRanking) -> Verdict:
    """Whether the first ranking is better, as far as the labels decide it.

    Two orders of the same passages share the ideal order, so the sign of the difference in discounted gain decides,
    and a missing label counts by the difference of its two discounts. Otherwise the bounds of nDCG must not touch.
    """
    if set(ranking.order) != set(other.order):
        ours, theirs = ranking.ndcg, other.ndcg
        if ours is None or theirs is None:
            return Verdict.OPEN
        low, high = ours.low - theirs.high, ours.high - theirs.low
    else:
        weights = metrics.discount_differences(ranking.order, other.order, DEPTH)
        known = math.fsum(
            ranking.grades[one] * weight for one, weight in weights.items() if one in ranking.grades
        )
        missing = [weight * Grade.RELEVANT for one, weight in weights.items() if one not in ranking.grades]
        low = known + math.fsum(min(one, 0.0) for one in missing)
        high = known + math.fsum(max(one, 0.0) for one in missing)
    if low == high == 0:
        return Verdict.EQUAL
    return Verdict.BETTER if low > 0 else Verdict.WORSE if high < 0 else Verdict.OPEN


def next_to_label(ranking: GradedRanking, other: GradedRanking | None = None) -> str | None:
    """The id of the passage of `ranking` whose label can change most: the difference to the other ranking, if there is
    one and it is open, else the ranking's nDCG. None when no label of its first passages is missing."""
    if other is not None and verdict(ranking, other) is Verdict.OPEN:
        ranked = set(ranking.order)
        weights = metrics.discount_differences(ranking.order, other.order, DEPTH)
        found = _heaviest({one: abs(weight) for one, weight in weights.items() if one in ranked}, ranking)
        if found is not None:
            return found
    return _heaviest(
        {one: metrics.discount(rank) for rank, one in enumerate(ranking.order[:DEPTH], 1)}, ranking
    )


def _extremes(missing: Sequence[str]) -> Iterator[dict[str, int]]:
    """Grades of the missing passages, best ranked first, among which a metric has its extremes.

    How many passages have each grade decides the ideal ranking. For each such count, the extremes are the highest
    grades at the best ranks, and at the worst ones.
    """
    for relevant in range(len(missing) + 1):
        for partly in range(len(missing) - relevant + 1):
            grades = [Grade.RELEVANT] * relevant + [Grade.PARTLY] * partly
            grades += [Grade.NOT_RELEVANT] * (len(missing) - len(grades))
            yield dict(zip(missing, map(int, grades), strict=True))
            yield dict(zip(reversed(missing), map(int, grades), strict=True))


def _heaviest(weights: Mapping[str, float], ranking: GradedRanking) -> str | None:
    missing = {one: weight for one, weight in weights.items() if one not in ranking.grades}
    return max(missing, key=missing.__getitem__, default=None)
