"""The pictures of the guided tour: `python -m bench.tour` asks the demo library and writes docs/images/tour-*.png."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from bench.screenshots import LAPTOP, opened, pictured, settled, studio
from tests.browser.conftest import App

DROPPED = "Overlap must be smaller than the chunk size, or the cutting window never advances."
LOSS = 5
"""The band of passages below the cut-off, after those of the five steps before it."""
ADDED = "passage boundaries at sentences"


def main() -> None:
    with studio(__doc__) as (browser, site, folder):
        page = opened(browser, LAPTOP)
        app = App(page, site)
        app.ask()
        settled(app)
        page.locator(".st-key-answer_head").get_by_role("link", name="Explain").click()
        _explained(page, folder)
        _compared(page, folder)
        _answered_again(app, folder)


def _explained(page: Page, folder: Path) -> None:
    page.locator(".sankey-link").nth(LOSS).click()
    page.locator(".st-key-flow_items canvas").first.wait_for()
    _picture(page, folder, "attrition")
    page.locator(".st-key-why textarea").fill(DROPPED)
    page.locator(".st-key-trace button").click()
    page.locator(".st-key-reader_trace mark").wait_for()
    page.locator(".st-key-why_card").scroll_into_view_if_needed()
    _picture(page, folder, "why")
    _view(page, "Queries")
    page.locator(".st-key-new_query input").fill(ADDED)
    page.locator(".st-key-search_more button").click()
    expect(page.locator(".st-key-contributions tbody tr")).to_have_count(2)
    page.locator(".st-key-queries_off button").nth(0).click()
    page.locator(".st-key-explain_view .oq-facts").wait_for()
    page.locator(".st-key-query_overlap .heatmaplayer").wait_for()
    _picture(page, folder, "queries")
    _view(page, "Attribution")
    page.locator(".oq-matrix td a").nth(1).click()
    page.locator(".st-key-reader_cell mark").wait_for()
    _picture(page, folder, "attribution")
    _view(page, "Scores")
    page.locator(".st-key-null_distribution .scatterlayer").wait_for()
    page.locator(".st-key-score_curve .scatterlayer").wait_for()
    _picture(page, folder, "scores")
    _view(page, "Map")
    page.locator(".st-key-embedding_map .scatterlayer").wait_for()
    page.locator(".st-key-colour_by").get_by_role("radio", name="topic").click()
    expect(page.locator(".st-key-embedding_map .legend").get_by_text("other pages")).to_have_count(0)
    _picture(page, folder, "map")
    _view(page, "Sources")
    _to_the_top(page, ".st-key-duplicate_limit_head")
    page.locator(".st-key-left_out input").click()
    page.get_by_role("option", name="Chunk Overlap").click()
    page.locator(".st-key-left_out input").press("Escape")
    page.locator('[class*="st-key-without_"] canvas').first.wait_for()
    _picture(page, folder, "sources")
    page.locator(".st-key-answer_without button").click()
    page.locator(".oq-text.flow").wait_for()
    _to_the_top(page, ".st-key-without_head")
    _picture(page, folder, "without")
    page.mouse.wheel(0, -5000)
    _view(page, "Extraction")
    page.locator(".oq-text.diff").wait_for()
    _picture(page, folder, "extraction")


def _compared(page: Page, folder: Path) -> None:
    page.get_by_role("link", name="Compare settings").click()
    page.locator(".st-key-bump .scatterlayer").wait_for()
    _to_the_top(page, ".st-key-bump_frame", above=120)
    _picture(page, folder, "compare")
    page.locator(".st-key-answer_both button").click()
    page.locator(".st-key-answer_pair .oq-figures").wait_for()
    _to_the_top(page, ".st-key-answer_pair")
    _picture(page, folder, "answers")


def _answered_again(app: App, folder: Path) -> None:
    page = app.page
    page.get_by_role("link", name="Answer", exact=True).click()
    app.finished()
    for _ in range(3):
        app.slider("rank_top_k").press("ArrowLeft")
    page.locator(".st-key-answer_again button").click()
    page.get_by_role("link", name="Compare with 1 earlier answer").click()
    page.locator(".oq-figures").wait_for()
    _picture(page, folder, "versions")


def _view(page: Page, name: str) -> None:
    page.locator(".st-key-view").get_by_role("radio", name=name).click()
    expect(page).to_have_url(re.compile(f"view={name.lower()}"))
    _at_rest(page)


def _to_the_top(page: Page, part: str, above: int = 70) -> None:
    """Scroll a part of the page to below its head. Lists close while a page scrolls, so that comes first."""
    page.locator(part).evaluate(
        "(one, above) => { one.style.scrollMarginTop = above + 'px'; one.scrollIntoView({block: 'start'}); }",
        above,
    )
    page.wait_for_timeout(300)


def _at_rest(page: Page) -> None:
    """Until the script has drawn the page: what is opened before that closes again."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def _picture(page: Page, folder: Path, name: str) -> None:
    page.mouse.move(2, 300)
    pictured(page, folder / f"tour-{name}.png")


if __name__ == "__main__":
    main()
