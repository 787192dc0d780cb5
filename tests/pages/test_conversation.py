"""A conversation on the Ask page: drafts of follow-ups, turns with their numbers, and branches."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.model import AnswerFrom
from core.run.state import Run
from core.runtime.registry import RunRegistry
from tests.pages.conftest import answered, drawn_until, opened, words
from tests.pages.test_pages import html
from tests.pages.test_research import step
from tests.runtime.waiting import finished

pytestmark = pytest.mark.slow

SECOND = "and what does it cost?"
THIRD = "How can a web page inject instructions into a prompt?"


def drafted(app: AppTest, written: str) -> AppTest:
    """Type a follow-up, and wait until its draft is there."""
    app.text_input(key="follow_up_text").set_value(written)
    app.button(key="follow_up_go").click().run()
    return drawn_until(app, lambda: "standalone" in {area.key for area in app.text_area})


def asked(registry: RunRegistry, app: AppTest, answer_from: AnswerFrom | None = None) -> Run:
    """Ask the draft: the run of its turn, once it has ended and is shown."""
    before = "".join(app.query_params["run"])
    if answer_from:
        app.radio(key="answer_from").set_value(answer_from)
    app.button(key="follow_up_ask").click().run()
    assert not app.exception
    run_id = "".join(app.query_params["run"])
    assert run_id != before
    run = finished(registry, run_id)
    registry.store.flush()
    app.run()
    return run


def test_three_turns_keep_their_numbers_and_are_one_entry(registry: RunRegistry) -> None:
    first = answered(registry)
    app = drafted(opened(run=first.id), SECOND)
    assert re.search(r"overlap.*: what does it cost\?", str(app.text_area(key="standalone").value), re.I)
    assert "Coverage of the pages in hand" in words(app)
    assert "No chat model is connected." in words(app)
    assert "Nearest to the follow-up" in words(app)
    assert [caption.startswith("about ") for caption in app.radio(key="answer_from").proto.captions] == [
        True
    ] * 3
    asked(registry, app, AnswerFrom.PAGES)
    assert "Turn 2 of 2, from the pages in hand, coverage" in words(app)
    assert f"You wrote “{SECOND}”" in words(app)
    assert all("waiting" in step(app, phase) for phase in ("plan", "search", "read"))
    assert all("done" in step(app, phase) for phase in ("chunk", "embed", "rank", "answer"))

    drafted(app, THIRD)
    assert app.text_area(key="standalone").value == THIRD
    third = asked(registry, app, AnswerFrom.BOTH)
    assert SECOND.removeprefix("and ") in words(app)
    numbers = [int(number) for number in re.findall(r'id="src-(\d+)"', html(app))]
    assert len(set(numbers)) == 6 and max(numbers) > 6, "new passages get the numbers after those in use"

    app.button(key=f"open_turn_{first.id}").click().run()
    assert app.query_params["run"] == first.id
    assert "Turn 1 of 3" in words(app) and THIRD in words(app)
    assert "Turn 3 of 3" in words(opened(run=third.id))
    queries = opened("explain", run=third.id, view="queries")
    assert not queries.exception
    assert "pages of earlier questions" in queries.dataframe[0].value.to_string()
    listed = list(opened("runs").dataframe[0].value["question"])
    assert listed == [first.question], "the conversation is one entry, under its first question"

    app = opened(run=third.id)
    title = app.text_input(key=f"thread_title_{first.id}")
    assert title.value == first.question
    title.set_value("The cost of overlap").run()
    assert "The cost of overlap" in html(app)
    listed = list(opened("runs").dataframe[0].value["question"])
    assert listed == ["The cost of overlap"]


def test_a_draft_takes_ones_own_words_or_is_cancelled(registry: RunRegistry) -> None:
    app = drafted(opened(run=answered(registry).id), SECOND)
    app.button(key="my_words").click().run()
    assert app.text_area(key="standalone").value == SECOND
    app.button(key="cancel_follow_up").click().run()
    assert not app.exception
    assert not app.text_area
    assert "follow_up_text" in {field.key for field in app.text_input}


def test_two_tabs_that_continue_a_conversation_make_branches(registry: RunRegistry) -> None:
    first = answered(registry)
    tabs = [drafted(opened(run=first.id), SECOND) for _ in range(2)]
    turns = {asked(registry, app, AnswerFrom.PAGES).id for app in tabs}
    assert len(turns) == 2
    assert all("Turn 2 of 2" in words(app) for app in tabs)
