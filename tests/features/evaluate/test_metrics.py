"""Metrics of one ranking: worked examples of the literature, and ir-measures as the oracle."""

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.features.evaluate.metrics import ranking_metrics

DOCUMENTS = [f"d{number}" for number in range(12)]
RANKINGS = st.permutations(DOCUMENTS).flatmap(
    lambda order: st.integers(0, len(order)).map(lambda length: order[:length])
)
JUDGEMENTS = st.dictionaries(st.sampled_from([*DOCUMENTS, "elsewhere"]), st.integers(0, 3)).filter(
    lambda grades: any(grades.values())
)


def test_discounted_gains_match_jarvelin_and_kekalainen() -> None:
    """Gains 3, 2, 3, 0, 0, 1, 2, 2, 3, 0 of TOIS 20(4), section 2.2; the discount log2(rank + 1) is by hand:
    3 + 1.2619 + 1.5 + 0.3562 + 0.6667 + 0.6309 + 0.9031 = 8.3188; the ideal 3, 3, 3, 2, 2, 2, 1 has 9.0736."""
    gains = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    ranking = [f"d{number}" for number in range(10)]
    judgements = dict(zip(ranking, gains, strict=True))
    assert ranking_metrics.ndcg(ranking, judgements, 10) == pytest.approx(8.3188 / 9.0736, abs=1e-4)


def test_mean_average_precision_of_manning_raghavan_and_schutze() -> None:
    """Introduction to Information Retrieval, exercise 8.8: R N R N N N N N R R with 4 relevant documents in all, and
    N R N N R R R N N N: average precisions .6 and .4929."""
    first, second = "RNRNNNNNRR", "NRNNRRRNNN"
    found = []
    for letters in (first, second):
        ranking = [f"{letter}{place}" for place, letter in enumerate(letters)]
        judgements = {document: int(document[0] == "R") for document in ranking}
        found.append(ranking_metrics.average_precision(ranking, judgements, 10))
    assert found == pytest.approx([0.6, 0.4929], abs=1e-4)


def test_the_gain_is_the_grade() -> None:
    """With 2^grade - 1 it would be .7098."""
    assert ranking_metrics.ndcg(["fair", "best"], {"fair": 1, "best": 3}, 2) == pytest.approx(
        0.7967, abs=1e-4
    )


def test_unjudged_is_told_apart_from_not_relevant() -> None:
    ranking, judgements = ["never seen", "poor", "good"], {"poor": 0, "good": 1}
    assert ranking_metrics.judged(ranking, judgements, 2) == 0.5
    assert ranking_metrics.reciprocal_rank(ranking, judgements, 3) == pytest.approx(1 / 3)


@pytest.mark.parametrize("k", [1, 3, 10])
@given(ranking=RANKINGS, judgements=JUDGEMENTS)
def test_the_figures_are_those_of_ir_measures(k: int, ranking: list[str], judgements: dict[str, int]) -> None:
    ours = {
        f"R@{k}": ranking_metrics.recall(ranking, judgements, k),
        f"P@{k}": ranking_metrics.precision(ranking, judgements, k),
        f"RR@{k}": ranking_metrics.reciprocal_rank(ranking, judgements, k),
        f"AP@{k}": ranking_metrics.average_precision(ranking, judgements, k),
        f"nDCG@{k}": ranking_metrics.ndcg(ranking, judgements, k),
    }
    run = {"q": {document: float(-place) for place, document in enumerate(ranking)}}
    if not ranking:  # a question that found nothing is 0 in all of them
        assert set(ours.values()) == {0.0}
        return
    measures = {name: ir_measures.parse_measure(name) for name in ours}
    theirs = ir_measures.calc_aggregate(list(measures.values()), {"q": judgements}, run)
    assert ours == pytest.approx({name: theirs[measure] for name, measure in measures.items()})


@pytest.mark.parametrize(
    ("ranking", "judgements", "k", "message"),
    [
        (["a"], {"a": 1}, 0, "k must be at least 1"),
        (["a", "b", "a"], {"a": 1}, 3, "'a' is in the ranking twice"),
        (["a"], {"a": 0}, 3, "no document is judged relevant"),
    ],
)
def test_what_has_no_figure_is_refused(
    ranking: list[str], judgements: dict[str, int], k: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        ranking_metrics.recall(ranking, judgements, k)


@given(RANKINGS, RANKINGS, JUDGEMENTS)
def test_discount_differences_add_up_to_the_gain_difference(
    one: list[str], other: list[str], judgements: dict[str, int]
) -> None:
    found = ranking_metrics.discount_differences(one, other, 5)
    ideal = sum(
        grade * ranking_metrics.discount(rank)
        for rank, grade in enumerate(sorted(judgements.values(), reverse=True)[:5], 1)
    )
    total = sum(weight * judgements.get(name, 0) for name, weight in found.items())
    expected = ranking_metrics.ndcg(one, judgements, 5) - ranking_metrics.ndcg(other, judgements, 5)
    assert total / ideal == pytest.approx(expected, abs=1e-9)
    assert all(found.values()), "documents at the same rank are left out"
