import numpy as np
import pytest
from numpy.typing import NDArray

from core.analysis.embedding_map.embedding_map import project, project_more


def cloud(rows: int, width: int, seed: int = 3) -> NDArray[np.float32]:
    noise = np.random.default_rng(seed)
    stretched = noise.standard_normal((rows, width)) * np.geomspace(3, 0.05, width)
    return (stretched / np.linalg.norm(stretched, axis=1, keepdims=True)).astype(np.float32)


def test_coordinates_are_those_of_an_exact_decomposition() -> None:
    vectors = cloud(400, 48)
    spread = vectors - vectors.mean(axis=0)
    left, values, _ = np.linalg.svd(spread, full_matrices=False)
    projection = project(vectors, vectors[7])
    assert np.allclose(np.abs(projection.points), np.abs(left[:, :2] * values[:2]), atol=2e-3)
    assert projection.explained == pytest.approx(tuple(values[:2] ** 2 / (values**2).sum()), abs=1e-4)


def test_question_lies_where_a_passage_with_its_vector_lies() -> None:
    vectors = cloud(50, 16)
    projection = project(vectors, vectors[7])
    assert np.allclose(projection.question, projection.points[7], atol=1e-5)


def test_the_picture_does_not_flip_between_two_looks() -> None:
    vectors = cloud(300, 32)
    again = project(vectors.copy(), vectors[0]).points
    assert np.array_equal(project(vectors, vectors[0]).points, again)
    assert (again[np.abs(again).argmax(axis=0), [0, 1]] > 0).all()


def test_points_stay_where_they_are_while_others_are_added() -> None:
    vectors = cloud(900, 32)
    vectors[300:] = np.roll(vectors[300:], 1, axis=1) + 0.4  # others, for which the axes point elsewhere
    first = list(range(100))
    alone = project(vectors[first], vectors[0]).points
    spread = np.linalg.norm(alone - alone.mean(axis=0))

    def moved(points: NDArray[np.float32]) -> float:
        points = points[first]
        return float(np.linalg.norm(points - points.mean(axis=0) - alone + alone.mean(axis=0)) / spread)

    added = project_more(vectors, vectors[0], first)
    mirrored = [project(vectors, vectors[0]).points * signs for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
    assert moved(added.points) <= min(map(moved, mirrored)) + 1e-4
    assert np.allclose(added.question, added.points[0], atol=1e-4)
    assert np.allclose(
        np.linalg.norm(added.points, axis=1),
        np.linalg.norm(project(vectors, vectors[0]).points, axis=1),
        atol=1e-4,
    ), "it is turned, not stretched"
    assert np.allclose(project_more(vectors[first], vectors[0], first).points, alone, atol=1e-4)


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_a_few_passages_are_enough(rows: int) -> None:
    vectors = cloud(rows, 8) if rows else np.zeros((0, 8), np.float32)
    projection = project(vectors, np.ones(8, np.float32))
    assert projection.points.shape == (rows, 2)
    assert np.isfinite(projection.points).all()
    assert np.isfinite(projection.question).all()


def test_passages_that_do_not_differ_explain_nothing() -> None:
    vectors = np.tile(cloud(1, 8), (20, 1))
    projection = project(vectors, vectors[0])
    assert projection.explained == (0.0, 0.0)
    assert not projection.points.any()


def test_vectors_on_a_line_leave_the_second_axis_empty() -> None:
    vectors = np.outer(np.linspace(-1, 1, 30), cloud(1, 12)[0]).astype(np.float32)
    projection = project(vectors, vectors[0])
    assert projection.explained[0] == pytest.approx(1, abs=1e-4)
    assert np.allclose(projection.points[:, 1], 0, atol=1e-4)
