"""Everything of a run that has a meaning, on one plane: question, passages, queries, sentences of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from core.analysis.embedding_map.pca import Projection, project
from core.analysis.embedding_map.text_vectors import Vectors, vectors_of
from core.ports import Embed
from core.run.state import Run


class PointKind(StrEnum):
    PASSAGE = "passage"
    QUERY = "query"
    SENTENCE = "sentence of the answer"
    QUESTION = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One text. `row` is a passage's row in the index, `number` that of a query or sentence, from 1."""

    kind: PointKind
    text: str
    row: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EmbeddingMap:
    """`points[i]` has the unit vector `vectors[i]`, and `plane.points[i]` on the plane.

    Passages come first, in the order of the index, the question last.
    """

    points: tuple[Point, ...]
    vectors: Vectors
    plane: Projection


async def embedding_map(run: Run, embed: Embed) -> EmbeddingMap | None:
    """The plane of the run's first two principal components; None where the passages have no vectors.

    Raises:
        EmbedFailed: when the embedder does, or is not the one that embedded the run.
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
        Point(kind=PointKind.SENTENCE, text=run.text[one.start : one.end], number=number)
        for number, one in enumerate(run.check.sentences, 1)
    ]
    others = await vectors_of([point.text for point in (*queries, *sentences)], embed, beside=index)
    vectors = np.nan_to_num(np.concatenate([index.vectors, others, index.question[None]]))
    return EmbeddingMap(
        points=(*passages, *queries, *sentences, Point(kind=PointKind.QUESTION, text=run.question)),
        vectors=vectors,
        plane=project(vectors, index.question),
    )


def neighbours(found: EmbeddingMap, at: int, count: int = 10) -> tuple[tuple[int, float], ...]:
    """The points most similar to the one at `at` with their cosines, most similar first, in all dimensions."""
    cosine: NDArray[np.float32] = found.vectors @ found.vectors[at]
    order = [other for other in np.argsort(-cosine, kind="stable").tolist() if other != at]
    return tuple((other, float(cosine[other])) for other in order[:count])
