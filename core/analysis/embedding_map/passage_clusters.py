"""Topic clusters of passages: spherical k-means, and cluster names from distinctive terms."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.text.bm25_index import tokens

MAX_CLUSTERS = 8
"""The most clusters by default: more colours are hard to tell from each other."""

_ITERATIONS = 25

Vectors = NDArray[np.float32]
Labels = NDArray[np.int64]


def default_cluster_count(passages: int) -> int:
    """Return the default number of clusters.

    It is the square root of half the passages, from 1 to `MAX_CLUSTERS`.
    """
    return max(1, min(MAX_CLUSTERS, round(math.sqrt(passages / 2)))) if passages else 0


def k_means(vectors: Vectors, count: int) -> Labels:
    """Assign a cluster to each row of unit vectors by spherical k-means (Dhillon and Modha, 2001).

    At most `count` clusters are numbered from 0 by falling size. The first centre is the row nearest to the mean, each
    next centre the row farthest from all centres, so the result is reproducible.
    """
    rows = len(vectors)
    if not rows or count < 1:
        return np.zeros(rows, dtype=np.int64)
    finite = np.nan_to_num(vectors)
    centres = _seeds(finite, min(count, rows))
    labels = np.zeros(rows, dtype=np.int64)
    for _ in range(_ITERATIONS):
        before = labels
        labels = np.argmax(finite @ centres.T, axis=1).astype(np.int64)
        if (labels == before).all() and _:
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, finite)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    sizes = np.bincount(labels, minlength=len(centres))
    places = np.empty(len(centres), dtype=np.int64)
    places[np.argsort(-sizes, kind="stable")] = np.arange(len(centres))
    return places[labels]


def _seeds(vectors: Vectors, count: int) -> Vectors:
    """Return initial centres far from each other, fewer than `count` if fewer rows are distinct."""
    chosen = [int(np.argmax(vectors @ vectors.mean(axis=0)))]
    nearest = vectors @ vectors[chosen[0]]
    while len(chosen) < count:
        farthest = int(np.argmin(nearest))
        if nearest[farthest] > 1 - 1e-5:
            break
        chosen.append(farthest)
        nearest = np.maximum(nearest, vectors @ vectors[farthest])
    return vectors[chosen].copy()


def cluster_names(texts: Sequence[str], labels: Labels) -> tuple[str, ...]:
    """Name each cluster by its three most distinctive words.

    A word's weight is the number of the cluster's texts with the word times log(texts / texts with the word), which is
    tf-idf over documents. A single cluster is named by its most frequent words.
    """
    count = int(labels.max()) + 1 if len(labels) else 0
    inside = [Counter[str]() for _ in range(count)]
    for text, label in zip(texts, labels.tolist(), strict=True):
        inside[label].update({word for word in tokens(text) if len(word) > 2 or not word.isascii()})
    everywhere = sum(inside, Counter[str]())

    def weight(item: tuple[str, int]) -> tuple[float, int, str]:
        word, times = item
        return -times * math.log(len(texts) / everywhere[word]), -times, word

    return tuple(", ".join(word for word, _ in sorted(cluster.items(), key=weight)[:3]) for cluster in inside)
