"""Which runs of the history match, how they are listed, and what their settings changed."""

from datetime import UTC, date, datetime

from core.analysis.history import (
    all_tags,
    are_comparable,
    changed_settings,
    common_tags,
    day_of,
    highlighted,
    matching_runs,
    remarkable,
    time_of,
)
from core.config.knobs import Knobs
from core.run.run_summary import RunSummary
from core.run.state import RunStatus


def line(run_id: str, question: str = "Why?", *tags: str, **values: object) -> RunSummary:
    fields = {
        "started": "",
        "status": RunStatus.DONE,
        "seconds": 1.0,
        "tags": tags,
        "title": question,
        **values,
    }
    return RunSummary(id=run_id, question=question, **fields)  # type: ignore[arg-type]


RUNS = (
    line("1", "What is chunk overlap?", "draft"),
    line("2", "Why overlap?", "Zeta", "draft"),
    line("3", "ÜBER BM25", status=RunStatus.FAILED),
)


def ids(*args: object) -> str:
    return "".join(run.id for run in matching_runs(RUNS, *args))  # type: ignore[arg-type]


def test_every_word_must_match_in_any_case_and_order() -> None:
    assert (ids(), ids("overlap"), ids("OVERLAP what"), ids("über"), ids("  "), ids("overlap bm25")) == (
        "123",
        "12",
        "1",
        "3",
        "123",
        "",
    )


def test_a_run_that_mentions_the_words_elsewhere_matches() -> None:
    assert ids("bm25", [], [], ["1"]) == "13"
    assert ids("bm25", ["failed"], [], ["1"]) == "3"


def test_any_chosen_status_and_any_chosen_tag_match() -> None:
    assert ids("", ["failed", "stopped"]) == "3"
    assert ids("", [], ["Zeta", "nothing"]) == "2"
    assert ids("overlap", ["done"], ["draft"]) == "12"
    assert ids("", ["failed"], ["draft"]) == ""


def test_tags_of_some_and_of_all() -> None:
    assert all_tags(RUNS) == ("draft", "Zeta")
    assert common_tags(RUNS[:2]) == ("draft",)
    assert common_tags(RUNS) == ()


def test_changed_settings_differ_from_the_defaults_in_use() -> None:
    knobs = Knobs.parse({"rank": {"top_k": 3}, "search": {"origin": "library"}})
    run = line("1", knobs=knobs)
    assert changed_settings(run, Knobs()) == ("origin library", "top_k 3")
    assert changed_settings(run, Knobs.parse({"search": {"origin": "library"}})) == ("top_k 3",)
    assert changed_settings(line("1"), Knobs()) == (), "knobs of another version"


def test_two_runs_that_ended_with_passages_are_comparable() -> None:
    assert are_comparable([line("1", passages=3), line("2", passages=1)])
    assert not are_comparable([line("1", passages=3)])
    assert not are_comparable([line("1", passages=3), line("2", passages=0)])
    assert not are_comparable([line("1", passages=3), line("2", passages=1, status=RunStatus.RUNNING)])


def test_days_of_the_history_are_named_from_today() -> None:
    today = date(2026, 11, 3)
    starts = [datetime(year, month, day, 10, 5, tzinfo=UTC) for year, month, day in DAYS]
    assert [day_of(start, today) for start in starts] == [
        "Today",
        "Yesterday",
        "November",
        "October",
        "May 2025",
    ]
    assert [time_of(start, today) for start in starts] == ["10:05", "10:05", "1 Nov", "8 Oct", "2 May"]
    assert (day_of(None, today), time_of(None, today)) == ("Not started", "")


DAYS = ((2026, 11, 3), (2026, 11, 2), (2026, 11, 1), (2026, 10, 8), (2025, 5, 2))


def test_words_of_a_question_are_highlighted_as_literal_text() -> None:
    assert highlighted("Which [pumps](x) pump?", "PUMP", 80).count(":orange-background[") == 2
    assert highlighted("Which pumps?", "", 80) == "Which pumps?"


def test_a_run_has_one_remark_in_the_history() -> None:
    assert remarkable(line("1", "Why?", "draft", status=RunStatus.STOPPED)) == "stopped"
    assert remarkable(line("1", "Why?", status=RunStatus.RUNNING, elsewhere=True)) == "running elsewhere"
    assert remarkable(line("1", "Why?", "draft", "later", turns=2)) == "draft, later"
    assert remarkable(line("1", turns=2)) == "2 questions"
    assert remarkable(line("1")) == remarkable(line("1"), "why") == ""
    assert remarkable(line("2", "Why?", title="What are pumps?"), "why") == "found in a later question"
    assert remarkable(line("1", "Why?", "draft"), "pump") == "found in its answer or sources"
