"""The New view in Chromium: a broken upload is mended, on a desktop and on a phone in the dark, without a fault."""

import json

import pytest
from playwright.sync_api import Browser, expect

from core.config.settings import ROOT
from tests.browser.axe import findings
from tests.browser.conftest import visiting
from tests.browser.page_objects import App

PHONE = {"width": 390, "height": 844}


def support() -> bytes:
    """A document and 5,119 questions; the excerpt of line 4,812 is none."""
    lines = [json.dumps({"id": "kb", "text": "Invoices are sent on the first of a month."})]
    for number in range(2, 5121):
        relevant = [{"doc": "kb", "start": 0, "end": 0 if number == 4812 else 8}]
        lines.append(json.dumps({"question": f"What is sent at {number}?", "relevant": relevant}))
    return "\n".join(lines).encode()


def fits(app: App) -> bool:
    return bool(app.page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.mark.thorough
def test_a_broken_upload_is_shown_and_mended(app: App) -> None:
    """On a desktop, and on a phone in the dark."""
    app.open("/evaluate?view=new")
    expect(app.own("product")).to_contain_text("3 settings")
    found = [*findings(app.page, "New")]
    app.keyed("data_set_way").get_by_role("radio", name="Upload").click()
    app.keyed("data_set_upload").locator("input[type=file]").set_input_files(
        {"name": "support.jsonl", "mimeType": "application/x-ndjson", "buffer": support()}  # type: ignore[arg-type]
    )
    expect(app.own("fault")).to_contain_text("support.jsonl, line 4,812: the excerpt from 0 to 0")
    expect(app.own("fault").locator("pre > div")).to_have_count(3)
    expect(app.button("evaluate_start")).to_be_disabled()
    app.at_rest()
    found += findings(app.page, "New, a broken upload")
    assert fits(app)
    app.theme("dark")
    app.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    app.at_rest()
    app.until("document.documentElement.scrollWidth <= innerWidth")
    found += findings(app.page, "New, a broken upload on a phone in the dark")
    app.button("data_set_leave_out").click()
    expect(app.own("counts")).to_contain_text("5,118")
    expect(app.keyed("data_set")).to_contain_text("Left out, as you asked: line 4,812.")
    app.keyed("evaluate_chunk_size").get_by_role("button", name="300").click()
    expect(app.button("evaluate_start")).to_contain_text("Start 6 settings")
    app.at_rest()
    found += findings(app.page, "New, an upload on a phone in the dark")
    assert fits(app)
    assert found == []


def fill_long_experiment(app: App) -> None:
    """Fill the form for an experiment that takes minutes: 240 settings over 5,119 questions, ranked by words alone."""
    app.open("/evaluate?view=new")
    app.keyed("evaluate_data").locator("input").fill("long")
    app.page.get_by_role("option", name="long.jsonl").click()
    for name in ("cosine", "◆ fused"):  # words alone rank, so no text is embedded
        app.keyed("evaluate_rank_strategy").get_by_role("button", name=name, exact=True).click()
    for knob, values in (("chunk_size", range(100, 139)), ("rank_top_k", range(1, 6))):
        app.field(f"evaluate_{knob}_other").fill(", ".join(map(str, values)))
        app.field(f"evaluate_{knob}_other").press("Enter")
    app.keyed("evaluate_sample").get_by_role("radio", name="All").click()
    expect(app.button("evaluate_start")).to_contain_text("Start 240 settings")


@pytest.mark.thorough
def test_two_tabs_stop_and_continue_one_experiment(app: App, chromium: Browser) -> None:
    data_sets = app.site.folder / "data" / "data_sets"
    data_sets.mkdir(parents=True, exist_ok=True)
    (data_sets / "long.jsonl").write_bytes(support().replace(b'"end": 0}', b'"end": 8}'))
    one = app
    with visiting(chromium, app.site) as other:
        fill_long_experiment(one)
        one.button("evaluate_start").click()
        try:
            expect(one.own("running")).to_contain_text("of 240 settings")
            assert findings(one.page, "Running") == ()
            other.open("/evaluate?" + one.page.url.partition("?")[2])
            expect(other.own("running")).to_contain_text("questions/s")
            other.button("evaluate_stop").click()
            for tab in (one, other):
                expect(tab.button("evaluate_continue")).to_be_visible()
                expect(tab.own("running")).to_contain_text("stopped")
            one.page.reload()
            one.button("evaluate_continue").click()
            for tab in (one, other):
                expect(tab.button("evaluate_stop")).to_be_visible()
                expect(tab.own("running")).to_contain_text("questions/s")
        finally:  # other tests share the server
            one.button("evaluate_stop").click()
        expect(other.button("evaluate_continue")).to_be_visible()
        other.button("evaluate_delete").click()
        expect(other.keyed("evaluate_deleted")).to_be_visible()


TABLE = """names => {
    const row = name => `<tr style="height: 40px"><td><a href="#pick-setting/${name}">${name}</a></td></tr>`;
    document.querySelector('.st-key-settings').innerHTML = `<table><tbody>${names.map(row).join('')}</tbody></table>`;
}"""
PAGE = """<style>body { margin: 0 }</style><div data-testid="stMain" style="height: 300px; overflow-y: auto">
    <div style="height: 200px"></div><div class="st-key-settings"></div><div style="height: 900px"></div></div>"""


@pytest.mark.thorough
def test_row_being_read_keeps_its_place_while_rows_arrive(chromium: Browser) -> None:
    page = chromium.new_page(viewport={"width": 600, "height": 300})
    page.set_content(PAGE)
    page.add_script_tag(path=ROOT / "static/scripts/kept_row.js", type="module")
    page.wait_for_function("() => Boolean(window.openquery?.kept_row)")
    rows = [f"row{number}" for number in range(10)]
    page.evaluate(TABLE, rows)
    page.evaluate("void openquery.kept_row({ data: { table: 'settings' } })")
    read = page.get_by_role("link", name="row4")
    read.scroll_into_view_if_needed()
    read.hover()
    before = read.bounding_box()
    page.evaluate(TABLE, ["better", "best", *rows])
    after = read.bounding_box()
    assert before and after
    assert abs(after["y"] - before["y"]) <= 1
    page.close()
