"""A conversation as a person holds it, in a real browser, on a machine without any key."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import expect

from core.run.events import Record
from tests.browser.axe import findings
from tests.browser.page_objects import AT_REST, App
from tests.seeding import store_copy

SECOND = "and what does it cost?"
STANDALONE = "About chunk overlap and retrieval: what does it cost?"
THIRD = "How can a web page inject instructions into a prompt?"


def _draft(app: App, written: str) -> None:
    """Type a follow-up, and wait until it is there as it will run.

    Ctrl+Enter, so that the shortcut of another field would ask the question before it again.
    """
    before = app.shown_run()
    app.field("follow_up_line").fill(written)
    app.field("follow_up_line").press("Control+Enter")
    expect(app.keyed("follow_up_card")).to_be_visible()
    app.at_rest()
    assert app.shown_run() == before


def _ask(app: App) -> None:
    before = app.shown_run()
    app.keyed("standalone").locator("textarea").press("Control+Enter")
    app.until(f"!location.search.includes('run={before}')")
    app.finished_turn()


def test_three_turns_keep_their_numbers_are_a_link_and_one_entry_of_the_history(answered: App) -> None:
    app = answered
    first = app.shown_run()

    _draft(app, SECOND)
    standalone = app.keyed("standalone").locator("textarea")
    expect(standalone).to_have_value(STANDALONE)
    expect(app.own("coverage")).to_contain_text("Coverage of the pages in hand")
    expect(app.keyed("follow_up_card")).to_contain_text("No chat model is connected.")
    app.keyed("answer_from").get_by_text("The pages in hand").click()
    app.at_rest()
    _ask(app)
    expect(app.keyed("answer_card")).to_contain_text("Turn 2 of 2, from the pages in hand, coverage")
    expect(app.keyed("answer_card")).to_contain_text(f"You wrote “{SECOND}”")
    for phase in ("plan", "search", "read"):
        expect(app.step(phase)).to_have_class(re.compile("waiting"))
    for phase in ("chunk", "embed", "rank", "answer"):
        expect(app.step(phase)).to_have_class(re.compile("done"))

    _draft(app, THIRD)
    expect(standalone).to_have_value(THIRD)
    app.keyed("answer_from").get_by_text("Both").click()
    app.at_rest()
    _ask(app)
    expect(app.keyed("turn_1")).to_be_visible()
    expect(app.keyed("turn_2")).to_contain_text(STANDALONE)
    numbers = [int(card.get_attribute("id")[4:]) for card in app.own("source").all()]  # type: ignore[index]
    assert len(set(numbers)) == 6 and max(numbers) > 6, "new passages get the numbers after those in use"
    assert findings(app.page, "conversation") == ()
    third = app.shown_run()
    app.button("export").click()
    app.at_rest()
    with app.page.expect_download() as download:
        app.button("export_conversation_md").click()
    document = download.value.path().read_text("utf-8")
    assert f"## 2. {SECOND}" in document and f"## 3. {THIRD}" in document
    app.page.keyboard.press("Escape")

    app.keyed("turn_1").get_by_role("button", name="Show").click()
    app.until(f"location.search.includes('run={first}')", AT_REST)
    expect(app.keyed("answer_card")).to_contain_text("Turn 1 of 3")
    expect(app.keyed("turn_3")).to_contain_text(THIRD)

    app.open(f"/?run={third}")
    expect(app.keyed("answer_card")).to_contain_text("Turn 3 of 3")
    app.open(f"/explain?run={third}&view=queries")
    expect(app.page.get_by_test_id("stMain")).to_contain_text("pages of earlier questions")
    expect(app.page.get_by_test_id("stException")).to_have_count(0)
    app.open("/runs")
    expect(app.listed(THIRD)).to_have_count(1)
    expect(app.listed("How does chunk overlap")).to_have_count(0)


def test_the_words_of_the_person_can_be_put_back_and_a_draft_can_be_cancelled(answered: App) -> None:
    app = answered
    _draft(app, SECOND)
    app.button("my_words").click()
    expect(app.keyed("standalone").locator("textarea")).to_have_value(SECOND)
    app.button("cancel_follow_up").click()
    expect(app.keyed("follow_up_card")).to_have_count(0)
    expect(app.keyed("follow_up_line")).to_be_visible()


def test_two_tabs_that_continue_one_conversation_make_two_branches(
    visit: Callable[..., App], demo_site: object, demo_records: tuple[Record, ...]
) -> None:
    tabs = [visit(demo_site), visit(demo_site)]
    first = store_copy(tabs[0].site.folder, demo_records)
    for app in tabs:
        app.open(f"/?run={first}")
        app.finished()
    for app in tabs:
        _draft(app, SECOND)
    for app in tabs:
        _ask(app)
        expect(app.keyed("answer_card")).to_contain_text("Turn 2 of 2")
    assert len({urlsplit(app.page.url).query for app in tabs}) == 2
