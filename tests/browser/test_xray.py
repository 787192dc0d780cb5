"""The extraction view of a page and the versions of an answer, on a run of their own."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import WebRun
from tests.browser.page_objects import App
from tests.services.openai_server import streamed

OTHER = (
    "A tide mill kept the flood in a pond behind a gate and let it out over a wheel at ebb [1]. It is quiet."
)


@pytest.fixture
def own_run(web_run: WebRun) -> str:
    """A run that a test may change."""
    return web_run.copy()


def test_one_page_is_read_by_another_extractor_and_ranked_anew(
    web_app: App, web_run: WebRun, own_run: str
) -> None:
    page = web_app.page
    requests = list(web_run.web.requests)
    web_app.open(f"/?run={own_run}")
    page.locator(".st-key-answer_head").get_by_role("link", name="Explain").click()
    page.locator(".st-key-view").get_by_role("radio", name="Extraction").click()
    source = page.locator(".oq-text.code")
    expect(source).to_contain_text("<h1>")
    page.locator(".st-key-extraction_page input").click()
    page.get_by_role("option", name=re.compile("Records")).click()
    expect(source).to_contain_text("<nav><ul><li>All newsletters of the archive</li>")
    expect(source.locator("nav")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"view=extraction&page=.*4"))
    article = page.locator(".oq-text.diff")
    expect(article.locator("del")).to_contain_text("All newsletters of the archive")
    missing = page.get_by_label("Why is this text not in the article?")
    missing.fill("All newsletters of the archive")
    missing.press("Enter")
    expect(page.locator(".st-key-explain_view")).to_contain_text("It is in navigation, a header, a footer")
    expect(page.get_by_role("button", name="In use")).to_be_disabled()
    page.locator(".st-key-extraction_as").get_by_role("radio", name="visible text").click()
    expect(page.locator(".oq-text.visible")).to_contain_text("All newsletters of the archive")
    page.locator(".st-key-extraction_by").get_by_role("radio", name="visible").click()
    expect(article.locator("del")).to_have_count(0)
    page.get_by_role("button", name="Rank with visible").click()
    expect(page.get_by_role("button", name="In use")).to_be_visible()
    page.goto(page.url)
    expect(page.get_by_role("radio", name="visible ✓")).to_be_checked()
    assert web_run.web.requests == requests


def test_a_text_that_was_left_out_is_kept_and_left_out_again(
    web_app: App, web_run: WebRun, own_run: str
) -> None:
    page = web_app.page
    requests = list(web_run.web.requests)
    web_app.open(f"/explain?run={own_run}&view=extraction")
    page.locator(".st-key-extraction_page input").click()
    page.get_by_role("option", name=re.compile("Records")).click()
    article = page.locator(".oq-text.diff")
    left_out = article.locator("del a", has_text="All newsletters of the archive")
    left_out.click()
    expect(page.get_by_label("Why is this text not in the article?")).to_have_value(
        "All newsletters of the archive"
    )
    web_app.button("extraction_keep").click()
    kept = web_app.keyed("extraction_kept_0")
    expect(kept).to_contain_text("All newsletters of the archive")
    expect(left_out).to_have_count(0)
    expect(article).to_contain_text("All newsletters of the archive")
    shared = page.url
    web_app.open(f"/?run={own_run}")
    notes = web_app.keyed("notes")
    notes.locator("summary").click()
    expect(notes).to_contain_text("1 block kept by hand on “Records of early mills”.")
    page.goto(shared)
    web_app.button("extraction_leave_out_0").click()
    expect(kept).to_have_count(0)
    expect(left_out).to_be_visible()
    assert web_run.web.requests == requests


def test_a_skipped_page_is_offered_and_says_why_there_is_nothing(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/explain?run={web_run.run}&view=extraction&page={web_run.web.gone}")
    shown = web_app.keyed("explain_view")
    expect(shown).to_contain_text("This page is not cached")
    again = web_app.button("extraction_fetch_again")
    again.click()
    expect(shown).to_contain_text("could not be fetched: HTTP error")
    expect(again).to_be_visible()


def test_an_earlier_answer_stands_beside_the_present_one(web_app: App, web_run: WebRun, own_run: str) -> None:
    page = web_app.page
    requests = list(web_run.web.requests)
    web_app.open(f"/?run={own_run}")
    web_app.finished()
    web_run.model.chats.append(streamed(OTHER))
    web_app.slider("rank_top_k").press("ArrowLeft")
    page.locator(".st-key-answer_again button").click()
    earlier = page.get_by_role("link", name="Compare with 1 earlier answer")
    expect(earlier).to_be_visible()
    web_app.at_rest()
    earlier.click()
    expect(page.locator(".st-key-version_body_a")).to_contain_text("4711 sacks")
    expect(page.locator(".st-key-version_body_b")).to_contain_text("It is quiet")
    flow = page.locator(".oq-text.flow")
    expect(flow.locator("ins")).to_have_text("It is quiet.")
    expect(flow.locator("del")).to_have_count(2)
    expect(page.locator(".oq-figures tr").last).to_contain_text("difference")
    page.locator('.st-key-version_body_a a[href="#pick-source/a/2"]').click()
    reader = page.locator(".st-key-reader_source")
    expect(reader).to_contain_text("1: source 2")
    expect(reader.locator("mark")).to_be_visible()
    reader.get_by_role("button", name="Close").click()
    expect(reader).to_have_count(0)
    assert web_run.web.requests == requests
