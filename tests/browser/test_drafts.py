"""Test questions drafted from stored runs: decided on by keys, kept as a data set that an experiment can take."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from core.run.events import Record
from tests.browser.axe import findings
from tests.browser.conftest import visiting
from tests.browser.page_objects import App
from tests.browser.server import serving
from tests.seeding import store_copy


@pytest.fixture
def app(chromium: Browser, tmp_path: Path, demo_records: tuple[Record, ...]) -> Iterator[App]:
    """A visitor of a server with one run. Among the passages of others are some without a heading to ask about."""
    store_copy(tmp_path, demo_records, "How are test questions drafted?")
    with serving(tmp_path) as site, visiting(chromium, site) as visitor:
        yield visitor


def test_drafts_are_approved_by_keys_and_become_a_data_set(app: App) -> None:
    app.open("/evaluate?view=labels&part=drafts")
    app.field("drafts_count").fill("5")
    app.field("drafts_count").press("Enter")
    app.button("drafts_start").first.click()
    drafts = app.page.locator(".oq-settings.drafts tbody tr")
    expect(drafts).to_have_count(5)
    expect(drafts.first).to_contain_text("template")
    expect(app.keyed("drafts_waiting")).to_have_count(0)
    article = app.keyed("reader_draft").locator(".oq-article")
    article.focus()
    decided = app.page.locator(".oq-settings.drafts td:last-child")
    for number, (key, outcome) in enumerate((("a", "approved"), ("d", "dropped"), ("a", "approved"))):
        place = str(article.get_attribute("data-place"))
        app.page.keyboard.press(key)
        expect(decided.nth(number)).to_have_text(outcome)
        expect(article).not_to_have_attribute("data-place", place)
        expect(article).to_be_focused()
    app.page.keyboard.press("u")
    expect(decided.nth(2)).not_to_have_text("approved")
    expect(article).to_have_attribute("data-place", place)
    words = app.keyed("reader_draft").locator("xpath=following::input[1]")
    words.fill("What do people mean by overlap?")
    words.press("Enter")
    expect(drafts.nth(2)).to_contain_text("What do people mean by overlap?")
    app.at_rest()
    assert findings(app.page, "drafts") == ()
    app.theme("dark")
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.until("document.documentElement.scrollWidth <= innerWidth")
    assert findings(app.page, "drafts on a phone in the dark") == ()
    app.field("drafts_name").fill("from my runs")
    app.field("drafts_name").press("Enter")
    app.button("drafts_save").first.click()
    expect(app.page.locator(".stAlert")).to_contain_text(
        re.compile(r"The data set “from[-_ ]my[-_ ]runs\.zip”")
    )
    app.keyed("evaluate_view").get_by_role("radio", name="New").click()
    expect(app.keyed("evaluate_data")).to_be_visible()
    app.keyed("evaluate_data").locator("input").click()
    expect(app.page.get_by_role("option").filter(has_text=re.compile("from.my.runs"))).to_be_visible()
