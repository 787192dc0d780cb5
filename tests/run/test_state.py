"""A run is the fold of its events."""

from dataclasses import replace

import pytest

from core.analysis.run_usage import run_usage
from core.analysis.steps import step_rows
from core.config.knobs import ChunkKnobs, Knobs
from core.config.prices import Prices, parsed
from core.model import FunctionCall, ModelUsage, Phase, ToolCall, Usage
from core.run import events as e
from core.run.fold import folded_run
from core.run.state import Run, RunStatus
from core.run.step_events import ModelDecided, StepEnded, StepStarted
from tests.samples import (
    ANSWER,
    CHECK,
    DEAD,
    EVENTS,
    FIRST,
    INDEX,
    KEY,
    OTHER,
    PAGE,
    QUERY,
    RANKING,
    SECOND,
    SLOW,
    SOURCE,
    records,
    until,
)

DONE = until(e.RunDone)


def folded(*events: e.Event) -> Run:
    """The run after these events, which may leave it under way."""
    run = Run()
    for record in records(*events):
        run = run.apply(record)
    return run


def test_a_finished_run_holds_every_event() -> None:
    run = folded_run(records(*DONE))
    assert run.status is RunStatus.DONE
    assert run.question == "What is overlap?"
    assert [hit.key for hit in run.hits] == [KEY, DEAD, SLOW]
    assert run.hits[0].found[0].engines == ("x", "y")
    assert run.backend == "searxng"
    assert list(run.search_faults) == [OTHER]
    assert list(run.pages) == [KEY]
    assert run.skips[DEAD].detail == "404"
    assert [hit.key for hit in run.hits if hit.key not in {*run.pages, *run.skips}] == [SLOW]
    assert (run.vectors_reused, run.vectors_computed) == (1, 1)
    assert run.live_cosine == {FIRST.id: 0.6, SECOND.id: 0.8}
    assert run.index is INDEX
    assert run.sources == (SOURCE,)
    assert (run.text, run.answer, run.check) == (ANSWER.text, ANSWER, CHECK)
    assert run.check.unknown == (7,)


def test_run_without_an_end_is_interrupted_and_keeps_everything() -> None:
    run = folded_run(records(*until(e.TokensWritten)))
    assert run.status is RunStatus.INTERRUPTED
    assert run.text == "Delta holds [1]. "
    assert not [a for a in run.timeline.activities.values() if a.span.end is None]


def test_each_state_is_unchanged_by_the_next() -> None:
    states = [Run()]
    for record in records(*DONE):
        states.append(states[-1].apply(record))
    assert states[0].hits == ()
    written = [state.text for state in states]
    assert sorted(set(written), key=written.index) == ["", "Delta holds [1]. ", ANSWER.text]


def test_restarted_phase_begins_empty_and_keeps_the_pages() -> None:
    knobs = Knobs(chunk=ChunkKnobs(size=200))
    again = folded(*DONE, e.RunResumed(knobs), e.PhaseStarted(Phase.CHUNK), e.PhaseStarted(Phase.EMBED))
    assert again.knobs == knobs
    assert again.passages == ()
    assert again.live_cosine == {}
    assert again.pages == {KEY: PAGE}
    assert again.sources == (SOURCE,), "the answer's sources stay what they were"


def test_a_page_fetched_later_is_no_longer_skipped() -> None:
    late = replace(PAGE, key=DEAD)
    run = folded_run(records(*DONE, e.RunResumed(Knobs()), e.PageRead(late), e.RunDone()))
    assert run.skips == {}
    assert set(run.pages) == {KEY, DEAD}


def test_the_timeline_shows_each_search_fetch_extraction_and_batch() -> None:
    run = folded_run(records(*DONE))
    bars = {(a.kind, a.label): a for a in run.timeline.activities.values()}
    assert bars["search", QUERY.text].failed is False
    assert bars["search", OTHER.text].failed is True
    assert bars["fetch", "https://a.example/dead"].failed is True
    assert bars["extract", PAGE.url].span.seconds(0) <= PAGE.article.seconds + 1e-9
    assert bars["embed", "2 texts"].span.end is not None
    assert all(span.end is not None for span in run.timeline.phases.values())


def test_steps_follow_model_decisions_and_a_restart_replaces_its_step() -> None:
    calls = tuple(ToolCall(id=f"c{n}", function=FunctionCall(name="find")) for n in (1, 2))
    first = folded(
        ModelDecided("Two at once.", calls, 90),
        StepStarted(1, "find", '{"text": "a"}'),
        StepEnded(1, "Found.", "b0", 3),
        StepStarted(2, "find", '{"text": "b"}'),
    )
    assert [(step.tokens, step.reason, step.end) for step in first.steps] == [
        (90, "Two at once.", 0.2),
        (0, "Two at once.", None),
    ]
    again = folded(
        ModelDecided("", calls[:1], 5),
        StepStarted(1, "open", "{}"),
        StepStarted(1, "open", "{}"),
        StepEnded(1, "Refused.", "b1", error=True),
    )
    (row,) = step_rows(again)
    assert (row.outcome, row.result, row.tokens) == ("failed", "Refused.", 5)
    assert [str(row) for row in step_rows(first)] == [
        "Step 1: find a: 3 passages",
        "Step 2: find b: under way",
    ]


def test_every_kind_of_event_has_a_sample() -> None:
    from typing import get_args

    assert {type(event) for event in EVENTS} == set(get_args(e.Event))


def test_tokens_are_summed_by_phase_and_model_without_local_ones() -> None:
    def used(phase: Phase, model: str, *counts: int, cost: float | None = None, **more: bool) -> e.ModelUsed:
        usage = Usage(prompt_tokens=counts[0], completion_tokens=counts[1], cost=cost)
        return e.ModelUsed(phase, ModelUsage(model=model, tokens=usage, **more))

    run = folded_run(
        records(
            used(Phase.PLAN, "m@h", 100, 20),
            used(Phase.EMBED, "e@h", 1000, 0),
            used(Phase.EMBED, "e@h", 500, 0, estimated=True),
            used(Phase.EMBED, "minilm", 7000, 0, local=True),
            used(Phase.ANSWER, "m@h", 300, 70),
            used(Phase.ANSWER, "m@h", 300, 30),
            used(Phase.ANSWER, "m@h", 10, 0, cost=0.25),
        )
    )
    assert [(one.phase, one.usage.model, one.usage.tokens.total_tokens) for one in run.model_usage] == [
        (Phase.PLAN, "m@h", 120),
        (Phase.EMBED, "e@h", 1500),
        (Phase.EMBED, "minilm", 7000),
        (Phase.ANSWER, "m@h", 700),
        (Phase.ANSWER, "m@h", 10),
    ]
    assert run.usage == Usage(prompt_tokens=2210, completion_tokens=120, cost=0.25)
    usage = run_usage(
        run.model_usage, Prices(rows=parsed("model,prompt,completion,as_of\nm,10,100,2026-11-03\n"))
    )
    assert usage.explanation == (
        "planning: 100 + 20 in 1 call, ~$0.0030; embeddings: ≈1,500 in 2 calls, cost unknown; "
        "embeddings: 7,000 in 1 call, inside OpenQuery, free; answers: 600 + 100 in 2 calls, ~$0.0160; "
        "answers: 10 in 1 call, $0.25. No price is known of e@h."
    )
    assert usage.tokens == run.usage
    assert usage.estimated
    assert usage.cost_text == "at least ~$0.27"
    assert run_usage(run.model_usage, Prices(rows=())).cost_text == "at least $0.25"
    assert run_usage(run.model_usage[:1], Prices(rows=())).cost_text == "unknown"
    assert run_usage(run.model_usage[2:3], Prices(rows=())).cost_text == ""
    assert Run().usage is None


RANKED_AGAIN = (e.PhaseStarted(Phase.RANK), e.Ranked(replace(RANKING)))


def test_while_a_follow_up_ranks_the_former_run_stays_whole() -> None:
    done = folded(*DONE)
    run = done
    for event in (e.RunResumed(Knobs(chunk=ChunkKnobs(size=200))), e.PhaseStarted(Phase.CHUNK)):
        run = run.apply(e.Record(at=9, event=event))
    assert run.passages == ()
    assert run.last_complete is done
    for event in (e.Indexed(replace(INDEX)), *RANKED_AGAIN):
        assert run.last_complete is done
        run = run.apply(e.Record(at=9, event=event))
    assert run.last_complete is run
    ended = run.apply(e.Record(at=9, event=e.RunDone()))
    assert (ended.before, ended.last_complete) == (None, ended)


@pytest.mark.parametrize("end", [e.RunStopped(), e.RunFailed("embed", "It broke."), None])
def test_interrupted_follow_up_leaves_the_former_state(end: e.Event | None) -> None:
    begun = (
        e.RunResumed(Knobs(chunk=ChunkKnobs(size=200))),
        e.PhaseStarted(Phase.CHUNK),
        e.SourcesChosen(()),
        e.PhaseStarted(Phase.ANSWER),
    )
    happened = records(*DONE, *begun, *([end] if end else []))
    run, done = folded_run(happened), folded(*DONE)
    assert (run.passages, run.index, run.ranking) == (done.passages, done.index, done.ranking)
    assert (run.text, run.answer, run.sources) == (done.text, done.answer, done.sources)
    assert (run.knobs, run.earlier_answers, run.before) == (done.knobs, (), None)
    told = {"RunStopped": RunStatus.DONE, "RunFailed": RunStatus.FAILED, "NoneType": RunStatus.INTERRUPTED}
    assert run.status is told[type(end).__name__]


def test_stopped_follow_up_that_has_written_keeps_both_answers() -> None:
    begun = (e.RunResumed(Knobs()), e.SourcesChosen((SOURCE,)), e.PhaseStarted(Phase.ANSWER))
    run = folded_run(records(*DONE, *begun, e.TokensWritten("Half"), e.RunStopped()))
    assert (run.status, run.text, run.answer) == (RunStatus.STOPPED, "Half", None)
    assert [version.answer for version in run.earlier_answers] == [ANSWER]


def test_an_index_without_its_ranking_has_none() -> None:
    assert folded(*DONE, e.Indexed(INDEX)).ranking is None
