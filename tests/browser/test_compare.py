"""The Compare page: two settings over the same pages, with nothing fetched again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import App, Milled

pytestmark = pytest.mark.browser


def knob(app: App, side: str, name: str) -> Locator:
    return app.page.locator(f".st-key-side_{side}_{name}")


def facts(app: App) -> Locator:
    return app.page.locator(".st-key-compared .oq-facts")


def test_two_settings_are_ranked_side_by_side_without_fetching(mill: App, milled: Milled) -> None:
    requests = list(milled.web.requests)
    mill.open(f"/compare?run={milled.run}")
    expect(mill.page.locator(".st-key-bump .scatterlayer .trace").first).to_be_visible()
    expect(knob(mill, "a", "rank_strategy").get_by_role("radio", name="cosine")).to_be_checked()
    expect(knob(mill, "b", "rank_strategy").get_by_role("radio", name="fused")).to_be_checked()
    for side in "ab":
        expect(mill.page.locator(f".st-key-ranking_{side} canvas").first).to_be_visible()
    slider = knob(mill, "b", "rank_top_k").get_by_role("slider")
    for _ in range(4):
        slider.press("ArrowLeft")
    expect(facts(mill)).to_contain_text(re.compile("−[45]\\s*left"))
    knob(mill, "b", "chunk_size").get_by_role("slider").press("Home")
    expect(facts(mill)).to_contain_text(re.compile(r"(\d+) → (?!\1\b)\d+\s*passages"))
    assert milled.web.requests == requests


def test_a_comparison_is_a_link_and_can_be_swapped(mill: App, milled: Milled) -> None:
    mill.open(f"/compare?run={milled.run}&a=own&b=rank.top_k:3&b=rank.strategy:bm25")
    expect(facts(mill)).to_contain_text("−3 left")
    expect(knob(mill, "b", "rank_strategy").get_by_role("radio", name="bm25")).to_be_checked()
    mill.page.locator(".st-key-swap button").click()
    expect(facts(mill)).to_contain_text("+3 entered")
    expect(knob(mill, "a", "rank_strategy").get_by_role("radio", name="bm25")).to_be_checked()
    expect(mill.page).to_have_url(re.compile(r"a=rank\.strategy%3Abm25&a=rank\.top_k%3A3.*b=own"))
    mill.page.locator(".st-key-copy_b button").click()
    expect(facts(mill)).to_contain_text("1.00 rank-biased overlap")


def test_settings_that_do_not_exist_are_said_and_left_out(mill: App, milled: Milled) -> None:
    mill.open(f"/compare?run={milled.run}&b=rank.top_k:9999&b=rank.nothing:1")
    expect(mill.page.locator(".stAlert")).to_contain_text("Settings out of bounds")
    expect(facts(mill)).to_contain_text("rank-biased overlap")


def test_a_row_opens_its_passage(mill: App, milled: Milled) -> None:
    mill.open(f"/compare?run={milled.run}")
    table = mill.page.locator(".st-key-moves_0")
    table.scroll_into_view_if_needed()
    expect(table.locator("canvas").first).to_be_visible()
    table.locator("canvas").first.click(position={"x": 16, "y": 33 + 16}, force=True)
    reader = mill.page.locator(".st-key-reader_moves")
    expect(reader.locator("mark")).to_be_visible()
    reader.get_by_role("button", name="Close").click()
    expect(reader).to_have_count(0)
