"""Waits for another attempt of a model server, in the timeline."""

import pytest

from core.analysis.gantt import gantt
from core.analysis.progress import PhaseState, phase_progress
from core.analysis.run_activity import current_activity
from core.cli.progress_lines import detail, phase_times
from core.model import Phase, Retry
from core.run import events as e
from core.run.codec import event_from_json, event_to_json
from core.run.state import Run

LIMITED = Retry(server="api.example", seconds=20.0, reason="rate limit")


def run_at(*events: tuple[float, e.Event]) -> Run:
    run = Run()
    for at, event in events:
        run = run.apply(e.Record(at=at, event=event))
    return run


PLANNING = ((0.0, e.PhaseStarted(Phase.PLAN)), (1.0, e.ModelRetry(Phase.PLAN, LIMITED)))


def test_wait_is_counted_down_outside_the_time_of_its_phase() -> None:
    run = run_at(*PLANNING)
    line = "Writing search queries: rate limit of api.example, retrying in {} s"
    assert current_activity(run, 1.0) == line.format(20)
    assert current_activity(run, 18.5) == line.format(3)
    assert current_activity(run, 21.5) == "Writing search queries"
    plan = phase_progress(run, 11.0)[0]
    assert (plan.state, plan.seconds, plan.wait_seconds) == (PhaseState.RUNNING, 1.0, 10.0)
    assert "retrying in 10 s" in plan.waiting
    ended = run.apply(e.Record(at=24.0, event=e.PhaseEnded(Phase.PLAN)))
    assert phase_progress(ended, 30.0)[0].seconds == pytest.approx(4.0)
    assert phase_progress(ended, 30.0)[0].waiting == ""


def test_a_wait_that_is_stopped_ends_with_the_run() -> None:
    run = run_at(*PLANNING, (3.0, e.RunStopped()))
    assert run.timeline.waits[0].ends() == 3.0
    assert run.timeline.worked(Phase.PLAN, 99.0) == pytest.approx(1.0)
    assert run.timeline.waiting(Phase.PLAN, 3.0) is None


EMBEDDING = (
    (0.0, e.PhaseStarted(Phase.EMBED)),
    (0.0, e.EmbedStarted(1, 2)),
    (1.0, e.ModelRetry(Phase.EMBED, LIMITED, 1)),
    (5.0, e.EmbedStarted(2, 2)),
    (8.0, e.Embedded(2, ("c", "d"), (0.1, 0.2), 0)),
    (22.0, e.Embedded(1, ("a", "b"), (0.1, 0.2), 0)),
    (22.0, e.PhaseEnded(Phase.EMBED)),
)


def test_while_another_batch_is_embedded_the_phase_works() -> None:
    run = run_at(*EMBEDDING)
    assert run.timeline.worked(Phase.EMBED, 22.0) == pytest.approx(22 - 20 + 3)
    assert run.timeline.waited("embed 1", 22.0) == pytest.approx(20)
    assert run.timeline.waited("embed 2", 22.0) == 0


def test_chart_has_the_wait_as_a_bar_apart_from_work() -> None:
    chart = gantt(run_at(*EMBEDDING), 22.0)
    ((phase, rows),) = chart.groups
    assert (phase.seconds, phase.waited) == (pytest.approx(5), pytest.approx(17))
    limited, other = rows
    assert [(bar.kind, bar.seconds) for bar in limited.bars] == [
        ("embed", pytest.approx(22)),
        ("retry", pytest.approx(20)),
    ]
    assert (limited.seconds, limited.waited) == (pytest.approx(2), pytest.approx(20))
    assert (other.seconds, other.waited) == (pytest.approx(3), 0)


def test_call_without_an_activity_waits_in_its_own_row() -> None:
    chart = gantt(run_at(*PLANNING), 22.0)
    rows = [row for _, rows in chart.groups for row in rows]
    assert [(row.kind, row.detail) for row in rows] == [("retry", "rate limit: waiting for api.example")]


def test_the_command_line_tells_of_it() -> None:
    assert detail(PLANNING[1][1]) == "retry    rate limit of api.example (plan), retrying in 20.0 s"


def test_it_is_stored_and_read_back() -> None:
    event = e.ModelRetry(Phase.EMBED, LIMITED, 3)
    assert event_from_json(event_to_json(event)) == event


def test_wait_while_planning_stays_visible_in_its_phase() -> None:
    run = run_at(*PLANNING, (21.5, e.PhaseEnded(Phase.PLAN)), (22.0, e.RunDone()))
    plan = phase_progress(run, 22.0)[0]
    assert (plan.seconds, plan.waited) == (pytest.approx(1.5), pytest.approx(20.0))
    assert phase_times([plan]) == "phases   Queries 1.5 s + 20.0 s waiting"
