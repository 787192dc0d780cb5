"""The simulated person of the benchmark, and comparisons whose truth is known."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from bench.labelling import differences, level_weights, trial
from core.features.evaluate.data_sets.data_set import Question
from core.features.evaluate.metrics.ranking_metrics import discount

DOCUMENTS = [str(number) for number in range(20)]
QUESTIONS = [Question(id=str(number), text="", judgements={"0": 2}) for number in range(120)]


def ranked(rank: int, seed: int) -> Sequence[str]:
    """Twenty documents, the relevant one at this rank."""
    others = random.Random(seed).sample(DOCUMENTS[1:], len(DOCUMENTS) - 1)
    return [*others[: rank - 1], "0", *others[rank - 1 :]][:10]


GOOD = [ranked(1, seed) for seed in range(120)]
MIXED = [ranked(1 + seed % 8, seed + 1000) for seed in range(120)]


def test_difference_of_a_question_is_of_its_relevant_documents() -> None:
    assert differences(QUESTIONS[:1], [ranked(1, 1)], [ranked(3, 2)]) == pytest.approx([1 - discount(3)])


def test_weights_make_the_mean_difference_zero_where_possible() -> None:
    values = np.array([0.5, 0.1, 0.1, -0.2, 0.0])
    weights = level_weights(values)
    assert weights is not None
    assert weights.sum() == pytest.approx(1)
    assert weights @ values == pytest.approx(0, abs=1e-9)
    assert level_weights(np.array([0.1, 0.0])) is None


def test_person_who_labels_proposals_learns_which_is_better() -> None:
    found = trial("real", "one", QUESTIONS, GOOD, MIXED, np.random.default_rng(1))
    assert found is not None
    assert (found.verdict, found.is_false) == (1, False)
    assert found.share < 0.3
    assert found.pooled_p < 0.001
    swapped = trial("swapped", "two", QUESTIONS, GOOD, MIXED, np.random.default_rng(1))
    assert swapped is not None
    assert (swapped.truth, swapped.verdict) == (0, 0)
