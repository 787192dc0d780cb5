"""The Explain page in a browser: its views, clicks on charts, and labels that lie apart."""

import re
from itertools import combinations

import pytest
from playwright.sync_api import expect

from pages.parts.explain.views import PARTS
from tests.browser.conftest import WebRun
from tests.browser.page_objects import EXPLAINED_IN, App
from tests.browser.small_web import DROPPED

TABLE = ".st-key-explain_view canvas"
DRAWN = {
    "Attrition": ".oq-attrition .lost a",
    "Attribution": ".oq-matrix td a",
    "Scores": ".st-key-null_distribution .scatterlayer",
    "Map": ".st-key-embedding_map .scatterlayer",
    "Extraction": ".oq-text.diff",
    "Answers": ".st-key-explain_view .oq-empty",
}
"""What the parts draw that have no table."""


def test_every_view_is_two_clicks_from_the_answer(web_app: App, web_run: WebRun) -> None:
    requests = list(web_run.web.requests)
    web_app.open(f"/?run={web_run.run}")
    web_app.finished()
    web_app.keyed("answer_head").get_by_role("link", name="Explain").click()
    web_app.explain("Queries")  # the first view is in the address once another was shown
    expect(web_app.page).to_have_url(re.compile("view=queries"))
    readings = set()
    explained = [part.title for part in PARTS.values() if part is not PARTS["what-if"]]
    for name in explained:
        web_app.explain(name)
        expect(web_app.page.locator(DRAWN.get(name, TABLE)).first).to_be_visible()
        expect(web_app.page).to_have_url(re.compile(rf"run={web_run.run}&view={EXPLAINED_IN[name].lower()}"))
        readings.add(web_app.own("reading").inner_text())
        if name == "Attribution":
            cell_shows_its_pair(web_app)
        if name == "Map":
            click_on_the_map_shows_neighbours(web_app)
    assert len(readings) == len(explained)
    assert web_run.web.requests == requests
    web_app.explain("Sources")
    web_app.keyed("how_to_read").locator("a").click()
    expect(web_app.page.get_by_role("heading", name="Near-Duplicate Detection", exact=True)).to_be_visible()


def cell_shows_its_pair(app: App) -> None:
    cell = app.page.locator(".oq-matrix tbody tr").first.locator("a").nth(1)
    cell.click()
    expect(app.own("pair")).to_contain_text("Most similar sentence in source 2", ignore_case=True)
    expect(app.keyed("reader_cell").locator("mark")).to_be_visible()
    cell.click()
    expect(app.own("pair")).to_have_count(0)


def click_on_the_map_shows_neighbours(app: App) -> None:
    shown = app.keyed("explain_view").locator(".oq-verdict")
    expect(shown).to_contain_text("Question:")
    star = app.keyed("embedding_map").locator(".scatterlayer .trace").nth(0).locator(".point").first
    expect(star).to_be_visible()
    label = app.keyed("embedding_map").locator(".hoverlayer .hovertext")
    app.click_mark(star, label, app.keyed("reader_point").locator("mark"))
    expect(shown).to_contain_text("Passage:")


@pytest.mark.thorough
def test_a_band_lists_its_losses_and_labels_lie_apart(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/explain?run={web_run.run}&view=attrition")
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

    web_app.keyed("why").locator("textarea").fill(DROPPED)
    web_app.button("trace").click()
    way = web_app.own("trace")
    expect(way).to_have_attribute("data-outcome", "LEFT_OUT")
    web_app.page.set_viewport_size({"width": 390, "height": 844})
    web_app.page.reload()
    expect(way).to_have_attribute("data-outcome", "LEFT_OUT")
    labels_lie_apart(web_app)


def labels_lie_apart(app: App) -> None:
    labels = app.page.locator(".oq-attrition :is(.name, .lost a)")
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
