from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import pytest

from bench.demo_library import demo_library
from bench.followups import HUMAN, JOINED, METRICS, RAW, SCRIPTED, conversations, measure
from core.features.evaluate.statistics.significance import mean_interval


def test_half_of_the_conversations_are_held_back_as_answerable_texts() -> None:
    turns = conversations()
    assert len(turns) == 40
    assert sum(turn.held_back for turn in turns) == 20
    assert len({turn.text for turn in turns}) == 40
    assert all(turn.rewrite != turn.standalone for turn in turns)


@pytest.mark.thorough
async def test_rewritten_follow_ups_find_what_a_persons_question_finds(warm_folder: Path) -> None:
    async with demo_library(warm_folder) as (run, ports):
        halves = [await measure(run, ports, held_back=held_back) for held_back in (False, True)]
    for metric in METRICS:
        for values in halves:
            assert mean(values[JOINED][metric]) > mean(values[RAW][metric])
            assert mean(values[SCRIPTED][metric]) >= mean_interval(values[HUMAN][metric]).low
        held_back: Mapping[str, Mapping[str, Sequence[float]]] = halves[1]
        assert mean(held_back[JOINED][metric]) >= mean_interval(held_back[HUMAN][metric]).low
