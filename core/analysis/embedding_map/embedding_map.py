"""Embedding map: question, passages, queries and answer sentences, projected to two dimensions by PCA."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from core.analysis.embedding_map.pca import Projection, project
from core.analysis.embedding_map.text_vectors import Vectors, embed_texts
from core.ports import Embed
from core.run.state import Run


class PointKind(StrEnum):
    """What the text of a point is."""

    PASSAGE = "passage"
    QUERY = "query"
    SENTENCE = "sentence of the answer"
    QUESTION = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One embedded text. `row` is a passage's row in the index, `number` that of a query or sentence, from 1."""

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
    """Project the run's texts onto their first two principal components; None where the passages have no vectors.

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
    vectors = np.nan_to_num(np.concatenate([index.vectors, other_vectors, index.question[None]]))
    return EmbeddingMap(
        points=(*passages, *queries, *sentences, Point(kind=PointKind.QUESTION, text=run.question)),
        vectors=vectors,
        projection=project(vectors, index.question),
    )


def neighbours(embedding_map: EmbeddingMap, point: int, count: int = 10) -> tuple[tuple[int, float], ...]:
    """The nearest neighbours of the point at `at` by cosine in all dimensions, most similar first, with their cosines."""
    cosine: NDArray[np.float32] = embedding_map.vectors @ embedding_map.vectors[point]
    order = [other for other in np.argsort(-cosine, kind="stable").tolist() if other != point]
    return tuple((other, float(cosine[other])) for other in order[:count])
