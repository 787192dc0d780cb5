"""What is expected of passages that wait for their vectors."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.config.knobs import Knobs, RankKnobs
from core.config.settings import HANDBOOK, Settings
from core.model import Article, Index, Page
from core.runtime.engine import Engine
from core.stages.chunk import passages_of
from core.stages.rank import rank, waiting_above
from core.stages.ranking.cosine_estimate import cosine_estimate

QUESTION = "When is hybrid search better than search with vectors alone?"


@pytest.fixture(scope="module")
def whole(shared_warm_folder: Path) -> Index:
    """The passages of the handbook with their vectors, which are in the cache."""
    pages = [
        Page(key=path.stem, url="", title="", article=Article(text=path.read_text("utf-8"), extractor=""))
        for path in sorted(HANDBOOK.glob("*.md"))
    ]
    passages = tuple(passage for page in pages for passage in passages_of(page, Knobs().chunk))

    async def embed() -> Index:
        async with Engine(Settings(data=shared_warm_folder, ollama_url="")) as engine:
            embedder = await engine.models.embedder()
            vectors, cached, _ = await embedder([QUESTION, *(passage.text for passage in passages)])
            assert cached > 0.9 * len(passages)
            return Index(
                passages=passages, vectors=vectors[1:], question=vectors[0], embedder=embedder.identity
            )

    return asyncio.run(embed())


def half(index: Index) -> Index:
    """The index of which every second passage waits."""
    assert index.vectors is not None
    vectors = index.vectors.copy()
    vectors[::2] = np.nan
    return replace(index, vectors=vectors)


@pytest.mark.thorough
def test_words_predict_much_of_a_missing_cosine(whole: Index) -> None:
    estimate = cosine_estimate(QUESTION, half(whole))
    assert estimate is not None and whole.vectors is not None and whole.question is not None
    np.testing.assert_array_equal(estimate.rows, np.arange(0, len(whole.passages), 2))
    cosine = np.vecdot(whole.vectors, whole.question)[estimate.rows]
    assert np.corrcoef(estimate.mean, cosine)[0, 1] > 0.6
    within = np.abs(cosine - estimate.mean) <= 2 * estimate.deviation
    assert within.mean() > 0.85


def test_expected_and_actual_passages_above_a_cosine_are_close(whole: Index) -> None:
    above = waiting_above(QUESTION, half(whole), {})
    assert above is not None and whole.vectors is not None and whole.question is not None
    cosine = np.vecdot(whole.vectors, whole.question)
    waiting, embedded = cosine[::2], cosine[1::2]
    true = np.array([np.count_nonzero(waiting > value) for value in embedded])
    assert np.isnan(above[::2]).all()
    assert np.abs(above[1::2] - true).mean() < 0.06 * len(waiting)
    order = np.argsort(embedded)
    assert (np.diff(above[1::2][order]) <= 0).all()


def test_ranks_counting_waiting_passages_are_nearer_the_final(whole: Index) -> None:
    final = rank(QUESTION, whole, RankKnobs()).fused
    counted = rank(QUESTION, half(whole), RankKnobs()).fused
    assert final is not None and counted is not None and whole.vectors is not None
    alone = rank(
        QUESTION, replace(whole, passages=whole.passages[1::2], vectors=whole.vectors[1::2]), RankKnobs()
    )
    assert alone.fused is not None
    assert np.abs(counted - final)[1::2].mean() < np.abs(alone.fused - final[1::2]).mean()


def test_nothing_is_expected_without_waiting_passages_or_data(whole: Index) -> None:
    assert cosine_estimate(QUESTION, whole) is None
    assert whole.vectors is not None
    assert cosine_estimate(QUESTION, replace(whole, vectors=np.full_like(whole.vectors, np.nan))) is None


@pytest.mark.parametrize("embedded", [1, 2])
def test_one_or_two_vectors_are_enough_for_an_estimate(whole: Index, embedded: int) -> None:
    assert whole.vectors is not None
    vectors = whole.vectors.copy()
    vectors[embedded:] = np.nan
    ranking = rank(QUESTION, replace(whole, vectors=vectors), RankKnobs())
    assert ranking.fused is not None and np.isfinite(ranking.fused).all()


def test_each_question_of_an_index_has_its_own_estimate(whole: Index) -> None:
    index = half(whole)
    estimates = [cosine_estimate(question, index) for question in (QUESTION, "What does BM25 weigh?")]
    assert estimates[0] is not None and estimates[1] is not None
    assert not np.array_equal(estimates[0].mean, estimates[1].mean)
