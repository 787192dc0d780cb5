"""The Evaluate page: one experiment after another in a tab."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, expect

from tests.browser.conftest import visiting
from tests.browser.page_objects import App
from tests.browser.server import serving


def shown_experiment(app: App) -> str:
    """The id of the experiment in the address."""
    return parse_qs(urlsplit(app.page.url).query)["experiment"][0]


def run_experiment(app: App) -> str:
    """Start the experiment of the form and wait for its end: its id."""
    before = app.page.url
    app.button("evaluate_start").click()
    expect(app.page).not_to_have_url(before)
    name = shown_experiment(app)
    ended(app)
    return name


def ended(app: App) -> None:
    expect(app.button("evaluate_delete")).to_be_visible()
    app.at_rest()


def test_a_second_experiment_stays_on_screen_its_rows_are_clicked_and_its_deletion_is_undone(
    chromium: Browser, tmp_path: Path
) -> None:
    data_sets = tmp_path / "data" / "data_sets"
    data_sets.mkdir(parents=True)
    (data_sets / "tides.txt").write_text("The moon pulls the water.\n\nThe sun pulls less.")
    (data_sets / "tides.csv").write_text("question,excerpt,source\nWhat pulls?,The moon pulls,tides.txt")
    with serving(tmp_path) as site, visiting(chromium, site) as app:
        app.open("/evaluate")
        app.keyed("evaluate_data").locator("input").fill("tides")
        app.page.get_by_role("option", name="tides.csv").click()
        expect(app.field("evaluate_data")).to_have_value("tides.csv")
        app.at_rest()
        app.keyed("evaluate_rank_strategy").get_by_role("button", name="cosine", exact=True).click()
        expect(app.button("evaluate_start")).to_contain_text("Start 2 settings")
        first = run_experiment(app)
        app.keyed("evaluate_head").get_by_role("radio", name="New").click()
        expect(app.page).to_have_url(re.compile("view=new"))
        app.at_rest()
        expect(app.button("evaluate_start")).to_contain_text("Start 2 settings")
        second = run_experiment(app)
        assert first != second
        expect(app.page).to_have_url(re.compile(f"experiment={second}"))
        app.page.reload()
        ended(app)
        assert shown_experiment(app) == second

        rows = app.keyed("evaluate_settings").locator("tbody tr")
        expect(rows).to_have_count(1)  # with one question, both reach the same
        expect(rows).to_contain_text("fused = bm25")
        app.keyed("experiments").get_by_role("link", name="ranking").last.click()
        expect(app.page).to_have_url(re.compile(f"experiment={first}"))
        app.keyed("experiments").get_by_role("link", name="ranking").first.click()
        expect(app.page).to_have_url(re.compile(f"experiment={second}"))
        app.at_rest()

        app.button("evaluate_delete").click()
        expect(app.keyed("evaluate_deleted")).to_contain_text("was deleted.")
        expect(app.page).not_to_have_url(re.compile(second))
        app.button("evaluate_undo").click()
        expect(app.page).to_have_url(re.compile(second))
        expect(app.keyed("evaluate_deleted")).to_have_count(0)
        ended(app)


def test_a_row_is_opened_by_mouse_and_keyboard_and_its_table_is_saved(web_app: App) -> None:
    app = web_app
    app.open("/evaluate?view=new")
    app.button("evaluate_start").click()
    expect(app.button("evaluate_delete")).to_be_visible()
    app.at_rest()
    settings = app.keyed("evaluate_settings")
    rows = settings.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("baseline")
    for number, press in ((1, lambda link: link.click()), (2, lambda link: link.press("Enter"))):
        row = rows.nth(number)
        press(row.get_by_role("link"))
        expect(row).to_have_class("on")
        expect(app.page).to_have_url(re.compile("setting=rank.strategy"))
    box = rows.nth(1).locator("td").last.bounding_box()
    assert box
    app.page.mouse.click(box["x"] + 5, box["y"] + 5)  # the link is as large as its row
    expect(rows.nth(1)).to_have_class("on")
    app.at_rest()
    app.page.get_by_role("checkbox", name="compare ranking cosine").click()
    expect(app.keyed("evaluate_compared")).to_contain_text("1 setting beside the baseline")
    app.at_rest()
    app.button("evaluate_unpick").click()
    expect(app.keyed("evaluate_compared")).to_have_count(0)
    app.at_rest()
    app.button("evaluate_export").click()
    with app.page.expect_download() as coming:
        app.button("evaluate_export_csv").click()
    for ending, begin in (("SVG", b"<svg "), ("PNG", b"\x89PNG")):
        with app.page.expect_download() as coming_chart:
            app.page.get_by_role("button", name=f"Charts as {ending}").click()
        assert coming_chart.value.suggested_filename.endswith(ending.lower())
        assert Path(coming_chart.value.path()).read_bytes().startswith(begin)
    first, *lines = Path(coming.value.path()).read_text("utf-8-sig").splitlines()
    assert first.startswith("ranking,nDCG@10,difference,low,high,p,")
    assert len(lines) == 3


def drag(app: App, axis: int, top: float, bottom: float) -> None:
    """Drag along an axis, from one share of its height, counted from the top, to another."""
    box = app.keyed("evaluate_parallel_axes").locator(".grip").nth(axis).bounding_box()
    assert box
    x = box["x"] + box["width"] / 2
    app.page.mouse.move(x, box["y"] + top * box["height"])
    app.page.mouse.down()
    app.page.mouse.move(x, box["y"] + bottom * box["height"], steps=4)
    app.page.mouse.up()


def test_a_drag_along_an_axis_filters_settings_and_a_click_on_a_line_opens_one(web_app: App) -> None:
    app = web_app
    app.open("/evaluate?view=new")
    app.button("evaluate_start").click()
    expect(app.button("evaluate_delete")).to_be_visible()
    app.at_rest()
    app.keyed("evaluate_choices").get_by_role("radio", name="Knobs").click()
    chart, rows = app.keyed("evaluate_parallel_axes"), app.keyed("evaluate_settings").locator("tbody tr")
    expect(chart.locator(".lines path.on")).to_have_count(3)
    app.at_rest()
    drag(app, 0, 0.9, 0.99)  # the ranking whose values are at 0, ½ and 1
    expect(chart.locator(".lines path.on")).to_have_count(1)
    expect(app.page).to_have_url(re.compile(r"filter=rank\.strategy"))
    expect(app.keyed("evaluate_filters")).to_contain_text("1 of 3 settings")
    app.at_rest()
    app.page.reload()
    expect(chart.locator(".lines path.on")).to_have_count(1)
    app.at_rest()
    app.keyed("evaluate_filter").get_by_role("button", name="Filter").click()
    slider = app.page.get_by_role("slider", name="ranking").first
    expect(slider).to_be_visible()
    app.page.keyboard.press("Escape")
    app.button("evaluate_clear_filters").click()
    expect(rows).to_have_count(3)
    expect(app.page).not_to_have_url(re.compile("filter="))
    app.at_rest()
    chart.locator(".lines path").nth(1).dispatch_event("click")
    expect(app.page).to_have_url(re.compile("setting="))
