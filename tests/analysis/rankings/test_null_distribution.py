from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapters.models.local_embedder import MiniLM
from core.analysis.rankings.null_distribution import UNRELATED_QUESTIONS, null_distribution
from core.analysis.rankings.score_curve import elbow
from core.errors import EmbedFailed
from core.run.state import Run
from core.stages.rank import rank
from tests.analysis.sample import TEXTS, run_of
from tests.stages.fakes import NoEmbed, WordEmbed


async def test_a_question_about_the_passages_scores_above_chance() -> None:
    run = run_of(top_k=2)
    distribution = await null_distribution(run, WordEmbed())
    assert distribution is not None
    assert distribution.median < distribution.percentile_99
    assert distribution.above >= 1
    assert (distribution.passages, distribution.context) == (3, 2)
    assert f"{distribution.above} of 3" in distribution.summary
    assert sum(distribution.question_shares) == pytest.approx(1)
    assert sum(distribution.unrelated_shares) == pytest.approx(1)
    assert len(distribution.edges) == len(distribution.question_shares) + 1


async def test_unrelated_question_scores_no_better_than_chance() -> None:
    run = run_of(question="Whither quokkas?")
    distribution = await null_distribution(run, WordEmbed())
    assert distribution is not None
    assert distribution.above <= 1


async def test_a_real_embedder_tells_the_difference_too() -> None:
    embed = MiniLM(threads=1)
    run = run_of()
    assert run.index is not None
    for question, above in ((run.question, True), ("Who won the chess tournament in Oslo?", False)):
        texts = [passage.text for passage in run.index.passages]
        vectors, asked = (await embed(texts)).vectors, (await embed([question])).vectors[0]
        index = replace(run.index, vectors=vectors, question=asked, embedder=embed.identity)
        real = replace(run, index=index, ranking=rank(question, index, run.knobs.rank))
        distribution = await null_distribution(real, embed)
        assert distribution is not None
        assert (distribution.above > 0) is above
    embed.close()


async def test_without_vectors_there_is_nothing_to_compare() -> None:
    run = run_of()
    assert run.index is not None
    assert await null_distribution(Run(question="?"), NoEmbed()) is None
    assert (
        await null_distribution(
            replace(run, index=replace(run.index, vectors=None, question=None)), NoEmbed()
        )
        is None
    )
    assert await null_distribution(run_of({}), WordEmbed()) is None


async def test_other_embedder_than_the_runs_is_refused_with_advice() -> None:
    class Narrow(WordEmbed):
        async def vectors(self, texts):  # type: ignore[no-untyped-def]
            return (await super().vectors(texts))[:, :64]

    with pytest.raises(EmbedFailed) as refused:
        await null_distribution(run_of(), Narrow())
    assert refused.value.hint


async def test_one_passage_and_identical_ones_have_a_histogram_too() -> None:
    for texts in ({"https://a.example/": "A river."}, dict.fromkeys(TEXTS, "The same boat.")):
        distribution = await null_distribution(run_of(texts), WordEmbed())
        assert distribution is not None
        assert sum(distribution.question_shares) == pytest.approx(1)


def test_the_elbow_is_where_the_curve_flattens() -> None:
    falling = np.array([0.9, 0.85, 0.8, 0.3, 0.29, 0.28, 0.27, 0.26, 0.25], dtype=np.float32)
    assert elbow(falling) == 3


@pytest.mark.parametrize("scores", [[], [0.4], [0.4, 0.3], [0.5] * 9, [0.9, 0.8, 0.7, 0.6, 0.5]])
def test_a_curve_without_a_bend_has_no_elbow(scores: list[float]) -> None:
    assert elbow(np.array(scores, dtype=np.float32)) is None


@given(st.lists(st.floats(-1, 1, width=32), max_size=60))
def test_the_elbow_is_a_rank_of_the_curve(scores: list[float]) -> None:
    cut_off = elbow(np.array(sorted(scores, reverse=True), dtype=np.float32))
    assert cut_off is None or 1 <= cut_off < len(scores)


def test_the_unrelated_questions_are_all_different() -> None:
    assert len(set(UNRELATED_QUESTIONS)) == len(UNRELATED_QUESTIONS) == 40
