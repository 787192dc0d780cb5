"""Samples of passages to label, for an unbiased comparison of two rankings from few labels.

The label of a passage changes the difference of the two rankings' DCG by its gain times the difference w of its two
discounts. Passages at the same rank in both change nothing. Each passage is sampled with the probability p = min(1,
`DENSITY` * |w| / sqrt(r)), r the better of its two ranks. The sum of w / p * gain over the sampled passages is an
unbiased estimate of the question's difference (Horvitz and Thompson 1952). The variance is smallest for p in proportion
to |w| times the root of the mean squared gain (for two rankings: Schnabel, Swaminathan, Frazier and Joachims 2016,
"Unbiased Comparative Evaluation of Ranking Functions"). The mean squared gain is assumed to fall as 1 / r. If it does
not, the estimate is still unbiased, but less precise. Random numbers are digests of question and passage, so two
comparisons sample mostly the same passages and reuse their labels.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.features.evaluate.metrics.ranking_metrics import discount, discount_differences
from core.model import Grade
from core.text.digest import text_digest

DEPTH = 10
"""Ranks that are compared, the k of DCG."""
DENSITY = 3.0
"""Controls labels per question: more labels need fewer questions, for about the same total."""
LARGEST = math.fsum(discount(rank) for rank in range(1, DEPTH + 1))
"""The largest difference of DCG: all passages relevant against none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The sampled passages of one question, for labelling."""

    question: str
    factors: Mapping[str, float]
    """w / p of each sampled passage by id, the largest |w| first."""
    pool: int
    """The number of passages among the first `DEPTH` of either ranking, which pooling would label."""

    def estimate(self, grades: Mapping[str, int]) -> float | None:
        """Estimate without bias how much higher the first ranking's DCG is, or None without all grades.

        A relevant passage has a gain of 1, a partly relevant one of 1/2.
        """
        if any(passage not in grades for passage in self.factors):
            return None
        return math.fsum(
            factor * grades[passage] / Grade.RELEVANT for passage, factor in self.factors.items()
        )


def sample(question: str, first: Sequence[str], second: Sequence[str]) -> Sample:
    """Sample passages of two rankings, which are lists of passage ids, best first.

    `question` identifies the question and must be the same in every comparison.
    """
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
    """Sort the samples into a random labelling order that depends on the questions alone."""
    return tuple(sorted(samples, key=lambda sample: text_digest(sample.question)))


def _rank(passage: str, ranking: Sequence[str]) -> float:
    first = ranking[:DEPTH]
    return first.index(passage) + 1 if passage in first else math.inf


def _random(question: str, passage: str) -> float:
    """Return the permanent random number of a question's passage, in [0, 1) (Ohlsson 1995)."""
    return int(text_digest(f"{question}\n{passage}")[:13], 16) / 16**13
