from __future__ import annotations

from core.analysis.gantt import MAX_BARS, gantt
from core.model import Phase
from core.run import events as e
from core.run.state import Run, RunStatus
from tests import samples
from tests.analysis.folded import finished, run_of


def test_the_timeline_holds_phases_with_their_activities_in_scale() -> None:
    run = finished()
    chart = gantt(run, run.seconds)
    groups = {phase.label: bars for phase, bars in chart.groups}
    assert [bar.kind for bar in groups["Articles"]] == ["fetch", "fetch", "extract"]
    assert [bar.label for bar in groups["Search"]] == [samples.QUERY.text, samples.OTHER.text]
    assert groups["Search"][1].failed
    for phase, bars in chart.groups:
        for bar in (phase, *bars):
            assert 0 <= bar.left <= 1
            assert bar.left + bar.width <= 1.0001
    assert chart.ticks[0] == 0
    assert chart.ticks[-1] <= chart.seconds


def test_of_very_many_activities_the_longest_are_drawn() -> None:
    many = [
        event for n in range(MAX_BARS + 50) for event in (e.FetchStarted(f"k{n}", f"https://a.example/{n}"),)
    ]
    chart = gantt(run_of(e.PhaseStarted(Phase.READ), *many), 100.0)
    assert chart.hidden == 50
    assert sum(len(bars) for _, bars in chart.groups) == MAX_BARS


def test_a_run_that_did_nothing_has_an_empty_timeline() -> None:
    assert gantt(Run(status=RunStatus.QUEUED), 0.0).groups == ()
