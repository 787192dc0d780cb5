"""Which of two rankings is better over many questions, from few labels, whenever one stops labelling.

Sampling. Of a passage, the label changes the difference of the two rankings' DCG by its gain times the difference w of
its two discounts; passages at the same rank in both change nothing. Each is sampled with the probability
p = min(1, `DENSITY` * |w| / sqrt(r)), r the better of its two ranks, and the sum of w / p * gain over the sampled
passages is an unbiased estimate of the question's difference (Horvitz and Thompson 1952). The variance is smallest for p
in proportion to |w| times the root of the mean squared gain (for two rankings: Schnabel, Swaminathan, Frazier and
Joachims 2016, "Unbiased Comparative Evaluation of Ranking Functions"), which is taken to fall as 1 / r; where it does
not, the estimate is as unbiased, and less precise. Random numbers are digests of question and passage, so two
comparisons sample mostly the same passages, and labels are used again.

Test. Questions are a sample of those that could be asked, and are taken in random order. If the two settings could be
swapped in each question, as in `significance.randomization_test`, the estimate y of a question is as likely as -y. Then
E exp(l * y - l^2 * y^2 / 2) <= 1 for every l, because cosh(x) <= exp(x^2 / 2) (de la Pena 1999, "A general class of
exponential inequalities for martingales and ratios"; as a test of symmetry: Vovk and Wang 2024, "Nonparametric e-tests
of symmetry"). With S = sum of y, V = sum of y^2, and l drawn from a normal distribution of mean 0 and variance
1 / `SCALE` (Robbins 1970), the expectation

    e = sqrt(SCALE / (V + SCALE)) * exp(S^2 / (2 * (V + SCALE)))

is a supermartingale that begins at 1. The chance that it ever reaches 1 / level is at most the level (Ville 1939), so
the p-value 1 / e may be looked at after every label. The interval is the confidence sequence of the same test (Howard,
Ramdas, McAuliffe and Sekhon 2021, "Time-uniform, nonparametric, nonasymptotic confidence sequences"): the differences m
for which y - m does not reach the level. It is approximate where y - m is not symmetric; `bench/labelling.py` measures
how often it errs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.evaluation.metrics.ranking_metrics import discount, discount_differences
from core.evaluation.statistics.significance import SIGNIFICANT, Interval
from core.model import Grade
from core.text.digest import text_digest

DEPTH = 10
"""Ranks that are compared, the k of DCG."""
DENSITY = 3.0
"""A larger one takes more labels a question, and fewer questions; the number of labels in all is about the same."""
SCALE = 1.0
"""The test is sharpest where V is about eight times as large: after some thirty sampled passages that are relevant."""
BUDGET = 0.3
"""The share of the labels of pooling after which no difference is said to be shown. Further labels may still show one."""

LARGEST = math.fsum(discount(rank) for rank in range(1, DEPTH + 1))
"""The largest difference of DCG: everything relevant against nothing."""
_BISECTIONS = 60


class Outcome(StrEnum):
    """What the labels say so far."""

    FIRST_BETTER = "first better"
    SECOND_BETTER = "second better"
    NO_DIFFERENCE = "no difference shown"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The passages of one question whose labels are wanted."""

    question: str
    factors: Mapping[str, float]
    """w / p of each sampled passage by its id, those with the largest |w| first."""
    pool: int
    """How many passages are among the first `DEPTH` of either ranking: the labels that pooling needs."""

    def estimate(self, grades: Mapping[str, int]) -> float | None:
        """An unbiased estimate of how much higher the first ranking's DCG is; None while a grade is missing.

        A relevant passage has a gain of 1, a partly relevant one of 1/2.
        """
        if any(one not in grades for one in self.factors):
            return None
        return math.fsum(factor * grades[one] / Grade.RELEVANT for one, factor in self.factors.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A passage to label next, by its id, and its question."""

    question: str
    passage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelVerdict:
    """The two rankings as far as the labels tell."""

    labels: int
    """Labels that are used."""
    pool: int
    """Labels that pooling to `DEPTH` would need over all questions."""
    questions: int
    """Questions whose sample is labelled; only these count."""
    of: int
    """All questions."""
    difference: Interval | None
    """Of the mean DCG, first minus second; None before the first question."""
    p_value: float
    """That the settings make no difference; valid whenever it is looked at."""
    outcome: Outcome
    next: Proposal | None
    """None when the whole sample is labelled."""


def sample(question: str, first: Sequence[str], second: Sequence[str]) -> Sample:
    """The sample of a question.

    Args:
        question: a name for the question, the same in every comparison.
        first: passage ids in the order of the first ranking, best first.
        second: those of the second ranking.
    """
    differences = discount_differences(first, second, DEPTH)
    best = {one: min(_rank(one, first), _rank(one, second)) for one in differences}
    chances = {
        one: min(1.0, DENSITY * abs(weight) / math.sqrt(best[one])) for one, weight in differences.items()
    }
    heaviest = sorted(differences, key=lambda one: (-abs(differences[one]), one))
    return Sample(
        question=question,
        factors={
            one: differences[one] / chances[one] for one in heaviest if _random(question, one) < chances[one]
        },
        pool=len({*first[:DEPTH], *second[:DEPTH]}),
    )


def in_random_order(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """The samples in the order in which questions are to be labelled, which depends on the questions alone."""
    return tuple(sorted(samples, key=lambda one: text_digest(one.question)))


def compare(samples: Sequence[Sample], grades: Mapping[str, Mapping[str, int]]) -> LabelVerdict:
    """What the labels say about the two rankings.

    A question counts when its whole sample, and that of all questions before it, is labelled: otherwise which
    questions count could depend on what somebody chose to label.

    Args:
        samples: as `in_random_order` gives them.
        grades: the grades of labelled passages by their id, by question.
    """
    estimates: list[float] = []
    proposal = None
    used = 0
    for one in samples:
        known = grades.get(one.question, {})
        used += sum(passage in known for passage in one.factors)
        found = one.estimate(known)
        if found is None:
            missing = next(passage for passage in one.factors if passage not in known)
            proposal = Proposal(question=one.question, passage=missing)
            break
        estimates.append(found)
    pool = sum(one.pool for one in samples)
    difference = interval(estimates) if estimates else None
    return LabelVerdict(
        labels=used,
        pool=pool,
        questions=len(estimates),
        of=len(samples),
        difference=difference,
        p_value=p_value(estimates),
        outcome=_outcome(difference, exhausted=proposal is None or used >= BUDGET * pool),
        next=proposal,
    )


def p_value(estimates: Sequence[float]) -> float:
    """The two-sided p-value that the estimates of the questions are symmetric about 0, valid at any number of them."""
    return _p_value(math.fsum(estimates), math.fsum(one * one for one in estimates))


def interval(estimates: Sequence[float], level: float = SIGNIFICANT) -> Interval:
    """The mean of the estimates, with the bounds of its confidence sequence of coverage 1 - `level`.

    The bounds are at most the largest difference that two rankings can have. An interval that excludes 0 has a p-value
    of at most `level`. Below some twelve questions the test cannot exclude differences that are large enough, and the
    interval says so, even where the p-value is small.

    Raises:
        ValueError: when there is no estimate.
    """
    if not estimates:
        raise ValueError("there is no estimate")
    count, mean = len(estimates), math.fsum(estimates) / len(estimates)
    squares = math.fsum((one - mean) ** 2 for one in estimates)

    def is_excluded(distance: float) -> bool:
        """Whether differences this far from the mean are outside of the interval."""
        return _p_value(count * distance, squares + count * distance**2) <= level

    inside, outside = 0.0, LARGEST + abs(mean)
    if not is_excluded(outside):
        inside = outside
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if is_excluded(middle) else (middle, outside)
    return Interval(mean, max(mean - outside, -LARGEST), min(mean + outside, LARGEST))


def _p_value(total: float, squares: float) -> float:
    spread = squares + SCALE
    return min(1.0, math.exp(math.log(spread / SCALE) / 2 - total * total / (2 * spread)))


def _outcome(difference: Interval | None, *, exhausted: bool) -> Outcome:
    if difference and difference.low > 0:
        return Outcome.FIRST_BETTER
    if difference and difference.high < 0:
        return Outcome.SECOND_BETTER
    return Outcome.NO_DIFFERENCE if exhausted else Outcome.OPEN


def _rank(passage: str, ranking: Sequence[str]) -> float:
    first = ranking[:DEPTH]
    return first.index(passage) + 1 if passage in first else math.inf


def _random(question: str, passage: str) -> float:
    """A number from 0 to below 1 that stands for the passage of a question (permanent random numbers, Ohlsson 1995)."""
    return int(text_digest(f"{question}\n{passage}")[:13], 16) / 16**13
