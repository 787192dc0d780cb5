import pytest

from core.analysis.gantt import MAX_ROWS, gantt
from core.model import Phase
from core.run import events as e
from core.run.state import Run, RunStatus
from tests import samples
from tests.analysis.folded import finished, run_of


def test_the_timeline_holds_phases_with_their_activities_in_scale() -> None:
    run = finished()
    chart = gantt(run, run.seconds)
    groups = {phase.label: rows for phase, rows in chart.groups}
    assert [row.label for row in groups["Search"]] == [samples.QUERY.text, samples.OTHER.text]
    assert groups["Search"][1].bars[0].failed
    for bar in chart.bars:
        assert 0 <= bar.left <= 1
        assert bar.left + bar.width <= 1.0001
    assert chart.ticks[0] == 0
    assert chart.ticks[-1] <= chart.seconds


def test_page_has_one_row_from_fetch_to_article() -> None:
    run = finished()
    rows = next(rows for phase, rows in gantt(run, run.seconds).groups if phase.label == "Pages")
    assert [(row.kind, row.label) for row in rows] == [("page", "1. One"), ("page", "2. Dead")]
    read, dead = rows
    assert read.detail == f"One – {samples.KEY}"
    # Fetched at 1.2 s; the worker's 0.01 s of work ended at 1.3 s.
    assert [bar.kind for bar in read.bars] == ["fetch", "wait", "extract"]
    assert [bar.seconds for bar in read.bars] == pytest.approx([0.2, 0.09, 0.01])
    assert read.seconds == pytest.approx(0.3)
    assert [(bar.kind, bar.failed) for bar in dead.bars] == [("fetch", True)]


def test_untitled_page_is_named_by_its_address() -> None:
    started = e.FetchStarted("k", "https://www.a.example/long/way/tide-mills/")
    chart = gantt(run_of(e.PhaseStarted(Phase.READ), started), 2.0)
    [(_, [row])] = chart.groups
    assert row.label == "tide-mills · a.example"
    assert row.bars[0].running


def test_of_very_many_rows_the_longest_are_drawn() -> None:
    many = [e.FetchStarted(f"k{n}", f"https://a.example/{n}") for n in range(MAX_ROWS + 50)]
    chart = gantt(run_of(e.PhaseStarted(Phase.READ), *many), 100.0)
    assert chart.hidden == 50
    assert sum(len(rows) for _, rows in chart.groups) == MAX_ROWS


def test_a_run_that_did_nothing_has_an_empty_timeline() -> None:
    assert gantt(Run(status=RunStatus.QUEUED), 0.0).groups == ()
