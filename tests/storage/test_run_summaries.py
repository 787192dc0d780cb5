"""What the history knows of a run without reading it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.config.knobs import Knobs
from core.errors import BadInput
from core.model import AnswerFrom
from core.run import events as e
from core.run.conversation import next_turn
from core.run.run_summary import RunSummary
from core.run.state import Run, RunStatus
from core.storage.run_store import RunStore
from core.storage.run_summaries import TAG_LIMIT, TITLE_LIMIT
from tests.samples import USAGE, records, until


def _stored(store: RunStore, *events: e.Event) -> Run:
    run = Run()
    for record in records(*events):
        run = run.apply(record)
        store.append(run, record)
    return run


def _line(store: RunStore) -> RunSummary:
    (line,) = store.history(10)
    return line


def test_a_summary_has_counts_usage_and_knobs(store: RunStore) -> None:
    run = _stored(store, *until(e.RunDone))
    line = _line(store)
    assert (line.pages, line.passages, line.sources) == (1, 2, 1)
    assert line.usage == USAGE
    assert line.model_usage == run.model_usage
    assert line.knobs == run.knobs
    assert line.tags == ()


def test_run_that_asked_no_model_server_has_no_usage(store: RunStore) -> None:
    _stored(store, *until(e.PageRead))
    assert _line(store).usage is None


def test_a_follow_up_changes_the_summary(store: RunStore) -> None:
    run = _stored(store, *until(e.RunDone))
    fewer = Knobs.parse({"rank": {"top_k": 2}})
    record = e.Record(at=9.0, event=e.RunResumed(fewer))
    store.append(run.apply(record), record)
    line = _line(store)
    assert line.knobs == fewer
    assert (line.status, line.seconds) == (RunStatus.RUNNING, 9.0)


def test_an_ended_run_is_found_by_its_question_answer_and_titles_of_sources(store: RunStore) -> None:
    run = _stored(store, *until(e.SourcesChosen))
    assert store.mentioning("one") == frozenset(), "a live run is found by its question alone"
    run = _stored(store, *until(e.RunDone))
    answer, title = run.text.split()[0], run.sources[0].title
    assert store.mentioning(f"{title.upper()} {answer} {run.question.split()[0]}") == {run.id}
    assert store.mentioning(f"{title} zeppelin") == frozenset()
    assert store.mentioning("%") == frozenset(), "no pattern"
    store.delete(run.id)
    assert store.mentioning(title) == frozenset()


def test_knobs_unknown_to_this_version_are_left_out(store: RunStore, tmp_path: Path) -> None:
    _stored(store, *until(e.RunDone))
    store.flush()
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db, db:
        db.execute("""UPDATE runs SET knobs = '{"rank": {"novelty": 1}}'""")
    assert _line(store).knobs is None


def test_tags_are_added_removed_and_deleted_with_their_run(store: RunStore, tmp_path: Path) -> None:
    _stored(store, *until(e.RunDone))
    store.tag(["run-1", "nobody"], "to  read")
    store.tag(["run-1"], "Draft")
    store.tag(["run-1"], "DRAFT")
    assert _line(store).tags == ("Draft", "to read")
    store.tag(["run-1"], "TO READ", remove=True)
    assert _line(store).tags == ("Draft",)
    store.delete("run-1")
    store.flush()
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM run_tags").fetchone() == (0,)


def test_a_conversation_is_called_by_its_first_question_or_its_given_title(store: RunStore) -> None:
    first = _stored(store, *until(e.RunDone))
    turn = next_turn(first, written="And then?", answer_from=AnswerFrom.SEARCH)
    began = e.RunStarted("run-2", "Then?", Knobs(), "2026-01-02T03:05:05+00:00", turn=turn)
    _stored(store, began, *until(e.RunDone)[1:])
    assert [line.title for line in store.history(10)] == [first.question] * 2
    store.rename(first.id, "  All\nof it ")
    assert [line.title for line in store.history(10)] == ["All of it"] * 2
    with pytest.raises(BadInput, match="limit is 120"):
        store.rename(first.id, "x" * (TITLE_LIMIT + 1))
    store.delete("run-1")
    assert _line(store).title == "All of it", "while it has a turn"
    store.rename(first.id, "")
    assert _line(store).title == "Then?"
    store.rename(first.id, "Once more")
    store.delete("run-2")
    with store.transaction("unreadable") as db:
        assert db.execute("SELECT count(*) FROM conversation_titles").fetchone() == (0,)


@pytest.mark.parametrize(("tag", "word"), [("  \n", "empty"), ("x" * (TAG_LIMIT + 1), "limit is 30")])
def test_a_tag_that_cannot_be_used_is_refused(store: RunStore, tag: str, word: str) -> None:
    with pytest.raises(BadInput, match=word):
        store.tag(["run-1"], tag)


def test_hostile_tags_and_questions_stay_text(store: RunStore) -> None:
    _stored(store, *until(e.RunDone))
    hostile = "'); DROP TABLE runs; --"
    store.tag(["run-1"], hostile)
    assert _line(store).tags == (hostile,)
