"""Metrics of one ranking against graded judgements.

A ranking holds document ids, best first. Judgements hold the grade of each judged document: 0 is judged and not
relevant, 1 and up is relevant, and an absent document was never judged. All metrics except `judged` count an unjudged
document as not relevant. Every metric is from 0 to 1. All raise ValueError for a k below 1 and for an id that is ranked
twice. All except `precision` and `judged` raise ValueError for judgements without a relevant document.
"""

import math
from collections.abc import Callable, Mapping, Sequence

Ranked = Sequence[str]
Judgements = Mapping[str, int]
Metric = Callable[[Ranked, Judgements, int], float]


def recall(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """Return the share of relevant documents among the first `k`."""
    return _found(ranking, judgements, k) / _relevant(judgements)


def precision(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """Return the relevant documents among the first `k`, divided by `k`, even for a shorter ranking."""
    return _found(ranking, judgements, k) / k


def reciprocal_rank(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """Return 1 / the rank of the first relevant document, or 0 if it is beyond `k`. The average is MRR@k."""
    _relevant(judgements)
    ranks = (rank for rank, document in enumerate(_first(ranking, k), 1) if judgements.get(document, 0) > 0)
    return 1 / next(ranks, math.inf)


def average_precision(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """Return the mean of the precision at the rank of each relevant document.

    A document beyond the first `k` counts 0. The average over questions is MAP@k (Manning, Raghavan and Schütze 2008,
    section 8.4).
    """
    relevant, hits, total = _relevant(judgements), 0, 0.0
    for rank, document in enumerate(_first(ranking, k), 1):
        if judgements.get(document, 0) > 0:
            hits += 1
            total += hits / rank
    return total / relevant


def ndcg(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """Return the discounted cumulative gain of the first `k`, divided by the ideal ranking's gain.

    The ideal ranking has all judged documents. The gain is the grade itself (Järvelin and Kekäläinen 2002; trec_eval),
    divided by log2(r + 1) at rank r.
    """
    _relevant(judgements)
    reached = _discounted([max(judgements.get(document, 0), 0) for document in _first(ranking, k)])
    ideal = _discounted(sorted((max(grade, 0) for grade in judgements.values()), reverse=True)[:k])
    return reached / ideal


def discount(rank: int) -> float:
    """Return the factor of a gain at this rank, from 1, in discounted cumulative gain."""
    return 1 / math.log2(rank + 1)


def discount_differences(ranking: Ranked, other: Ranked, k: int) -> dict[str, float]:
    """Return how a gain of 1 changes the difference of the two DCGs, for each of the first `k` documents.

    Documents at the same rank in both rankings change nothing and are left out.
    """
    differences: dict[str, float] = {}
    for order, sign in ((ranking, 1), (other, -1)):
        for rank, document in enumerate(_first(order, k), 1):
            differences[document] = differences.get(document, 0.0) + sign * discount(rank)
    return {document: difference for document, difference in differences.items() if difference}


def judged(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """Return the judged share of the first `k`, or 0 for an empty ranking.

    If it is low, the other metrics show more about the judgements than about the ranking.
    """
    first = _first(ranking, k)
    return sum(document in judgements for document in first) / len(first) if first else 0.0


DEPTH = 10
"""The k of the document metrics."""
DOCUMENT_METRICS: Mapping[str, Metric] = {
    f"nDCG@{DEPTH}": ndcg,
    f"recall@{DEPTH}": recall,
    f"MRR@{DEPTH}": reciprocal_rank,
    f"MAP@{DEPTH}": average_precision,
    f"precision@{DEPTH}": precision,
    f"judged@{DEPTH}": judged,
}
"""The metrics of tables, charts and exports, in their order."""


def _first(ranking: Ranked, k: int) -> Ranked:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if len(set(ranking)) < len(ranking):
        twice = next(document for number, document in enumerate(ranking) if document in ranking[:number])
        raise ValueError(f"{twice!r} is in the ranking twice")
    return ranking[:k]


def _found(ranking: Ranked, judgements: Judgements, k: int) -> int:
    return sum(judgements.get(document, 0) > 0 for document in _first(ranking, k))


def _relevant(judgements: Judgements) -> int:
    count = sum(grade > 0 for grade in judgements.values())
    if not count:
        raise ValueError("no document is judged relevant")
    return count


def _discounted(gains: Sequence[int]) -> float:
    return math.fsum(gain * discount(rank) for rank, gain in enumerate(gains, 1))
