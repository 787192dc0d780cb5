"""The results of an experiment in a browser: clicks on rows and axes, downloads, and a phone."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.page_objects import App


def test_settings_are_opened_saved_filtered_and_read_on_phones(web_app: App) -> None:
    app = web_app
    app.open("/evaluate?view=new")
    app.button("evaluate_start").click()
    expect(app.button("evaluate_delete")).to_be_visible()
    app.at_rest()
    drag_along_an_axis_filters_settings(app)
    row_is_opened_by_mouse_and_keyboard(app)
    table_and_charts_are_saved(app)
    settings_can_be_read_on_a_phone(app)


def row_is_opened_by_mouse_and_keyboard(app: App) -> None:
    app.keyed("evaluate_choices").get_by_role("radio", name="Settings").click()
    app.keyed("evaluate_part_settings").wait_for()  # the part Knobs has a table of settings too
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
    box = app.place(rows.nth(1).locator("td").last)
    app.page.mouse.click(box["x"] + 5, box["y"] + 5)  # the link is as large as its row
    expect(rows.nth(1)).to_have_class("on")
    app.at_rest()
    app.page.get_by_role("checkbox", name="compare ranking cosine").click()
    expect(app.keyed("evaluate_compared")).to_contain_text("1 setting beside the baseline")
    app.at_rest()
    app.button("evaluate_unpick").click()
    expect(app.keyed("evaluate_compared")).to_have_count(0)
    app.at_rest()


def table_and_charts_are_saved(app: App) -> None:
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
    app.page.keyboard.press("Escape")
    app.at_rest()


def drag(app: App, axis: int, top: float, bottom: float) -> None:
    """Drag along an axis, from one share of its height, counted from the top, to another."""
    box = app.place(app.keyed("evaluate_parallel_axes").locator(".grip").nth(axis))
    x = box["x"] + box["width"] / 2
    app.page.mouse.move(x, box["y"] + top * box["height"])
    app.page.mouse.down()
    app.page.mouse.move(x, box["y"] + bottom * box["height"], steps=4)
    app.page.mouse.up()


def drag_along_an_axis_filters_settings(app: App) -> None:
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
    app.at_rest()


def settings_can_be_read_on_a_phone(app: App) -> None:
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.keyed("evaluate_choices").get_by_role("radio", name="Settings").click()
    app.keyed("evaluate_part_settings").wait_for()  # the part Knobs has a table of settings too
    app.at_rest()
    settings = app.keyed("evaluate_settings").locator(".oq-settings")
    settings.scroll_into_view_if_needed()
    for column in ("ranking", "nDCG@10"):
        expect(settings.get_by_role("columnheader", name=column)).to_be_in_viewport(ratio=0.9)
    expect(settings.get_by_role("row")).to_have_count(4)
    link = settings.get_by_role("link").last
    link.click()
    expect(link).to_have_attribute("aria-current", "true")
    app.at_rest()
    app.keyed("evaluate_choices").get_by_role("radio", name="Questions").click()
    questions = app.keyed("evaluate_part_questions").locator(".oq-questions")
    questions.scroll_into_view_if_needed()
    for column in ("question", "Δ"):
        expect(questions.get_by_role("columnheader", name=column)).to_be_in_viewport(ratio=0.9)
    expect(app.keyed("evaluate_question").locator("mark").first).to_be_attached()
