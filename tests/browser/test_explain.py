"""The Explain page: every view of a finished run, driven by a real browser, with nothing fetched again."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Milled
from tests.browser.page_objects import QUESTION, App
from tests.browser.small_web import DROPPED, NOWHERE
from tests.browser.small_web import QUESTION as MILL_QUESTION
from tests.services.openai_server import streamed

VIEWS = {
    "Attrition": ".st-key-clickable_sankey .sankey-link",
    "Queries": ".st-key-contributions canvas",
    "Attribution": ".oq-matrix td a",
    "Scores": ".st-key-null_distribution .scatterlayer",
    "Map": ".st-key-embedding_map .scatterlayer",
    "Extraction": ".oq-text.diff",
    "Answers": ".st-key-explain_view .oq-empty",
    "Sources": ".st-key-clusters canvas",
}


def view(page: Page, name: str) -> Locator:
    return page.locator(".st-key-view").get_by_role("radio", name=name)


def open_view(app: App, milled: Milled, name: str, **query: str) -> None:
    more = "".join(f"&{key}={quote(value)}" for key, value in query.items())
    app.open(f"/explain?run={milled.run}&view={name}{more}")


def test_every_view_is_two_clicks_from_the_answer_and_says_how_to_read_it(mill: App, milled: Milled) -> None:
    requests = list(milled.web.requests)
    mill.open(f"/?run={milled.run}")
    mill.finished()
    mill.keyed("answer_head").get_by_role("link", name="Explain").click()
    readings = set()
    for name, part in VIEWS.items():
        view(mill.page, name).click()
        expect(mill.page.locator(part).first).to_be_visible()
        expect(mill.page).to_have_url(re.compile(rf"run={milled.run}&view={name.lower()}"))
        readings.add(mill.own("reading").inner_text())
    assert len(readings) == len(VIEWS)
    assert milled.web.requests == requests
    mill.keyed("how_to_read").locator("a").click()
    expect(mill.page.get_by_role("heading", name="Near-Duplicate Detection", exact=True)).to_be_visible()


def test_a_click_on_a_band_lists_what_is_behind_it(mill: App, milled: Milled) -> None:
    open_view(mill, milled, "attrition")
    bands = mill.page.locator(".sankey-link")
    expect(bands.first).to_be_visible()
    bands.first.click(position={"x": 40, "y": 20})
    expect(mill.keyed("flow_items").locator("canvas").first).to_be_visible()
    choice = mill.field("attrition_flow")
    expect(choice).not_to_have_value("")
    choice.click()
    mill.page.get_by_role("option", name=re.compile("HTTP error")).click()
    cells = mill.keyed("flow_items").locator("tbody tr")
    expect(cells).to_have_count(1)
    expect(cells).to_contain_text("A page that is gone")


@pytest.mark.parametrize(
    ("sought", "end", "told"),
    [
        (DROPPED, "LEFT_OUT", "ranked below the cut-off"),
        (NOWHERE, "NOT_IN_ANY_PAGE", "contains it"),
        ("gone", "SKIPPED", "HTTP error"),
        ("https://elsewhere.example/", "NEVER_A_HIT", "No query found this address"),
    ],
)
def test_why_not_tells_where_it_ended(mill: App, milled: Milled, sought: str, end: str, told: str) -> None:
    open_view(mill, milled, "attrition")
    mill.keyed("why").locator("textarea").fill(milled.web.gone if sought == "gone" else sought)
    mill.button("trace").click()
    way = mill.own("trace")
    expect(way).to_have_attribute("data-outcome", end)
    expect(mill.own("verdict")).to_contain_text(told)
    expect(way.locator("li.ended")).to_have_count(1)
    marked = mill.keyed("reader_trace").locator("mark")
    if end == "LEFT_OUT":
        expect(marked).to_have_text(DROPPED.rstrip("."), use_inner_text=True)
    else:
        expect(marked).to_have_count(0)
    shared = mill.page.url
    mill.page.goto(shared)
    expect(way).to_have_attribute("data-outcome", end)


def test_a_cell_of_the_matrix_shows_both_sentences(mill: App, milled: Milled) -> None:
    open_view(mill, milled, "attribution")
    rows = mill.page.locator(".oq-matrix tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).locator("a.cited")).to_have_count(1)
    expect(rows.nth(1)).to_contain_text("numbers not in the cited sources: 4711")
    expect(rows.nth(2)).to_contain_text("cites no source")
    rows.nth(0).locator("a").nth(1).click()
    pair = mill.own("pair")
    expect(pair).to_contain_text("kept the flood in a pond behind a gate")
    expect(pair).to_contain_text("Most similar sentence in source 2", ignore_case=True)
    expect(mill.keyed("reader_cell").locator("mark")).to_be_visible()
    rows.nth(0).locator("a").nth(1).click()
    expect(pair).to_have_count(0)


def test_a_second_opinion_is_asked_for_and_named_as_one(mill: App, milled: Milled) -> None:
    open_view(mill, milled, "attribution")
    milled.model.chats.append(streamed("1: entailed\n2: not addressed"))
    mill.button("ask_judge").first.click()
    opinions = mill.page.locator(".oq-matrix .verdict")
    expect(opinions).to_have_count(2)
    expect(opinions.first).to_contain_text("fake-chat: entailed")


def test_a_query_is_switched_off(mill: App, milled: Milled) -> None:
    open_view(mill, milled, "queries")
    expect(mill.keyed("contributions").locator("tbody tr")).to_have_count(2)
    expect(mill.keyed("query_overlap").locator(".heatmaplayer")).to_be_visible()
    mill.button("queries_off").nth(1).click()
    told = mill.keyed("explain_view").locator(".oq-facts")
    expect(told).to_contain_text("−2 pages")
    expect(told).to_contain_text("rank-biased overlap")


def test_sources_that_are_one_are_counted_once_and_one_can_be_left_out(mill: App, milled: Milled) -> None:
    open_view(mill, milled, "sources")
    expect(mill.own("verdict")).to_contain_text("6 pages, 4 independent")
    leave_out(mill.page, "Dams")
    expect(mill.keyed("explain_view").locator(".oq-facts").last).to_contain_text("context tokens")


def leave_out(page: Page, title: str) -> None:
    page.locator(".st-key-left_out input").click()
    page.get_by_role("option", name=re.compile(title)).click()
    page.locator(".st-key-left_out input").press("Escape")


def test_a_limit_on_one_text_shows_what_it_does(mill: App, milled: Milled) -> None:
    requests = list(milled.web.requests)
    open_view(mill, milled, "sources")
    told = mill.keyed("explain_view").locator(".oq-facts").first
    expect(told).to_contain_text(re.compile(r"\d → 1\s*most passages of one group"))
    expect(told).to_contain_text("duplicate groups in the context")
    mill.keyed("duplicate_limit").get_by_role("radio", name="at most 3").click()
    expect(told).to_contain_text(re.compile(r"\d → [23]\s*most passages of one group"))
    assert milled.web.requests == requests


def test_the_answer_without_a_page_is_written_on_request_and_compared(mill: App, milled: Milled) -> None:
    requests = list(milled.web.requests)
    open_view(mill, milled, "sources")
    leave_out(mill.page, "Dams")
    milled.model.chats.append(streamed("A tide mill ran at ebb [1]. Most of them are museums now."))
    mill.button("answer_without").click()
    flow = mill.page.locator(".oq-text.flow")
    expect(flow.locator("del")).to_have_count(2)
    expect(flow.locator("ins")).to_have_text("A tide mill ran at ebb [1].")
    mill.page.locator('a[href="#pick-source/b/1"]').first.click()
    expect(mill.keyed("reader_source").locator("mark")).to_be_visible()
    assert milled.web.requests == requests
    mill.open(f"/?run={milled.run}")
    expect(mill.answer).to_contain_text("4711 sacks")


def test_scores_are_told_beside_chance(mill: App, milled: Milled) -> None:
    open_view(mill, milled, "scores")
    expect(mill.own("verdict")).to_contain_text("99th percentile of unrelated questions")
    expect(mill.keyed("null_distribution").locator(".scatterlayer .trace")).to_have_count(2)
    expect(mill.keyed("score_curve").locator(".scatterlayer")).to_be_visible()


def test_a_click_on_the_map_shows_true_neighbours(mill: App, milled: Milled) -> None:
    open_view(mill, milled, "map")
    shown = mill.keyed("explain_view").locator(".oq-verdict")
    expect(shown).to_contain_text("Question:")
    star = mill.keyed("embedding_map").locator(".scatterlayer .trace").nth(0).locator(".point").first
    expect(star).to_be_visible()
    label = mill.keyed("embedding_map").locator(".hoverlayer .hovertext")
    mill.click_mark(star, label, mill.keyed("reader_point").locator("mark"))
    expect(shown).to_contain_text("Passage:")
    expect(mill.keyed("reader_point").locator("mark")).to_be_visible()


def test_without_a_run_the_latest_are_offered(mill: App, milled: Milled) -> None:
    mill.open("/explain")
    mill.keyed("latest_runs").get_by_role("link", name=MILL_QUESTION).click()
    expect(mill.page.locator(".sankey-link").first).to_be_visible()
    mill.open("/explain?run=no-such-run")
    expect(mill.page.locator(".stAlert")).to_contain_text("There is no run no-such-run")
    expect(mill.keyed("latest_runs")).to_be_visible()


def test_a_query_added_by_hand_is_the_only_one_that_is_searched(answered: App) -> None:
    answered.keyed("answer_head").get_by_role("link", name="Explain").click()
    view(answered.page, "Queries").click()
    rows = answered.keyed("contributions").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(answered.keyed("explain_view")).to_contain_text("One query only")
    box = answered.field("new_query")
    box.fill(QUESTION.upper())
    answered.button("search_more").click()
    expect(answered.page.locator(".stAlert")).to_contain_text("This query was searched already")
    box.fill("passage boundaries")
    answered.button("search_more").click()
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("passage boundaries")
    expect(answered.button("queries_off")).to_have_count(2)
