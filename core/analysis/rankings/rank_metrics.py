"""Rank similarity metrics: rank-biased overlap and Jaccard similarity. Items are any hashable names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

PERSISTENCE = 0.9
"""The probability p that a reader looks at one more item; with 0.9 the first ten ranks have 86 % of the weight."""


def rank_biased_overlap(
    first: Sequence[Hashable], other: Sequence[Hashable], *, p: float = PERSISTENCE
) -> float:
    """Extrapolated rank-biased overlap, from 0 (nothing in common) to 1 (the same order).

    Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", ACM TOIS 28(4), 2010, equation
    32, which allows lists of two lengths. Two empty lists agree. No item may occur twice in a list.
    """
    short, long = sorted((first, other), key=len)
    s, l = len(short), len(long)  # noqa: E741  # the names of the paper
    if not l:
        return 1.0
    if not s:
        return 0.0
    seen_short: set[Hashable] = set()
    seen_long: set[Hashable] = set()
    shared = shared_at_s = 0
    total = 0.0
    for depth in range(1, l + 1):
        item = long[depth - 1]
        seen_long.add(item)
        shared += item in seen_short
        if depth <= s:
            seen_short.add(short[depth - 1])
            shared += short[depth - 1] in seen_long
        if depth == s:
            shared_at_s = shared
        agreed = shared / depth
        if depth > s:
            agreed += shared_at_s * (depth - s) / (s * depth)
        total += agreed * p**depth
    extrapolated = ((shared - shared_at_s) / l + shared_at_s / s) * p**l
    return min(max((1 - p) / p * total + extrapolated, 0.0), 1.0)


def jaccard(first: Sequence[Hashable], other: Sequence[Hashable], k: int) -> float:
    """Jaccard similarity of the first k items of both lists; 1 when both are empty."""
    union = {*first[:k], *other[:k]}
    return len({*first[:k]} & {*other[:k]}) / len(union) if union else 1.0
