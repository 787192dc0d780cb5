"""Metrics of one ranking against graded judgements, and of retrieved text against marked excerpts.

A ranking holds document ids, best first. Judgements hold the grade of each judged document: 0 is judged and not
relevant, 1 and up is relevant, and a document that is absent was never judged. All metrics but `judged` count an
unjudged document as not relevant. Every metric is from 0 to 1. All raise ValueError for a k below 1, for an id that is ranked twice, and, except
`precision` and `judged`, for judgements without a relevant document: there is nothing to be found.
"""

import math
from collections.abc import Callable, Mapping, Sequence

Ranked = Sequence[str]
Judgements = Mapping[str, int]
Metric = Callable[[Ranked, Judgements, int], float]


def recall(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """The share of the relevant documents that are among the first `k`."""
    return _found(ranking, judgements, k) / _relevant(judgements)


def precision(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """The relevant documents among the first `k`, divided by `k`, however short the ranking is."""
    return _found(ranking, judgements, k) / k


def reciprocal_rank(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """1 / the rank of the first relevant document, 0 when none is among the first `k`: averaged, MRR@k."""
    _relevant(judgements)
    ranks = (rank for rank, document in enumerate(_first(ranking, k), 1) if judgements.get(document, 0) > 0)
    return 1 / next(ranks, math.inf)


def average_precision(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """The mean, over all relevant documents, of the precision at each one's rank; 0 for those that are not among
    the first `k`. Averaged over questions, MAP@k (Manning, Raghavan and Schütze 2008, section 8.4).
    """
    relevant, hits, total = _relevant(judgements), 0, 0.0
    for rank, document in enumerate(_first(ranking, k), 1):
        if judgements.get(document, 0) > 0:
            hits += 1
            total += hits / rank
    return total / relevant


def ndcg(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """Discounted cumulative gain of the first `k`, divided by that of the ideal ranking of all judged documents.

    The gain is the grade itself (Järvelin and Kekäläinen 2002; trec_eval); at rank r it is divided by log2(r + 1).
    """
    _relevant(judgements)
    reached = _discounted([max(judgements.get(document, 0), 0) for document in _first(ranking, k)])
    ideal = _discounted(sorted((max(grade, 0) for grade in judgements.values()), reverse=True)[:k])
    return reached / ideal


def discount(rank: int) -> float:
    """What a gain at this rank, counted from 1, is multiplied with in discounted cumulative gain."""
    return 1 / math.log2(rank + 1)


def discount_differences(ranking: Ranked, other: Ranked, k: int) -> dict[str, float]:
    """What a gain of 1 adds to the difference of the two discounted cumulative gains, by document of the first `k`.

    Documents that both have at the same rank add nothing, and are left out.
    """
    differences: dict[str, float] = {}
    for order, sign in ((ranking, 1), (other, -1)):
        for rank, document in enumerate(_first(order, k), 1):
            differences[document] = differences.get(document, 0.0) + sign * discount(rank)
    return {document: difference for document, difference in differences.items() if difference}


def judged(ranking: Ranked, judgements: Judgements, k: int) -> float:
    """The share of the first `k` that was judged at all; 0 for an empty ranking. Where it is low, the other metrics
    say more about the judgements than about the ranking."""
    first = _first(ranking, k)
    return sum(document in judgements for document in first) / len(first) if first else 0.0


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
