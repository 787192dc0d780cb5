"""The address: the browser's history, links with settings, and the History."""

import re

import pytest
from playwright.sync_api import Browser, expect

from core.run.events import Record
from tests.browser.conftest import visiting
from tests.browser.page_objects import QUESTION, App
from tests.browser.server import Site
from tests.browser.test_research import QUERIES
from tests.seeding import store_copy
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, streamed

OTHER = "When does hybrid search beat cosine similarity alone?"


@pytest.mark.thorough
def test_back_and_forward_restore_runs_and_their_settings(app: App) -> None:
    app.ask()
    app.finished()
    first = app.shown_run()
    app.type_number("rank_top_k", "9")
    expect(app.page).to_have_url(re.compile(r"set=rank\.top_k%3A9$"))
    app.field("question").fill(OTHER)
    app.go.click()
    expect(app.own("question")).to_have_text(OTHER)
    app.finished()
    second = app.shown_run()
    assert first != second
    expect(app.page).to_have_url(re.compile(rf"\?run={second}$"))
    app.type_number("rank_top_k", "4")
    expect(app.page).to_have_url(re.compile(r"set=rank\.top_k%3A4$"))
    app.at_rest()
    app.keyed("answer_head").get_by_role("link", name="Explain").click()
    expect(app.page).to_have_url(re.compile(rf"/explain\?run={second}$"))
    app.at_rest()
    app.explain("Scores")
    expect(app.page).to_have_url(re.compile("view=ranking"))

    app.back()
    app.finished()
    assert app.shown_run() == second
    app.back()
    expect(app.own("question")).to_have_text(QUESTION)
    expect(app.field("question")).to_have_value(QUESTION)
    expect(app.slider("rank_top_k")).to_have_value("9")
    expect(app.own("tuned")).to_contain_text("+3 added")
    assert app.shown_run() == first
    app.back()
    expect(app.own("front")).to_be_visible()
    expect(app.own("question")).to_have_count(0)
    app.forward()
    expect(app.slider("rank_top_k")).to_have_value("9")
    app.forward()
    expect(app.own("question")).to_have_text(OTHER)
    expect(app.slider("rank_top_k")).to_have_value("4")
    app.forward()
    expect(app.page).to_have_url(re.compile(rf"/explain\?run={second}&view=ranking"))
    expect(app.page.get_by_role("radio", name="Ranking")).to_be_checked()


@pytest.mark.thorough
def test_pages_and_articles_are_one_entry_each(answered: App) -> None:
    run = answered.shown_run()
    entries = answered.page.evaluate("history.length")
    paths = {
        "Explain": rf"/explain\?run={run}",
        "Evaluate": "/evaluate",
        "Library": "/library",
        "Ask": rf"/\?run={run}",
    }
    for name, path in paths.items():
        answered.page.get_by_role("link", name=name, exact=True).first.click()
        # The run of a page before is in its address too, and a page that is left before it has its own has none.
        expect(answered.page).to_have_url(re.compile(path))
        answered.at_rest()
    answered.finished()
    assert answered.page.evaluate("history.length") == entries + 4
    answered.back()
    expect(answered.page).to_have_url(re.compile("/library"))
    answered.back()
    expect(answered.page).to_have_url(re.compile("/evaluate"))
    expect(answered.keyed("evaluate_head")).to_be_visible()

    answered.keyed("nav_more").get_by_role("button").click()
    answered.page.get_by_role("link", name="Handbook", exact=True).click()
    expect(answered.page).to_have_url(re.compile("/handbook"))
    answered.at_rest()
    answered.page.get_by_role("link", name="Chunk Size").first.click()
    expect(answered.page).to_have_url(re.compile(r"/handbook\?article=chunk-size$"))
    answered.page.get_by_role("link", name="Next: Chunk Overlap").click()
    expect(answered.page).to_have_url(re.compile(r"article=chunk-overlap$"))
    answered.at_rest()
    answered.back()
    expect(answered.page).to_have_url(re.compile(r"article=chunk-size$"))
    expect(answered.page.get_by_role("heading", name="Chunk Size", exact=True)).to_be_visible()
    answered.page.get_by_role("link", name="All articles").click()
    expect(answered.page).to_have_url(re.compile(r"/handbook$"))
    answered.at_rest()
    answered.back()
    expect(answered.page.get_by_role("heading", name="Chunk Size", exact=True)).to_be_visible()
    answered.forward()
    expect(answered.page.get_by_role("heading", name="Handbook", exact=True)).to_be_visible()


@pytest.mark.thorough
def test_rapid_back_and_forward_neither_stop_nor_restart_a_run(
    model_app: App, model: FakeOpenAI, demo_records: tuple[Record, ...]
) -> None:
    earlier = store_copy(model_app.site.folder, demo_records)
    model_app.open(f"/?run={earlier}")
    model_app.finished()
    gate = Gate()
    model.chats.append(streamed(QUERIES))
    model.chats.append(streamed("Half of an answer [1]. ", gate, "And the rest [2]."))
    asked = len(model.chat_requests)
    model_app.field("question").fill(OTHER)
    model_app.go.click()
    expect(model_app.answer).to_contain_text("Half of an answer")
    live = model_app.shown_run()
    entries = model_app.page.evaluate("history.length")
    for _ in range(4):  # Forward while the script run of Back is under way, and again
        model_app.page.evaluate("history.back()")
        expect(model_app.page).to_have_url(re.compile(earlier))
        model_app.page.evaluate("history.forward()")
        expect(model_app.page).to_have_url(re.compile(live))
    expect(model_app.own("question")).to_have_text(OTHER)
    expect(model_app.stop).to_be_visible()
    model_app.back()
    expect(model_app.own("question")).to_have_text(QUESTION)
    model_app.finished()
    assert model_app.shown_run() == earlier
    gate.open()
    model_app.forward()
    model_app.finished()
    expect(model_app.answer).to_contain_text("And the rest")
    assert model_app.shown_run() == live
    assert model_app.page.evaluate("history.length") == entries
    assert len(model.chat_requests) == asked + 2


@pytest.mark.thorough
def test_link_shows_the_tuning_to_others_who_can_copy(
    answered: App, chromium: Browser, demo_site: Site
) -> None:
    answered.type_number("rank_top_k", "3")
    answered.type_number("chunk_size", "333")  # at once: the first number must not be lost
    expect(answered.page).to_have_url(re.compile(r"set=chunk\.size%3A333&set=rank\.top_k%3A3$"))
    answered.at_rest()
    link = answered.page.url
    answered.page.reload()
    answered.at_rest()
    expect(answered.slider("rank_top_k")).to_have_value("3")
    with visiting(chromium, demo_site) as visitor:
        visitor.open(link.removeprefix(demo_site.url))
        expect(visitor.number_field("chunk_size")).to_have_value("333 characters")
        expect(visitor.step("rank").locator(".count")).to_contain_text("3")
        visitor.type_number("rank_top_k", "99")
        expect(visitor.number("rank_top_k")).to_contain_text("At most 50.")
        expect(visitor.slider("rank_top_k")).to_have_value("50")
        # A browser has no clipboard where a page comes over plain http from another machine.
        visitor.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        visitor.copy_link.click()
        expect(visitor.keyed("tuned_link").get_by_label("Link to this page")).to_have_value(visitor.page.url)
    expect(answered.slider("rank_top_k")).to_have_value("3")


@pytest.mark.thorough
def test_runs_are_selected_in_the_history_compared_and_opened(
    app: App, demo_records: tuple[Record, ...]
) -> None:
    for _ in range(2):
        store_copy(app.site.folder, demo_records)
    app.open("/runs")
    app.field("history_words").fill(QUESTION)
    app.field("history_words").press("Enter")
    expect(app.listed(QUESTION).nth(1)).to_be_attached()
    app.at_rest()
    app.select_run(0)
    app.select_run(1)
    actions = app.keyed("history_actions")
    expect(actions).to_contain_text("2 selected")
    actions.get_by_role("button", name="Export").click()
    app.more_formats()
    with app.page.expect_download() as download:
        app.button("export_bib").click()
    assert download.value.suggested_filename == "openquery-runs.bib.zip"
    app.page.keyboard.press("Escape")
    actions.get_by_role("link", name="Compare").click()
    expect(app.page.get_by_role("main")).to_contain_text(re.compile(r"6 of 6\s*sources in both"))
    expect(app.page).to_have_url(re.compile(r"/explain\?run=.+&view=what-if&a=own&b=run%3A.+"))
    app.back()
    expect(app.keyed("history_table")).to_be_visible()
    app.at_rest()
    app.select_run(0)
    app.keyed("history_actions").get_by_role("link", name="Open").click()
    app.finished()
    expect(app.own("question")).to_have_text(QUESTION)


def test_click_opens_a_run_and_arrow_keys_only_move(app: App, demo_records: tuple[Record, ...]) -> None:
    runs = [store_copy(app.site.folder, demo_records, f"Tides, number {number}?") for number in (1, 2)]
    app.open("/runs")
    app.field("history_words").fill("Tides")
    app.field("history_words").press("Enter")
    expect(app.keyed("history_table").locator("tbody tr")).to_have_count(2)
    app.at_rest()
    for number in (1, 2):
        row = app.keyed("history_table").locator("tbody tr").nth(number - 1)
        question = row.locator("td").first.inner_text()
        app.history_row(number - 1)
        app.finished()
        expect(app.own("question")).to_have_text(question)
        assert app.shown_run() in runs
        app.back()
        expect(app.page).to_have_url(re.compile("/runs$"))
        expect(app.keyed("history_table").locator("tbody tr").nth(1)).to_be_attached()
        app.at_rest()
    # Ticking leaves the page as it is, and so do arrow keys, until Enter.
    app.select_run(0)
    app.select_run(1)
    expect(app.keyed("history_actions")).to_contain_text("2 selected")
    app.select_run(0)
    app.select_run(1)
    expect(app.keyed("history_actions")).to_contain_text("Click a run to open it.")
    app.keyed("history_table").get_by_role("button", name=re.compile("Fullscreen")).focus()
    app.page.keyboard.press("Tab")
    app.page.keyboard.press("ArrowDown")
    expect(app.keyed("history_actions")).to_contain_text("1 selected")
    app.at_rest()
    expect(app.page).to_have_url(re.compile("/runs$"))
    app.page.keyboard.press("Enter")
    app.finished()
    expect(app.own("question")).to_have_text(question)  # that of the second row
