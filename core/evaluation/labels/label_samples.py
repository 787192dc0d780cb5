"""Samples of passages to label: an unbiased estimate of how two rankings differ, from few labels.

Of a passage, the label changes the difference of the two rankings' DCG by its gain times the difference w of
its two discounts; passages at the same rank in both change nothing. Each is sampled with the probability
p = min(1, `DENSITY` * |w| / sqrt(r)), r the better of its two ranks, and the sum of w / p * gain over the sampled
passages is an unbiased estimate of the question's difference (Horvitz and Thompson 1952). The variance is smallest for p
in proportion to |w| times the root of the mean squared gain (for two rankings: Schnabel, Swaminathan, Frazier and
Joachims 2016, "Unbiased Comparative Evaluation of Ranking Functions"), which is taken to fall as 1 / r; where it does
not, the estimate is as unbiased, and less precise. Random numbers are digests of question and passage, so two
comparisons sample mostly the same passages, and labels are used again.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.evaluation.metrics.ranking_metrics import discount, discount_differences
from core.model import Grade
from core.text.digest import text_digest

DEPTH = 10
"""Ranks that are compared, the k of DCG."""
DENSITY = 3.0
"""A larger one takes more labels a question, and fewer questions; the number of labels in all is about the same."""
LARGEST = math.fsum(discount(rank) for rank in range(1, DEPTH + 1))
"""The largest difference of DCG: everything relevant against nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The passages of one question that are sampled for labelling."""

    question: str
    factors: Mapping[str, float]
    """w / p of each sampled passage by its id, those with the largest |w| first."""
    pool: int
    """How many passages are among the first `DEPTH` of either ranking: the labels that pooling needs."""

    def estimate(self, grades: Mapping[str, int]) -> float | None:
        """An unbiased estimate of how much higher the first ranking's DCG is; None while a grade is missing.

        A relevant passage has a gain of 1, a partly relevant one of 1/2.
        """
        if any(passage not in grades for passage in self.factors):
            return None
        return math.fsum(
            factor * grades[passage] / Grade.RELEVANT for passage, factor in self.factors.items()
        )


def sample(question: str, first: Sequence[str], second: Sequence[str]) -> Sample:
    """The sample of a question, of passage ids in the order of two rankings, best first. `question` is a name for it, the
    same in every comparison."""
    differences = discount_differences(first, second, DEPTH)
    best = {passage: min(_rank(passage, first), _rank(passage, second)) for passage in differences}
    chances = {
        passage: min(1.0, DENSITY * abs(weight) / math.sqrt(best[passage]))
        for passage, weight in differences.items()
    }
    heaviest = sorted(differences, key=lambda passage: (-abs(differences[passage]), passage))
    return Sample(
        question=question,
        factors={
            passage: differences[passage] / chances[passage]
            for passage in heaviest
            if _random(question, passage) < chances[passage]
        },
        pool=len({*first[:DEPTH], *second[:DEPTH]}),
    )


def in_random_order(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """The samples in the order in which questions are to be labelled, which depends on the questions alone."""
    return tuple(sorted(samples, key=lambda sample: text_digest(sample.question)))


def _rank(passage: str, ranking: Sequence[str]) -> float:
    first = ranking[:DEPTH]
    return first.index(passage) + 1 if passage in first else math.inf


def _random(question: str, passage: str) -> float:
    """A number from 0 to below 1 that stands for the passage of a question (permanent random numbers, Ohlsson 1995)."""
    return int(text_digest(f"{question}\n{passage}")[:13], 16) / 16**13
