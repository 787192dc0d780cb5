"""What pages draw, worked out from runs that are told event by event."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.analysis.answers.answer_cards import cards, facts
from core.analysis.gantt import MOST_BARS, gantt
from core.analysis.handbook import chapters, matching
from core.analysis.progress import (
    PageOutcome,
    PhaseState,
    Stage,
    best_so_far,
    lines,
    notices,
    retriable,
    stage,
    steps,
)
from core.analysis.rankings.context_changes import changes, other_context
from core.analysis.rankings.passage_rows import chosen, cosines, curve, passage_in_context, rows, sampled
from core.config.knobs import ChunkKnobs, RankKnobs
from core.config.settings import HANDBOOK
from core.model import Article, Index, Page, Passage, Phase, Place, Ranking, Source
from core.model.passage_urls import site
from core.run import events as e
from core.run.state import Run, RunStatus
from pages.parts.passage_charts import score_curve
from tests import samples


def run_of(*events: e.Event) -> Run:
    run = Run()
    for record in samples.records(*events):
        run = run.apply(record)
    return run


def finished() -> Run:
    """The sample run with the phases that its events leave out."""
    phases = {e.SearchStarted: Phase.SEARCH, e.Ranked: Phase.RANK}
    events: list[e.Event] = []
    for event in samples.until(e.RunDone):
        if phase := phases.pop(type(event), None):
            events.append(e.PhaseStarted(phase))
        events.append(event)
    return run_of(*events)


# --- progress ---------------------------------------------------------------------------------------------


def test_phases_are_waiting_running_or_done() -> None:
    states = {step.phase: step.state for step in steps(run_of(*samples.until(e.PageRead)), 3.0)}
    assert states[Phase.PLAN] is PhaseState.DONE
    assert states[Phase.READ] is PhaseState.RUNNING
    assert states[Phase.EMBED] is PhaseState.WAITING


def test_a_phase_that_the_end_of_the_run_interrupts_is_cut() -> None:
    run = run_of(*samples.until(e.TokensWritten), e.RunStopped())
    states = {step.phase: step.state for step in steps(run, run.seconds)}
    assert states[Phase.ANSWER] is PhaseState.CUT
    assert states[Phase.PLAN] is PhaseState.DONE


def test_counts_are_told_with_their_units() -> None:
    told = {step.phase: (step.count, step.unit) for step in steps(finished(), 9.0)}
    assert told[Phase.SEARCH] == ("3", "hits")
    assert told[Phase.READ] == ("1", "/ 3")
    assert told[Phase.EMBED] == ("2", "× 2")
    assert told[Phase.RANK] == ("1", "in context")
    assert told[Phase.ANSWER] == ("5", "words")


def test_a_running_phase_counts_on_between_events() -> None:
    run = run_of(*samples.until(e.PageRead))
    reading = next(step for step in steps(run, run.seconds + 5) if step.phase is Phase.READ)
    assert reading.seconds is not None
    assert reading.seconds > 5


def test_the_stage_follows_what_can_change() -> None:
    assert stage(Run()) is Stage.GATHER
    assert stage(run_of(*samples.until(e.Embedded))) is Stage.GATHER
    assert stage(run_of(*samples.until(e.TokensWritten))) is Stage.ANSWER
    assert stage(finished()) is Stage.ENDED


def test_each_hit_tells_what_became_of_it() -> None:
    events = samples.until(e.PageRead)
    fates = {line.hit.key: line.fate for line in lines(run_of(*events))}
    assert fates == {
        samples.KEY: PageOutcome.READ,
        samples.DEAD: PageOutcome.FETCHING,
        samples.SLOW: PageOutcome.QUEUED,
    }
    fates = {line.hit.key: line.fate for line in lines(finished())}
    assert fates[samples.DEAD] is PageOutcome.SKIPPED


def test_a_snippet_that_stands_in_for_a_page_is_called_so() -> None:
    page = replace(samples.PAGE, snippet_only=True)
    skip = samples.Skip(key=page.key, url=page.url, reason=samples.SkipReason.TIMEOUT, seconds=5.0)
    run = run_of(*samples.until(e.FetchStarted), e.PageSkipped(skip), e.PageRead(page))
    line = lines(run)[0]
    assert line.fate is PageOutcome.SNIPPET
    assert (line.skip, line.seconds) == (skip, 5.0), "why there is no page, and how long that took"
    assert retriable(run) == (page.key,)


@pytest.mark.parametrize(
    ("reason", "again"), [("CUT", True), ("DEADLINE", True), ("TIMEOUT", True), ("STATUS", False)]
)
def test_pages_left_out_for_want_of_time_can_be_fetched_again(reason: str, again: bool) -> None:
    skip = samples.Skip(key=samples.SLOW, url=samples.SLOW, reason=samples.SkipReason[reason])
    run = run_of(*samples.until(e.PageRead), e.PageSkipped(skip))
    assert retriable(run) == ((samples.SLOW,) if again else ())


def test_the_best_passages_so_far_come_first() -> None:
    found = best_so_far(run_of(*samples.until(e.Embedded)))
    assert [cosine for cosine, _, _ in found] == [0.8, 0.6]
    assert found[0][1:] == ("Delta.", "a.example")


def test_everything_that_went_wrong_is_a_notice() -> None:
    told = [(notice.phase, notice.message) for notice in notices(finished())]
    assert [phase for phase, _ in told] == [Phase.SEARCH, Phase.SEARCH, Phase.EMBED, Phase.ANSWER]
    text = " ".join(message for _, message in told)
    for part in ("It did not answer.", "bing (timeout)", "3 passages", "A note."):
        assert part in text


@pytest.mark.parametrize(
    ("url", "host"), [("https://www.a.example:8/x", "a.example"), ("nonsense", ""), ("https://[", "")]
)
def test_a_site_is_its_host(url: str, host: str) -> None:
    assert site(url) == host


# --- passages ---------------------------------------------------------------------------------------------


def test_rows_are_ranked_and_numbered() -> None:
    first, second = rows(finished())
    assert (first.rank, first.number, first.cosine, first.snippet) == (1, 1, pytest.approx(0.8), "Delta.")
    assert (second.rank, second.number, second.row) == (2, None, 0)
    assert first.others == 1
    assert second.bm25 is None


def test_there_are_no_rows_before_a_ranking() -> None:
    assert rows(run_of(*samples.until(e.Embedded))) == ()
    assert curve(run_of(*samples.until(e.Embedded))) is None


def test_rows_are_chosen_by_words_context_and_page() -> None:
    table = rows(finished())
    assert [row.rank for row in chosen(table, words="ALPHA one")] == [2]
    assert [row.rank for row in chosen(table, only_context=True)] == [1]
    assert chosen(table, key="elsewhere") == ()
    late = replace(table[0], text=f"{'A word. ' * 60}Herons.")
    assert chosen([late, table[1]], words="herons") == (late,)


def test_the_curve_falls_and_shows_the_cut() -> None:
    found = curve(finished())
    assert found is not None
    assert found.scores == pytest.approx((0.8, 0.6))
    assert (found.name, found.context, found.cut, found.threshold) == ("cosine", (1,), 1, None)


def test_a_curve_ends_where_the_reranker_judged_no_further_and_sources_may_lie_beyond() -> None:
    run = finished()
    ranking = replace(
        samples.EVIDENCE, strategy="rerank", rerank=np.array([np.nan, 7], dtype=np.float32), context=(1, 0)
    )
    found = curve(replace(run, ranking=ranking))
    assert found is not None
    assert (found.name, found.scores, found.context, found.cut) == ("rerank", (7.0,), (1, 2), 2)
    drawn = score_curve(found, run, dark=False)
    assert [len(trace.x) for trace in drawn.data] == [1, 1]


def test_a_diverse_order_is_drawn_by_what_orders_it() -> None:
    diverse = replace(
        samples.EVIDENCE, order=np.array([0, 1]), diverse=np.array([0.5, 0.3], dtype=np.float32)
    )
    found = curve(replace(finished(), ranking=diverse))
    assert found is not None
    assert found.name == "marginal relevance"
    assert found.scores == pytest.approx((0.5, 0.3))


def test_a_threshold_is_drawn_on_cosines_only() -> None:
    run = finished()
    strict = replace(run, knobs=replace(run.knobs, rank=RankKnobs(threshold=0.7)))
    found = curve(strict)
    assert found is not None
    assert found.threshold == pytest.approx(0.7)


@pytest.mark.slow
def test_many_points_are_sampled_with_the_context_among_them() -> None:
    table = [
        replace(rows(finished())[1], rank=rank, number=rank if rank == 9001 else None)
        for rank in range(1, 10_001)
    ]
    few = sampled(table, 3000)
    assert len(few) <= 3001
    assert any(row.number for row in few)
    assert [row.rank for row in few[:1500]] == list(range(1, 1501))
    assert sampled(few, 5000) == few


def test_an_passage_holds_the_passage_between_its_surroundings() -> None:
    text = "start " + "word " * 2000 + "NEEDLE and more" + " tail" * 2000
    at = text.index("NEEDLE")
    page = replace(samples.PAGE, article=Article(text=text, extractor="x"))
    part = passage_in_context(page, Place(page=page.key, start=at, end=at + 6), around=100)
    assert part.passage == "NEEDLE"
    assert text.find(part.before + part.passage + part.after) > 0
    assert part.before.startswith("word")
    assert not part.begins
    assert not part.ends
    assert len(part.before) <= 100
    assert len(part.after) <= 100


def test_an_passage_of_a_short_page_is_all_of_it() -> None:
    part = passage_in_context(samples.PAGE, samples.SECOND.place)
    assert part.before + part.passage + part.after == samples.PAGE.text
    assert part.begins
    assert part.ends


# --- tuning -----------------------------------------------------------------------------------------------


def ranked(run: Run, order: list[int], context: tuple[int, ...], index: Index | None = None) -> Run:
    scores = np.linspace(1, 0, len(order), dtype=np.float32)
    ranking = Ranking(order=np.array(order), context=context, strategy="cosine", cosine=scores)
    return replace(run, index=index or run.index, ranking=ranking)


def long_run(context: tuple[int, ...]) -> Run:
    passages = tuple(
        Passage(text=f"passage {n} " * 4, place=Place(page=samples.KEY, start=n, end=n + 1)) for n in range(6)
    )
    index = Index(passages=passages, vectors=None, question=None, embedder="x")
    sources = tuple(
        Source(number=n, passage=passages[row], title="One", url=samples.KEY)
        for n, row in enumerate(context, 1)
    )
    return replace(ranked(finished(), list(range(6)), context, index), sources=sources)


def test_changes_name_who_entered_left_and_moved() -> None:
    answered = long_run((0, 1, 2))
    told = changes(answered, ranked(answered, [2, 0, 3, 1, 4, 5], (2, 0, 3)))
    assert told is not None
    assert (told.entered, told.left, told.moved, told.kept) == ((3,), (2,), ((3, 1), (1, 2)), 2)
    assert (told.reused, told.computed, told.recut) == (6, 0, False)


def test_the_answers_own_ranking_changes_nothing() -> None:
    answered = long_run((0, 1))
    told = changes(answered, answered)
    assert told is not None
    assert told.same_context
    assert not other_context(answered, answered)


def test_the_same_sources_in_another_order_are_another_context() -> None:
    answered = long_run((0, 1))
    assert other_context(answered, ranked(answered, [1, 0, 2, 3, 4, 5], (1, 0)))


def test_passages_cut_anew_tell_which_vectors_were_reused() -> None:
    answered = long_run((0,))
    knobs = replace(answered.knobs, chunk=ChunkKnobs(size=300))
    told = changes(answered, replace(answered, knobs=knobs, vectors_reused=2, vectors_computed=7))
    assert told is not None
    assert (told.recut, told.reused, told.computed) == (True, 2, 7)


def test_tokens_of_context_are_a_quarter_of_its_characters() -> None:
    answered = long_run((0, 1))
    told = changes(answered, answered)
    assert told is not None
    assert told.tokens == 20


# --- the answer -------------------------------------------------------------------------------------------


def test_the_answer_is_told_in_figures() -> None:
    told = facts(finished())
    assert (told.citations, told.sources_used, told.sources) == (2, 1, 1)
    assert (told.sentences_cited, told.sentences, told.words) == (1, 2, 5)
    assert told.unknown == (7,)
    assert told.author == "m@h"


def test_an_answer_is_counted_while_it_is_written() -> None:
    told = facts(run_of(*samples.until(e.TokensWritten)))
    assert told.citations == 1
    assert told.author == ""


def test_a_card_tells_how_often_its_source_is_cited_and_where_else_it_stands() -> None:
    (card,) = cards(finished())
    assert (card.number, card.cited, card.title) == (1, 1, "One")
    assert card.cosine == pytest.approx(0.8)
    assert card.others == ()
    other = Page(key=samples.SLOW, url="https://www.b.example/", title="", article=samples.PAGE.article)
    (card,) = cards(replace(finished(), pages={samples.KEY: samples.PAGE, samples.SLOW: other}))
    assert card.others == ("b.example",)


def test_without_vectors_there_are_no_cosines() -> None:
    run = finished()
    assert run.ranking is not None
    assert cosines(replace(run, ranking=replace(run.ranking, cosine=None))) == {}


# --- the timeline -----------------------------------------------------------------------------------------


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
        event for n in range(MOST_BARS + 50) for event in (e.FetchStarted(f"k{n}", f"https://a.example/{n}"),)
    ]
    chart = gantt(run_of(e.PhaseStarted(Phase.READ), *many), 100.0)
    assert chart.hidden == 50
    assert sum(len(bars) for _, bars in chart.groups) == MOST_BARS


def test_a_run_that_did_nothing_has_an_empty_timeline() -> None:
    assert gantt(Run(status=RunStatus.QUEUED), 0.0).groups == ()


# --- the handbook -----------------------------------------------------------------------------------------


def test_the_handbook_has_titles_leads_and_related_articles() -> None:
    every = {chapter.slug: chapter for chapter in chapters(HANDBOOK)}
    chapter = every["chunk-overlap"]
    assert chapter.title == "Chunk Overlap"
    assert chapter.lead.startswith("Chunk overlap repeats")
    assert "chunk-size" in chapter.related
    assert "See also" not in chapter.body
    assert all(slug in every for one in every.values() for slug in one.related)


def test_the_handbook_is_searched_by_words() -> None:
    slugs = [chapter.slug for chapter in matching(chapters(HANDBOOK), "reciprocal FUSION")]
    assert "reciprocal-rank-fusion" in slugs
    assert matching(chapters(HANDBOOK), "zzzz") == ()
