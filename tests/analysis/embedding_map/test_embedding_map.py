import asyncio
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.embedding_map.embedding_map import PointKind, embedding_map, neighbours, passage_projection
from core.analysis.embedding_map.passage_clusters import cluster_names, default_cluster_count, k_means
from core.errors import EmbedFailed
from core.model import Index, Passage, Place
from core.run.state import Run
from tests.analysis.sample import run_of
from tests.growth import LINEAR, growth
from tests.stages.fakes import NoEmbed, WordEmbed

PASSAGES = (
    "A red boat lies on the river.",
    "The river carries a boat with a red sail.",
    "Paper lamps hang over the table.",
    "Lamps of paper burn over a table.",
)
TEXTS = {f"https://{n}.example/": text for n, text in enumerate(PASSAGES)}
RUN = run_of(TEXTS, answer="A boat lies on the river [1]. Lamps hang over a table [3].")


async def test_everything_that_has_a_meaning_is_in_one_space() -> None:
    projected = await embedding_map(RUN, WordEmbed())
    assert projected is not None
    assert [point.kind for point in projected.points] == [
        *[PointKind.PASSAGE] * 4,
        PointKind.QUERY,
        *[PointKind.SENTENCE] * 2,
        PointKind.QUESTION,
    ]
    assert len(projected.vectors) == len(projected.projection.points) == len(projected.points)
    assert 0.3 < sum(projected.projection.explained) <= 1
    boat = projected.points.index(
        next(point for point in projected.points if point.kind is PointKind.SENTENCE)
    )
    assert neighbours(projected, boat, count=1)[0][0] in (0, 1)


async def test_map_with_other_texts_has_the_variance_of_passages() -> None:
    projected = await embedding_map(RUN, WordEmbed())
    assert projected is not None and RUN.index is not None
    passages = passage_projection(RUN.index, RUN.embedded_for_answer)
    assert passages is not None
    assert projected.projection.explained == passages.explained
    assert np.array_equal(projected.projection.points[: len(passages.points)], passages.points)
    assert np.allclose(projected.projection.question, passages.question, atol=1e-5)


async def test_passages_that_wait_for_their_vectors_turn_no_axis() -> None:
    assert RUN.index is not None and RUN.index.vectors is not None
    waiting = RUN.index.with_vectors(
        np.array([1]), np.full((1, RUN.index.vectors.shape[1]), np.nan, np.float32)
    )
    projected = await embedding_map(replace(RUN, index=waiting), WordEmbed())
    assert projected is not None
    assert np.flatnonzero(np.isnan(projected.projection.points[:, 0])).tolist() == [1]
    assert np.isfinite(projected.vectors).all()


async def test_equal_texts_coincide_and_are_nearest_neighbours() -> None:
    projected = await embedding_map(run_of(TEXTS, question=PASSAGES[0], answer=PASSAGES[0]), WordEmbed())
    assert projected is not None
    places = [at for at, point in enumerate(projected.points) if point.text == PASSAGES[0]]
    assert len(places) == 4
    for at in places:
        np.testing.assert_allclose(
            projected.projection.points[at], projected.projection.points[places[0]], atol=1e-5
        )
    near = neighbours(projected, 0)
    assert {at for at, _ in near[:3]} == set(places) - {0}
    assert near[0][1] == pytest.approx(1)
    assert [cosine for _, cosine in near] == sorted((cosine for _, cosine in near), reverse=True)


async def test_without_vectors_there_is_a_reason_and_no_map() -> None:
    assert await embedding_map(Run(question="?"), NoEmbed()) is None
    assert await embedding_map(run_of({}), WordEmbed()) is None

    class Narrow(WordEmbed):
        async def vectors(self, texts):  # type: ignore[no-untyped-def]
            return (await super().vectors(texts))[:, :64]

    class Other(WordEmbed):
        identity = "another of the same width"

    for embed in (Narrow(), Other()):
        with pytest.raises(EmbedFailed) as refused:
            await embedding_map(RUN, embed)
        assert refused.value.hint


@pytest.mark.parametrize("texts", [["one"], ["same"] * 4])
async def test_one_passage_and_identical_ones_make_a_map(texts: list[str]) -> None:
    run = run_of({f"https://{n}.example/": text for n, text in enumerate(texts)})
    projected = await embedding_map(replace(run, queries=()), WordEmbed())
    assert projected is not None
    assert np.isfinite(projected.projection.points).all()
    assert run.index is not None and run.index.vectors is not None
    assert set(k_means(run.index.vectors, 3).tolist()) == {0}


# --- groups -----------------------------------------------------------------------------------------------


def test_passages_on_one_subject_are_one_named_group() -> None:
    assert RUN.index is not None and RUN.index.vectors is not None
    labels = k_means(RUN.index.vectors, 2)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    names = cluster_names(PASSAGES, labels)
    assert set(names[labels[0]].split(", ")) <= {
        "boat",
        "river",
        "red",
        "the",
        "carries",
        "lies",
        "sail",
        "with",
    }
    assert {"lamps", "paper", "table", "over"} >= set(names[labels[2]].split(", "))


@given(st.integers(0, 40), st.integers(0, 12), st.integers(0, 3))
def test_groups_are_numbered_by_size_and_cover_every_passage(rows: int, count: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).standard_normal((rows, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = k_means(vectors, count)
    assert len(labels) == rows
    sizes = np.bincount(labels) if rows else np.array([])
    assert len(sizes) <= max(count, 1)
    assert (np.diff(sizes) <= 0).all()
    assert (k_means(vectors, count) == labels).all()


def test_groups_never_outnumber_the_eight_colours() -> None:
    assert [default_cluster_count(n) for n in (0, 1, 2, 50, 10_000)] == [0, 1, 1, 5, 8]
    assert cluster_names([], np.array([], dtype=np.int64)) == ()


def large(count: int) -> Index:
    passages = tuple(
        Passage(text=f"river boat {n % 50}", place=Place(page=f"p{n}", start=0, end=10)) for n in range(count)
    )
    vectors = np.random.default_rng(1).standard_normal((count, 256)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Index(passages=passages, vectors=vectors, question=vectors[0], embedder="words@test")


@pytest.mark.slow
def test_time_to_place_and_group_passages_grows_linearly() -> None:
    def place(index: Index) -> None:
        assert index.vectors is not None
        assert asyncio.run(embedding_map(Run(question="?", index=index), WordEmbed())) is not None
        labels = k_means(index.vectors, 8)
        assert len(cluster_names([passage.text for passage in index.passages], labels)) == 8

    assert growth(large, place, 1_000, 10_000) < LINEAR
