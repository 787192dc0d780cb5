"""The rank test of a change against the question's own noise."""

import math
import random

import pytest

from core.analysis.run_changes import ChangeScores
from core.features.watch.change_noise import FALSE_ALARMS, MOST_REPEATS, exceeding, noise_rule


@pytest.mark.parametrize("repeats", [3, 5, 10, 20, MOST_REPEATS])
def test_rule_keeps_its_bound_and_asks_no_more(repeats: int) -> None:
    asks, rank = noise_rule(repeats)
    scores = len(ChangeScores._fields)

    def alarms(asks: int, rank: int) -> float:
        return scores * math.comb(asks + rank - 1, asks) / math.comb(repeats + asks, asks)

    assert alarms(asks, rank) <= FALSE_ALARMS < min(alarms(asks, rank + 1), alarms(asks - 1, 1))


def test_the_default_asks_four_times_and_more_repeats_fewer() -> None:
    assert [noise_rule(repeats).asks for repeats in (5, 10, 15)] == [4, 3, 2]


@pytest.mark.parametrize("heavy", [1, 8])
def test_false_alarms_are_rare_whatever_the_distribution(heavy: int) -> None:
    draw = random.Random(heavy)
    alarms = 0
    for _ in range(2_000):
        noise = [_drawn(draw, heavy) for _ in range(5)]
        told = set(ChangeScores._fields)
        for _ in range(noise_rule(5).asks):
            told &= exceeding(noise, _drawn(draw, heavy))
        alarms += bool(told)
    assert alarms <= 2_000 * 0.05


def _drawn(draw: random.Random, heavy: int) -> ChangeScores:
    return ChangeScores(*(draw.random() ** heavy for _ in ChangeScores._fields))


def test_score_that_equals_the_noise_does_not_exceed_it() -> None:
    noise = [ChangeScores(sources=0.5, texts=0, answer=0.2)] * 5
    assert exceeding(noise, noise[0]) == frozenset()
    assert exceeding(noise, ChangeScores(sources=0.4, texts=0.1, answer=0.3)) == {"texts", "answer"}
