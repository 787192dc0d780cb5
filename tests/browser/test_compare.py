"""The Compare page: two settings over the same pages, with nothing fetched again."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.conftest import WebRun
from tests.browser.page_objects import App
from tests.services.loopback import Gate
from tests.services.openai_server import streamed


def knob(app: App, side: str, name: str) -> Locator:
    return app.keyed(f"side_{side}_{name}")


def facts(app: App) -> Locator:
    return app.keyed("compared").locator(".oq-facts")


def test_two_settings_are_ranked_side_by_side_without_fetching(web_app: App, web_run: WebRun) -> None:
    requests = list(web_run.web.requests)
    web_app.open(f"/compare?run={web_run.run}")
    expect(web_app.keyed("bump").locator(".scatterlayer .trace").first).to_be_visible()
    expect(knob(web_app, "a", "rank_strategy").get_by_role("radio", name="fused")).to_be_checked()
    expect(knob(web_app, "b", "rank_strategy").get_by_role("radio", name="cosine")).to_be_checked()
    for side in "ab":
        expect(web_app.page.locator(f".st-key-ranking_{side} canvas").first).to_be_visible()
    slider = knob(web_app, "b", "rank_top_k").get_by_role("slider")
    for _ in range(4):
        slider.press("ArrowLeft")
    expect(facts(web_app)).to_contain_text(re.compile("−[45]\\s*left"))
    knob(web_app, "b", "chunk_size").get_by_role("slider").press("Home")
    expect(facts(web_app)).to_contain_text(re.compile(r"(\d+) → (?!\1\b)\d+\s*passages"))
    assert web_run.web.requests == requests


def test_a_comparison_is_a_link_and_can_be_swapped(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/compare?run={web_run.run}&a=own&b=rank.top_k:3&b=rank.strategy:bm25")
    expect(facts(web_app)).to_contain_text("−3 left")
    expect(knob(web_app, "b", "rank_strategy").get_by_role("radio", name="bm25")).to_be_checked()
    web_app.button("swap").click()
    expect(facts(web_app)).to_contain_text("+3 entered")
    expect(knob(web_app, "a", "rank_strategy").get_by_role("radio", name="bm25")).to_be_checked()
    expect(web_app.page).to_have_url(re.compile(r"a=rank\.strategy%3Abm25&a=rank\.top_k%3A3.*b=own"))
    web_app.button("copy_b").click()
    expect(facts(web_app)).to_contain_text("1.00 rank-biased overlap")


def test_settings_that_do_not_exist_are_said_and_left_out(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/compare?run={web_run.run}&b=rank.top_k:9999&b=rank.nothing:1")
    told = web_app.page.locator(".stAlert")
    expect(told).to_contain_text("rank.top_k:9999 (must be 0 to 50)")
    expect(told).to_contain_text("rank.nothing:1 (no such setting)")
    expect(facts(web_app)).to_contain_text("rank-biased overlap")


def test_a_row_opens_its_passage(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/compare?run={web_run.run}")
    table = web_app.keyed("rank_changes")
    table.scroll_into_view_if_needed()
    expect(table.locator("canvas").first).to_be_visible()
    table.locator("canvas").first.click(position={"x": 16, "y": 33 + 16}, force=True)
    reader = web_app.keyed("reader_rank_changes")
    expect(reader.locator("mark")).to_be_visible()
    reader.get_by_role("button", name="Close").click()
    expect(reader).to_have_count(0)


def test_both_answers_stream_side_by_side_and_the_run_keeps_its_own(web_app: App, web_run: WebRun) -> None:
    requests = list(web_run.web.requests)
    gates = Gate(), Gate()
    web_app.open(f"/compare?run={web_run.run}&a=own&b=rank.top_k:2")
    expect(web_app.keyed("version_body_a")).to_contain_text("4711 sacks")
    expect(web_app.keyed("version_card_b")).to_contain_text("press “Answer both”")
    web_run.model.chats.append(streamed("The pond ", gates[0], "held the flood [1].", cost=0.002))
    web_run.model.chats.append(streamed("The pond ", gates[1], "held the flood [1].", cost=0.001))
    web_app.button("answer_both").click()
    for side in "ab":
        expect(web_app.keyed(f"version_body_{side}")).to_contain_text("The pond ▍")
    expect(web_app.button("stop_both")).to_be_visible()
    for gate in gates:
        gate.open()
    expect(web_app.keyed("answer_pair").locator(".oq-verdict")).to_contain_text(
        "Both answers have the same sentences and citations"
    )
    difference = web_app.page.locator(".oq-figures tr").last
    expect(difference).to_contain_text(re.compile(r"[+−]\$0\.00100"))
    web_app.page.locator('.st-key-version_body_b a[href="#pick-source/b/1"]').click()
    expect(web_app.keyed("reader_source")).to_contain_text("B: source 1")
    web_app.button("swap").click()
    expect(web_app.keyed("version_card_a")).to_contain_text("2 passages")
    assert web_run.web.requests == requests
    web_app.open(f"/?run={web_run.run}")
    expect(web_app.answer).to_contain_text("4711 sacks")


def test_answers_that_are_stopped_say_so_until_the_settings_change(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/compare?run={web_run.run}&a=own&b=rank.top_k:2")
    gate = Gate()
    web_run.model.chats.extend(streamed(gate, "The pond held the flood [1].") for _ in "ab")
    web_app.button("answer_both").click()
    for side in "ab":
        expect(web_app.keyed(f"version_card_{side}")).to_contain_text("Writing the answer")
    gate.wait_reached()
    web_app.at_rest()  # a button that is drawn anew between press and release is not clicked
    web_app.button("stop_both").click()
    for side in "ab":
        card = web_app.keyed(f"version_card_{side}")
        expect(card.locator(".oq-version-head")).to_contain_text("Stopped: fused")
        expect(card).to_contain_text("Stopped before the answer was written")
    gate.open()
    knob(web_app, "b", "rank_top_k").get_by_role("slider").press("ArrowRight")
    head = web_app.keyed("version_card_b").locator(".oq-version-head")
    expect(head).to_contain_text("Outdated: the settings have changed")
    expect(web_app.keyed("version_card_a").locator(".oq-version-head")).to_contain_text("Stopped: fused")


def test_two_chat_models_answer_from_one_ranking(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/compare?run={web_run.run}&a=own&b=own&b=model:other-chat")
    expect(facts(web_app)).to_contain_text("1.00 rank-biased overlap")
    asked = len(web_run.model.chat_requests)
    web_app.button("answer_both").click()
    expect(web_app.keyed("answer_pair").locator(".oq-figures")).to_be_visible()
    models = sorted(request.json["model"] for request in web_run.model.chat_requests[asked:])
    assert models == ["fake-chat", "other-chat"]
    expect(web_app.keyed("version_card_b").locator(".oq-version-head")).to_contain_text("other-chat")


def test_two_embedders_rank_the_same_pages(web_app: App, web_run: WebRun) -> None:
    requests = list(web_run.web.requests)
    web_app.open(f"/compare?run={web_run.run}&a=own&b=own&b=embedder:fake-embed")
    expect(facts(web_app)).to_contain_text("rank-biased overlap")
    expect(facts(web_app)).not_to_contain_text("1.00 rank-biased overlap")
    expect(web_app.field("side_b_embedder")).to_have_value("fake-embed")
    web_app.button("swap").click()
    expect(web_app.field("side_a_embedder")).to_have_value("fake-embed")
    assert web_run.web.requests == requests


def test_settings_are_saved_as_a_preset_and_applied_elsewhere(web_app: App, web_run: WebRun) -> None:
    page = web_app.page
    web_app.open(f"/compare?run={web_run.run}&a=own&b=rank.top_k:3")
    page.locator(".st-key-presets_b button").first.click()
    name = page.locator(".st-key-preset_name_side_b input")
    name.fill("Three")
    name.press("Tab")
    page.locator(".st-key-preset_save_side_b button").click()
    expect(page.get_by_text("“Three” is saved.")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator(".st-key-presets_a button").first.click()
    choose(web_app, "side_a", "Three")
    page.locator(".st-key-preset_apply_side_a button").click()
    expect(page).to_have_url(re.compile(r"a=rank\.top_k%3A3"))
    web_app.open(f"/?run={web_run.run}")
    web_app.finished()
    page.locator(".st-key-group_presets summary").click()
    choose(web_app, "main", "Three")
    page.locator(".st-key-preset_apply_main button").click()
    expect(web_app.slider("rank_top_k")).to_have_value("3")
    page.locator(".st-key-preset_delete_main button").click()
    expect(page.get_by_text("“Three” is deleted.")).to_be_visible()
    web_app.button("preset_undo_main").click()
    expect(page.get_by_text("“Three” is saved again.")).to_be_visible()
    expect(web_app.field("preset_main")).to_have_value("Three")


def choose(app: App, where: str, name: str) -> None:
    app.field(f"preset_{where}").click()
    app.page.get_by_role("option", name=name).click()
    expect(app.button(f"preset_apply_{where}")).to_be_enabled()
