"""The Explain page: every view of a finished run, driven by a real browser, with nothing fetched again."""

import re
from itertools import combinations
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import WebRun
from tests.browser.page_objects import QUESTION, App
from tests.browser.small_web import DROPPED, NOWHERE
from tests.browser.small_web import QUESTION as WEB_QUESTION
from tests.services.openai_server import streamed

VIEWS = {
    "Attrition": ".oq-attrition .lost a",
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


def open_view(app: App, web_run: WebRun, name: str, **query: str) -> None:
    more = "".join(f"&{key}={quote(value)}" for key, value in query.items())
    app.open(f"/explain?run={web_run.run}&view={name}{more}")


def test_every_view_is_two_clicks_from_the_answer_and_says_how_to_read_it(
    web_app: App, web_run: WebRun
) -> None:
    requests = list(web_run.web.requests)
    web_app.open(f"/?run={web_run.run}")
    web_app.finished()
    web_app.keyed("answer_head").get_by_role("link", name="Explain").click()
    view(web_app.page, "Queries").click()  # the first view is in the address once another was shown
    expect(web_app.page).to_have_url(re.compile("view=queries"))
    readings = set()
    for name, part in VIEWS.items():
        view(web_app.page, name).click()
        expect(web_app.page.locator(part).first).to_be_visible()
        expect(web_app.page).to_have_url(re.compile(rf"run={web_run.run}&view={name.lower()}"))
        readings.add(web_app.own("reading").inner_text())
    assert len(readings) == len(VIEWS)
    assert web_run.web.requests == requests
    web_app.keyed("how_to_read").locator("a").click()
    expect(web_app.page.get_by_role("heading", name="Near-Duplicate Detection", exact=True)).to_be_visible()


def test_a_click_on_a_band_lists_what_is_behind_it(web_app: App, web_run: WebRun) -> None:
    open_view(web_app, web_run, "attrition")
    lost = web_app.loss("HTTP error")
    lost.click()
    cells = web_app.keyed("flow_items").locator("tbody tr")
    expect(cells).to_have_count(1)
    expect(cells).to_contain_text("A page that is gone")
    expect(lost).to_have_class("on")
    choice = web_app.field("attrition_flow")
    expect(choice).to_have_value(re.compile("HTTP error"))
    web_app.loss_band("ranked below the cut-off").click()
    expect(choice).to_have_value(re.compile("ranked below the cut-off"))


def test_on_a_phone_no_label_of_the_losses_lies_over_another(web_app: App, web_run: WebRun) -> None:
    web_app.page.set_viewport_size({"width": 390, "height": 844})
    open_view(web_app, web_run, "attrition")
    expect(web_app.loss("HTTP error")).to_be_visible()
    labels = web_app.page.locator(".oq-attrition :is(.name, .lost a)")
    boxes = [box for label in labels.all() if (box := label.bounding_box())]
    assert len(boxes) == labels.count() > 8
    for one, other in combinations(boxes, 2):
        apart = (
            one["x"] + one["width"] <= other["x"] + 0.5
            or other["x"] + other["width"] <= one["x"] + 0.5
            or one["y"] + one["height"] <= other["y"] + 0.5
            or other["y"] + other["height"] <= one["y"] + 0.5
        )
        assert apart, (one, other)
    assert all(box["x"] + box["width"] <= 390 for box in boxes)


@pytest.mark.parametrize(
    ("sought", "end", "told"),
    [
        (DROPPED, "LEFT_OUT", "ranked below the cut-off"),
        (NOWHERE, "NOT_IN_ANY_PAGE", "contains it"),
        ("gone", "SKIPPED", "HTTP error"),
        ("https://elsewhere.example/", "NEVER_A_HIT", "No query found this address"),
    ],
)
def test_why_not_tells_where_it_ended(
    web_app: App, web_run: WebRun, sought: str, end: str, told: str
) -> None:
    open_view(web_app, web_run, "attrition")
    web_app.keyed("why").locator("textarea").fill(web_run.web.gone if sought == "gone" else sought)
    web_app.button("trace").click()
    way = web_app.own("trace")
    expect(way).to_have_attribute("data-outcome", end)
    expect(web_app.own("verdict")).to_contain_text(told)
    expect(way.locator("li.ended")).to_have_count(1)
    marked = web_app.keyed("reader_trace").locator("mark")
    if end == "LEFT_OUT":
        expect(marked).to_have_text(DROPPED.rstrip("."), use_inner_text=True)
    else:
        expect(marked).to_have_count(0)
    shared = web_app.page.url
    web_app.page.goto(shared)
    expect(way).to_have_attribute("data-outcome", end)


def test_a_cell_of_the_matrix_shows_both_sentences(web_app: App, web_run: WebRun) -> None:
    open_view(web_app, web_run, "attribution")
    rows = web_app.page.locator(".oq-matrix tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).locator("a.cited")).to_have_count(1)
    expect(rows.nth(1)).to_contain_text("numbers not in the cited sources: 4711")
    expect(rows.nth(2)).to_contain_text("cites no source")
    rows.nth(0).locator("a").nth(1).click()
    pair = web_app.own("pair")
    expect(pair).to_contain_text("kept the flood in a pond behind a gate")
    expect(pair).to_contain_text("Most similar sentence in source 2", ignore_case=True)
    expect(web_app.keyed("reader_cell").locator("mark")).to_be_visible()
    rows.nth(0).locator("a").nth(1).click()
    expect(pair).to_have_count(0)


def test_a_second_opinion_is_asked_for_and_named_as_one(web_app: App, web_run: WebRun) -> None:
    open_view(web_app, web_run, "attribution")
    web_run.model.chats.append(streamed("1: entailed\n2: not addressed"))
    web_app.button("ask_judge").first.click()
    opinions = web_app.page.locator(".oq-matrix .verdict")
    expect(opinions).to_have_count(2)
    expect(opinions.first).to_contain_text("fake-chat: entailed")


def test_a_query_is_switched_off(web_app: App, web_run: WebRun) -> None:
    open_view(web_app, web_run, "queries")
    expect(web_app.keyed("contributions").locator("tbody tr")).to_have_count(2)
    expect(web_app.keyed("query_overlap").locator(".heatmaplayer")).to_be_visible()
    web_app.button("queries_off").nth(1).click()
    told = web_app.keyed("explain_view").locator(".oq-facts")
    expect(told).to_contain_text("−2 pages")
    expect(told).to_contain_text("rank-biased overlap")


def test_sources_that_are_one_are_counted_once_and_one_can_be_left_out(web_app: App, web_run: WebRun) -> None:
    open_view(web_app, web_run, "sources")
    expect(web_app.own("verdict")).to_contain_text("6 pages, 4 independent")
    leave_out(web_app.page, "Dams")
    expect(web_app.keyed("explain_view").locator(".oq-facts").last).to_contain_text("context tokens")


def leave_out(page: Page, title: str) -> None:
    page.locator(".st-key-left_out input").click()
    page.get_by_role("option", name=re.compile(title)).click()
    page.locator(".st-key-left_out input").press("Escape")


def test_a_limit_on_one_text_shows_what_it_does(web_app: App, web_run: WebRun) -> None:
    requests = list(web_run.web.requests)
    open_view(web_app, web_run, "sources")
    told = web_app.keyed("explain_view").locator(".oq-facts").first
    expect(told).to_contain_text(re.compile(r"\d → 1\s*most passages of one group"))
    expect(told).to_contain_text("duplicate groups in the context")
    web_app.keyed("duplicate_limit").get_by_role("radio", name="at most 3").click()
    expect(told).to_contain_text(re.compile(r"\d → [23]\s*most passages of one group"))
    assert web_run.web.requests == requests


def test_the_answer_without_a_page_is_written_on_request_and_compared(web_app: App, web_run: WebRun) -> None:
    requests = list(web_run.web.requests)
    open_view(web_app, web_run, "sources")
    leave_out(web_app.page, "Dams")
    web_run.model.chats.append(streamed("A tide mill ran at ebb [1]. Most of them are museums now."))
    web_app.button("answer_without").click()
    flow = web_app.page.locator(".oq-text.flow")
    expect(flow.locator("del")).to_have_count(2)
    expect(flow.locator("ins")).to_have_text("A tide mill ran at ebb.")
    expect(flow.locator("li.added")).to_contain_text("only in")
    web_app.page.locator('a[href="#pick-source/b/1"]').first.click()
    expect(web_app.keyed("reader_source").locator("mark")).to_be_visible()
    assert web_run.web.requests == requests
    web_app.open(f"/?run={web_run.run}")
    expect(web_app.answer).to_contain_text("4711 sacks")


def test_scores_are_reported_beside_chance(web_app: App, web_run: WebRun) -> None:
    open_view(web_app, web_run, "scores")
    expect(web_app.own("verdict")).to_contain_text("99th percentile of unrelated questions")
    expect(web_app.keyed("null_distribution").locator(".scatterlayer .trace")).to_have_count(2)
    expect(web_app.keyed("score_curve").locator(".scatterlayer").first).to_be_visible()


def test_a_click_on_the_map_shows_true_neighbours(web_app: App, web_run: WebRun) -> None:
    open_view(web_app, web_run, "map")
    shown = web_app.keyed("explain_view").locator(".oq-verdict")
    expect(shown).to_contain_text("Question:")
    star = web_app.keyed("embedding_map").locator(".scatterlayer .trace").nth(0).locator(".point").first
    expect(star).to_be_visible()
    label = web_app.keyed("embedding_map").locator(".hoverlayer .hovertext")
    web_app.click_mark(star, label, web_app.keyed("reader_point").locator("mark"))
    expect(shown).to_contain_text("Passage:")
    expect(web_app.keyed("reader_point").locator("mark")).to_be_visible()


def test_without_a_run_the_latest_are_offered(web_app: App, web_run: WebRun) -> None:
    web_app.open("/explain")
    latest = web_app.keyed("latest_runs").locator(f'a[href$="run={web_run.run}"]')
    expect(latest).to_have_text(re.compile(re.escape(WEB_QUESTION)))
    latest.click()
    expect(web_app.own("attrition")).to_be_visible()
    web_app.open("/explain?run=no-such-run")
    expect(web_app.page.locator(".stAlert")).to_contain_text("There is no run no-such-run")
    expect(web_app.keyed("latest_runs")).to_be_visible()


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
