"""Embedding map: texts of a run, projected to two dimensions by PCA or UMAP."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from core.analysis.embedding_map.text_vectors import Vectors, embed_texts
from core.errors import BadInput
from core.model import Index
from core.ports import Embed
from core.run.state import Run

UMAP_MIN_POINTS, UMAP_MAX_POINTS = 16, 5000
"""The fewest points for UMAP, and the most, because more take too long."""
_UMAP_NEIGHBOURS = 15
_OVERSAMPLING = 6
"""Oversampling: extra directions to compute, so that few iterations suffice."""
_ITERATIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projection:
    """Projected points.

    `points` has shape (n, 2), `question` (2,), or a row for each other text. `explained` is the share of the variance
    on each axis.
    """

    points: NDArray[np.float32]
    question: NDArray[np.float32]
    explained: tuple[float, float]


def project(vectors: NDArray[np.float32], question: NDArray[np.float32]) -> Projection:
    """Project vectors onto their first two principal components.

    Randomised subspace iteration (Halko, Martinsson and Tropp, 2011) from a fixed start makes the result reproducible.
    Each axis points to where its largest coordinate is positive. If all rows are equal, they fall on the origin, with
    no variance explained. Rows of NaN have points of NaN.
    """
    known = ~np.isnan(vectors).any(axis=1)
    if not known.all():
        projected = project(vectors[known], question)
        points = np.full((len(vectors), 2), np.nan, np.float32)
        points[known] = projected.points
        return replace(projected, points=points)
    rows, width = vectors.shape
    if rows == 0:
        return _flat(0, question)
    centre = vectors.mean(axis=0, dtype=np.float32)
    spread = vectors - centre
    total = float(np.einsum("ij,ij->", spread, spread, dtype=np.float64))
    if total <= 1e-9 * rows:
        return _flat(rows, question)
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


def passage_projection(
    index: Index, first: Collection[str], others: NDArray[np.float32] | None = None
) -> Projection | None:
    """Project the passages of an index and its question, or rows of other texts, or return None without vectors.

    Passages with the ids `first`, which were embedded first, keep their positions while others are added.
    """
    if index.vectors is None or index.question is None:
        return None
    question = index.question if others is None else others
    ids, waiting = frozenset(first), frozenset(index.waiting.tolist())
    rows = [row for row, passage in enumerate(index.passages) if passage.id in ids and row not in waiting]
    if rows:
        return project_more(index.vectors, question, rows)
    return project(index.vectors, question)


def project_more(
    vectors: NDArray[np.float32], question: NDArray[np.float32], first: Sequence[int]
) -> Projection:
    """Project the vectors, aligned with the map of `first`.

    Orthogonal Procrustes keeps known points in place while others are added.
    """
    projected, alone = project(vectors, question), project(vectors[first], question).points
    points = projected.points[first]
    left, _, right = np.linalg.svd((points - points.mean(axis=0)).T @ (alone - alone.mean(axis=0)))
    turn = left @ right
    return replace(projected, points=projected.points @ turn, question=projected.question @ turn)


def _flat(rows: int, question: NDArray[np.float32]) -> Projection:
    return Projection(
        points=np.zeros((rows, 2), np.float32),
        question=np.zeros((*question.shape[:-1], 2), np.float32),
        explained=(0.0, 0.0),
    )


class PointKind(StrEnum):
    """The kind of a point's text."""

    PASSAGE = "passage"
    QUERY = "query"
    SENTENCE = "sentence of the answer"
    QUESTION = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One embedded text. `row` is a passage's row in the index, `number` the number of a query or sentence, from 1."""

    kind: PointKind
    text: str
    row: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EmbeddingMap:
    """`points[i]` has the unit vector `vectors[i]` and the position `projection.points[i]`.

    Passages come first, in the order of the index, the question last.
    """

    points: tuple[Point, ...]
    vectors: Vectors
    projection: Projection


async def embedding_map(run: Run, embed: Embed) -> EmbeddingMap | None:
    """Project the run's texts onto the first two principal components of its passages, or return None without vectors.

    Passages have the positions and the share of the variance of `passage_projection`.

    Raises:
        EmbedFailed: when the embedder fails, or is not the one that embedded the run.
    """
    index = run.index
    if index is None or index.vectors is None or index.question is None or not index.passages:
        return None
    passages = [
        Point(kind=PointKind.PASSAGE, text=passage.text, row=row)
        for row, passage in enumerate(index.passages)
    ]
    queries = [
        Point(kind=PointKind.QUERY, text=query.text, number=number)
        for number, query in enumerate(run.queries, 1)
    ]
    sentences = [
        Point(kind=PointKind.SENTENCE, text=sentence.text, number=number)
        for number, sentence in enumerate(run.check.sentences, 1)
    ]
    other_vectors = await embed_texts([point.text for point in (*queries, *sentences)], embed, index=index)
    others = np.concatenate([other_vectors, index.question[None]])
    projected = passage_projection(index, run.embedded_for_answer, others)
    if projected is None:
        return None
    return EmbeddingMap(
        points=(*passages, *queries, *sentences, Point(kind=PointKind.QUESTION, text=run.question)),
        vectors=np.nan_to_num(np.concatenate([index.vectors, others])),
        projection=replace(
            projected,
            points=np.concatenate([projected.points, projected.question]),
            question=projected.question[-1],
        ),
    )


def neighbours(embedding_map: EmbeddingMap, point: int, count: int = 10) -> tuple[tuple[int, float], ...]:
    """Return the nearest points by cosine, with their cosines.

    All dimensions count. The most similar comes first.
    """
    cosine: NDArray[np.float32] = embedding_map.vectors @ embedding_map.vectors[point]
    order = [other for other in np.argsort(-cosine, kind="stable").tolist() if other != point]
    return tuple((other, float(cosine[other])) for other in order[:count])


def has_umap() -> bool:
    """Return whether the optional package umap-learn is installed."""
    return find_spec("umap") is not None


def umap_projection(embedding_map: EmbeddingMap) -> EmbeddingMap:
    """Return the map projected by UMAP (McInnes, Healy and Melville, 2018) by cosine, reproducibly with a fixed seed.

    `explained` is (0, 0), because UMAP explains no share of the variance.

    Raises:
        BadInput: when the package is missing, or there are too few points or too many.
    """
    count = len(embedding_map.points)
    if not has_umap():
        raise BadInput("UMAP is not installed.", hint="Run: pip install -r requirements-umap.txt")
    if not UMAP_MIN_POINTS <= count <= UMAP_MAX_POINTS:
        raise BadInput(
            f"UMAP needs {UMAP_MIN_POINTS} to {UMAP_MAX_POINTS:,} points; there are {count:,}.",
            hint="Use the PCA projection.",
        )
    from umap import UMAP

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP warns that a fixed seed means one thread
        model = UMAP(
            n_neighbors=min(_UMAP_NEIGHBOURS, count - 1),
            min_dist=0.1,
            metric="cosine",
            random_state=0,
            n_jobs=1,
        )
        points = np.asarray(model.fit_transform(embedding_map.vectors), dtype=np.float32)
    points = np.nan_to_num(points - points.mean(axis=0))
    projection = Projection(points=points, question=points[-1], explained=(0.0, 0.0))
    return replace(embedding_map, projection=projection)
