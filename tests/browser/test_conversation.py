"""A conversation as a person holds it, in a real browser, on a machine without any key."""

from playwright.sync_api import expect

from tests.browser.axe import findings
from tests.browser.page_objects import AT_REST, App

SECOND = "and what does it cost?"


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


def test_a_follow_up_is_asked_by_keys_and_exported(answered: App) -> None:
    app = answered
    first = app.shown_run()
    _draft(app, SECOND)
    app.keyed("answer_from").get_by_test_id("stRadioOption").filter(has_text="The pages in hand").click()
    app.at_rest()
    _ask(app)
    expect(app.keyed("answer_card")).to_contain_text("Turn 2 of 2, from the pages in hand, coverage")
    assert findings(app.page, "conversation") == ()
    app.button("export").click()
    app.more_formats()
    with app.page.expect_download() as download:
        app.button("export_conversation_md").click()
    assert f"## 2. {SECOND}" in download.value.path().read_text("utf-8")
    app.page.keyboard.press("Escape")
    app.keyed("turn_1").get_by_role("button", name="Show").click()
    app.until(f"location.search.includes('run={first}')", AT_REST)
    expect(app.keyed("answer_card")).to_contain_text("Turn 1 of 2")
    expect(app.keyed("turn_2")).to_contain_text(SECOND.removeprefix("and "))
