from __future__ import annotations

import pytest

from core.analysis.rankings.duplicate_limit import duplicate_limit
from core.run.state import Run
from tests.analysis.sample import run_of

REPORT = " ".join(
    f"A red boat number {n} lies on the river and waits for the evening tide with its crew." for n in range(9)
)
TEXTS = {
    "https://a.example/one": REPORT,
    "https://b.example/two": f"{REPORT} This was sent to all newspapers.",
    "https://c.example/clouds": "Clouds drift over the river in the evening, and a boat goes home.",
}


def test_a_limit_on_one_text_lets_others_in() -> None:
    run = run_of(TEXTS, size=200, top_k=4, per_page=0)
    found = duplicate_limit(run, 1)
    assert found is not None
    assert (found.groups_unlimited, found.most_unlimited) == (1, 4)
    assert (found.groups_limited, found.most_limited) == (2, 1)
    assert sum(change.entered for change in found.comparison.changes) == 1
    assert found.limited.knobs.rank.per_cluster == 1
    assert found.unlimited.knobs.rank.per_cluster == 0
    assert found.unlimited.ranking is not None and run.ranking is not None
    assert found.unlimited.ranking.context == run.ranking.context


def test_a_limit_above_all_counts_changes_nothing() -> None:
    found = duplicate_limit(run_of(TEXTS, size=200, top_k=4), 50)
    assert found is not None
    assert found.comparison.contexts == 1
    assert found.groups_unlimited == found.groups_limited


@pytest.mark.parametrize("limit", [0, 51])
def test_no_limit_is_no_limit_to_look_at(limit: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 50"):
        duplicate_limit(run_of(), limit)


def test_without_a_ranking_there_is_nothing_to_limit() -> None:
    assert duplicate_limit(Run(), 1) is None
    empty = duplicate_limit(run_of({}), 1)
    assert empty is None or empty.groups_unlimited == 0
