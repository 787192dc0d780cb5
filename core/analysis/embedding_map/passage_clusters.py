"""Passages grouped by what they are about, and what each group has in common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.text.lexicon import tokens

MOST = 8
"""The most groups that are made unless a number is asked for: what eight colours can tell apart."""

_ROUNDS = 25

Vectors = NDArray[np.float32]
Labels = NDArray[np.int64]


def usual_count(passages: int) -> int:
    """A number of groups for so many passages: the root of half of them, from 1 to `MOST`."""
    return max(1, min(MOST, round(math.sqrt(passages / 2)))) if passages else 0


def grouped(vectors: Vectors, count: int) -> Labels:
    """A group for each row of unit vectors, numbered from 0 by falling size; at most `count` groups.

    Spherical k-means (Dhillon and Modha, 2001). The first centre is the row nearest to the mean, each
    further one the row farthest from all centres, so the same vectors always give the same groups.
    """
    rows = len(vectors)
    if not rows or count < 1:
        return np.zeros(rows, dtype=np.int64)
    known = np.nan_to_num(vectors)
    centres = _seeds(known, min(count, rows))
    labels = np.zeros(rows, dtype=np.int64)
    for _ in range(_ROUNDS):
        before = labels
        labels = np.argmax(known @ centres.T, axis=1).astype(np.int64)
        if (labels == before).all() and _:
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, known)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    sizes = np.bincount(labels, minlength=len(centres))
    places = np.empty(len(centres), dtype=np.int64)
    places[np.argsort(-sizes, kind="stable")] = np.arange(len(centres))
    return places[labels]


def _seeds(vectors: Vectors, count: int) -> Vectors:
    """Rows far from each other; fewer than `count` when there are not so many different ones."""
    chosen = [int(np.argmax(vectors @ vectors.mean(axis=0)))]
    nearest = vectors @ vectors[chosen[0]]
    while len(chosen) < count:
        farthest = int(np.argmin(nearest))
        if nearest[farthest] > 1 - 1e-5:
            break
        chosen.append(farthest)
        nearest = np.maximum(nearest, vectors @ vectors[farthest])
    return vectors[chosen].copy()


def names(texts: Sequence[str], labels: Labels, words: int = 3) -> tuple[str, ...]:
    """A name for each group: the words it has more of than the others, as `word, word, word`.

    Words are weighed by the number of the group's texts they are in times log(texts / texts they are in),
    so that those which are everywhere weigh nothing. A single group is named by its most frequent words.
    """
    count = int(labels.max()) + 1 if len(labels) else 0
    inside = [Counter[str]() for _ in range(count)]
    for text, label in zip(texts, labels.tolist(), strict=True):
        inside[label].update({word for word in tokens(text) if len(word) > 2 or not word.isascii()})
    everywhere = sum(inside, Counter[str]())

    def weight(item: tuple[str, int]) -> tuple[float, int, str]:
        word, times = item
        return -times * math.log(len(texts) / everywhere[word]), -times, word

    return tuple(", ".join(word for word, _ in sorted(group.items(), key=weight)[:words]) for group in inside)
