from dataclasses import replace

import pytest

from core.analysis.progress import (
    PageOutcome,
    PhaseState,
    RunStage,
    best_so_far,
    hit_progress,
    missing_hits,
    phase_progress,
    retriable,
    run_stage,
    spoken_state,
)
from core.analysis.run_activity import current_activity
from core.model import Phase
from core.model.passage_urls import site
from core.run import events as e
from core.run.state import Run, RunStatus
from tests import samples
from tests.analysis.folded import finished, run_of


def test_phases_are_waiting_running_or_done() -> None:
    states = {step.phase: step.state for step in phase_progress(run_of(*samples.until(e.PageRead)), 3.0)}
    assert states[Phase.PLAN] is PhaseState.DONE
    assert states[Phase.READ] is PhaseState.RUNNING
    assert states[Phase.EMBED] is PhaseState.WAITING


def test_phase_interrupted_by_the_end_of_the_run_is_cut() -> None:
    run = run_of(*samples.until(e.TokensWritten), e.RunStopped())
    states = {step.phase: step.state for step in phase_progress(run, run.seconds)}
    assert states[Phase.ANSWER] is PhaseState.CUT
    assert states[Phase.PLAN] is PhaseState.DONE


def test_counts_are_reported_with_their_units() -> None:
    counts = {step.phase: (step.count, step.unit) for step in phase_progress(finished(), 9.0)}
    assert counts[Phase.SEARCH] == ("3", "hits")
    assert counts[Phase.READ] == ("1", "of 3")
    assert counts[Phase.EMBED] == ("all", "")
    assert counts[Phase.RANK] == ("1", "in the context")
    assert counts[Phase.ANSWER] == ("5", "words")


def test_a_running_phase_counts_on_between_events() -> None:
    run = run_of(*samples.until(e.PageRead))
    reading = next(step for step in phase_progress(run, run.seconds + 5) if step.phase is Phase.READ)
    assert reading.seconds is not None
    assert reading.seconds > 5


def test_the_stage_follows_what_can_change() -> None:
    assert run_stage(Run()) is RunStage.GATHER
    assert run_stage(run_of(*samples.until(e.Embedded))) is RunStage.GATHER
    assert run_stage(run_of(*samples.until(e.TokensWritten))) is RunStage.ANSWER
    assert run_stage(finished()) is RunStage.ENDED


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        (samples.until(e.PageRead), "Searching and reading."),
        (samples.until(e.TokensWritten), "Writing the answer."),
        (samples.until(e.RunDone), "The answer is complete, with 1 source and 4 warnings."),
        ((*samples.until(e.PageRead), e.RunStopped()), "The run was stopped."),
        (
            (*samples.until(e.PageRead), e.RunFailed("answer", "It broke.", "Try again.", 6)),
            "The run failed: It broke.",
        ),
    ],
)
def test_the_state_is_one_sentence_that_follows_the_stage(events: tuple[e.Event, ...], sentence: str) -> None:
    assert spoken_state(run_of(*events)) == sentence


def test_each_hit_tells_what_became_of_it() -> None:
    events = samples.until(e.PageRead)
    fates = {line.hit.key: line.outcome for line in hit_progress(run_of(*events))}
    assert fates == {
        samples.KEY: PageOutcome.READ,
        samples.DEAD: PageOutcome.FETCHING,
        samples.SLOW: PageOutcome.QUEUED,
    }
    fates = {line.hit.key: line.outcome for line in hit_progress(finished())}
    assert fates[samples.DEAD] is PageOutcome.SKIPPED


def test_snippet_in_place_of_a_page_is_named_so() -> None:
    page = replace(samples.PAGE, snippet_only=True)
    skip = samples.Skip(key=page.key, url=page.url, reason=samples.SkipReason.TIMEOUT, seconds=5.0)
    run = run_of(*samples.until(e.FetchStarted), e.PageSkipped(skip), e.PageRead(page))
    line = hit_progress(run)[0]
    assert line.outcome is PageOutcome.SNIPPET
    assert (line.skip, line.seconds) == (skip, 5.0), "why there is no page, and how long that took"
    assert retriable(run) == (page.key,)


@pytest.mark.parametrize(
    ("reason", "again"), [("CUT", True), ("DEADLINE", True), ("TIMEOUT", True), ("STATUS", False)]
)
def test_pages_left_out_for_time_can_be_fetched_again(reason: str, again: bool) -> None:
    skip = samples.Skip(key=samples.SLOW, url=samples.SLOW, reason=samples.SkipReason[reason])
    run = run_of(*samples.until(e.PageRead), e.PageSkipped(skip))
    assert retriable(run) == ((samples.SLOW,) if again else ())


def test_the_best_passages_so_far_come_first() -> None:
    best = best_so_far(run_of(*samples.until(e.Embedded)))
    assert [cosine for cosine, _, _ in best] == [0.8, 0.6]
    assert best[0][1:] == ("Delta.", "a.example")


def test_everything_that_went_wrong_is_a_notice() -> None:
    assert list(map(str, finished().notices)) == [
        "Warning: Search failed for query 'naïve “quotes” 检索': It did not answer. Is it running?",
        "Warning: Not searched: bing (timeout).",
        "1 of 3 search results was not read: 1 × HTTP error.",
        "Warning: 3 of 2 passages are not ranked, for lack of a vector: Too many. Wait.",
        "A note. A hint.",
        "Warning: The answer cites [7], but there is no source with that number.",
    ]


@pytest.mark.parametrize(
    ("url", "host"), [("https://www.a.example:8/x", "a.example"), ("nonsense", ""), ("https://[", "")]
)
def test_a_site_is_its_host(url: str, host: str) -> None:
    assert site(url) == host


def test_embedding_counts_of_how_many_are_known_so_far() -> None:
    events = samples.until(e.PageChunked)
    run = run_of(*events, e.PhaseStarted(Phase.EMBED), e.EmbedStarted(1, 1), e.Embedded(1, ("x",), (0.5,), 0))
    counts = {step.phase: (step.count, step.unit) for step in phase_progress(run, run.seconds)}
    assert counts[Phase.CHUNK] == ("2", "")
    assert counts[Phase.EMBED] == ("1", "of 2")


def test_identical_passages_count_once_and_are_reported_as_merged() -> None:
    run = finished()
    twin = replace(samples.FIRST, place=replace(samples.FIRST.place, page=samples.SLOW))
    run = replace(run, passages=(*run.passages, twin))
    steps = {step.phase: step for step in phase_progress(run, run.seconds)}
    assert (steps[Phase.CHUNK].count, steps[Phase.CHUNK].unit) == ("2", "1 merged")
    assert steps[Phase.CHUNK].detail.startswith("3 passages, of which 1 has the same text")
    assert (steps[Phase.EMBED].count, steps[Phase.EMBED].unit) == ("all", "")


def test_of_the_best_passages_the_same_text_comes_once() -> None:
    run = run_of(*samples.until(e.Embedded))
    twin = replace(samples.FIRST, place=replace(samples.FIRST.place, start=1, end=18))
    run = replace(run, passages=(*run.passages, twin), live_cosine={**run.live_cosine, twin.id: 0.6})
    assert len(best_so_far(run)) == 2


def test_hit_not_reached_by_a_stopped_run_can_be_fetched() -> None:
    run = run_of(*samples.until(e.PageRead), e.RunStopped())
    outcomes = {line.hit.key: line.outcome for line in hit_progress(run)}
    assert outcomes[samples.DEAD] is outcomes[samples.SLOW] is PageOutcome.UNREAD
    assert set(retriable(run)) == {samples.DEAD, samples.SLOW}


def test_the_line_tells_what_a_run_does(  # each state by the last event that led to it
) -> None:
    counts = [
        current_activity(run_of(*samples.until(kind)), 9.0)
        for kind in (e.PhaseStarted, e.QueryPlanned, e.PageRead, e.PageChunked, e.TokensWritten)
    ]
    assert counts == [
        "Writing search queries",
        "Searching",
        "Reading pages: 1 of 3 done, 0 of 0 passages embedded",
        "Reading pages: 2 of 3 done, 0 of 2 passages embedded",
        "Writing the answer",
    ]
    assert current_activity(Run(status=RunStatus.QUEUED), 0.0) == "Waiting for a free slot"


def states(run: Run) -> dict[Phase, PhaseState]:
    return {step.phase: step.state for step in phase_progress(run, run.seconds)}


def test_failed_search_is_not_blamed_on_a_later_phase() -> None:
    nothing = replace(samples.REPLY, results=(), unresponsive_engines=())
    before = (*samples.until(e.SearchStarted), e.SearchAnswered(samples.QUERY, nothing))
    failed = e.RunFailed("search", "No search results found.")
    run = run_of(e.PhaseStarted(Phase.SEARCH), *before, failed)
    assert states(run)[Phase.SEARCH] is PhaseState.FAILED
    assert states(run)[Phase.EMBED] is PhaseState.WAITING
    assert missing_hits(run) == "No search found anything."


def test_pages_that_all_failed_count_as_no_success() -> None:
    snippet = replace(samples.PAGE, snippet_only=True)
    keys = (samples.KEY, samples.DEAD, samples.SLOW)
    skips = [e.PageSkipped(samples.Skip(key=key, url=key, reason=samples.SkipReason.STATUS)) for key in keys]
    run = run_of(*samples.until(e.FetchStarted), *skips, e.PageRead(snippet), e.PhaseEnded(Phase.READ))
    reading = next(step for step in phase_progress(run, run.seconds) if step.phase is Phase.READ)
    assert (reading.count, reading.unit, reading.state) == ("0", "of 3", PhaseState.PARTIAL)


def test_findings_of_the_answer_check_are_losses_of_the_answer() -> None:
    assert states(finished())[Phase.ANSWER] is PhaseState.PARTIAL
