"""Principal component analysis of vectors onto two dimensions, fast enough for interactive use."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

_OVERSAMPLING = 6
"""Oversampling: directions computed beyond the two that are returned, so that few iterations suffice."""
_ITERATIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projection:
    """`points` has shape (n, 2), `question` (2,). `explained` is the share of the variance on each axis."""

    points: NDArray[np.float32]
    question: NDArray[np.float32]
    explained: tuple[float, float]


def project(vectors: NDArray[np.float32], question: NDArray[np.float32]) -> Projection:
    """The first two principal components of the rows of `vectors`, and the question in the same projection.

    Randomised subspace iteration (Halko, Martinsson and Tropp, 2011) from a fixed start, so the result
    is reproducible; each axis points to where its largest coordinate is positive. Rows that do not differ
    all fall on the origin, with no variance explained. Rows that are not numbers have points that are none.
    """
    known = ~np.isnan(vectors).any(axis=1)
    if not known.all():
        projected = project(vectors[known], question)
        points = np.full((len(vectors), 2), np.nan, np.float32)
        points[known] = projected.points
        return replace(projected, points=points)
    rows, width = vectors.shape
    if rows == 0:
        return _flat(0)
    centre = vectors.mean(axis=0, dtype=np.float32)
    spread = vectors - centre
    total = float(np.einsum("ij,ij->", spread, spread, dtype=np.float64))
    if total <= 1e-9 * rows:
        return _flat(rows)
    components = min(2 + _OVERSAMPLING, rows, width)
    basis = np.random.default_rng(0).standard_normal((width, components)).astype(np.float32)
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(spread.T @ (spread @ basis))[0]
    small = spread @ basis
    variances, turns = np.linalg.eigh((small.T @ small).astype(np.float64))
    axes = np.zeros((width, 2), np.float32)
    axes[:, : min(2, components)] = (basis @ turns[:, ::-1].astype(np.float32))[:, :2]
    points = spread @ axes
    largest = np.abs(points).argmax(axis=0)
    signs = np.where(points[largest, [0, 1]] < 0, -1, 1).astype(np.float32)
    shares = [*np.clip(variances[::-1][:2] / total, 0, 1), 0.0][:2]
    return Projection(
        points=(points * signs).astype(np.float32),
        question=((question - centre) @ axes * signs).astype(np.float32),
        explained=(float(shares[0]), float(shares[1])),
    )


def _flat(rows: int) -> Projection:
    return Projection(
        points=np.zeros((rows, 2), np.float32), question=np.zeros(2, np.float32), explained=(0.0, 0.0)
    )
