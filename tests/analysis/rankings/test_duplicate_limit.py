import pytest

from core.analysis.rankings.duplicate_clusters import duplicate_limit
from core.run.state import Run
from tests.analysis.sample import run_of

REPORT = " ".join(
    f"A red boat number {n} lies on the river and waits for the evening tide with its crew." for n in range(9)
)
TEXTS = {
    "https://a.example/one": REPORT,
    "https://b.example/two": REPORT.replace("its crew", "its men"),
    "https://c.example/clouds": "Clouds drift over the river in the evening, and a boat goes home.",
}


def test_a_limit_on_one_text_lets_others_in() -> None:
    run = run_of(TEXTS, size=200, top_k=2, per_page=1, per_cluster=0)
    limited = duplicate_limit(run, 1)
    assert limited is not None
    assert (limited.copies_unlimited, limited.copies_limited) == (1, 0)
    assert sum(change.entered for change in limited.comparison.changes) == 1
    assert limited.limited.knobs.rank.per_cluster == 1
    assert limited.unlimited.knobs.rank.per_cluster == 0
    assert limited.unlimited.ranking is not None and run.ranking is not None
    assert limited.unlimited.ranking.context == run.ranking.context


def test_a_limit_above_all_counts_changes_nothing() -> None:
    limited = duplicate_limit(run_of(TEXTS, size=200, top_k=4), 50)
    assert limited is not None
    assert limited.comparison.contexts == 1
    assert limited.copies_unlimited == limited.copies_limited


@pytest.mark.parametrize("limit", [0, 51])
def test_no_limit_is_no_limit_to_look_at(limit: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 50"):
        duplicate_limit(run_of(), limit)


def test_without_a_ranking_there_is_nothing_to_limit() -> None:
    assert duplicate_limit(Run(), 1) is None
    empty = duplicate_limit(run_of({}), 1)
    assert empty is None or empty.copies_unlimited == 0
