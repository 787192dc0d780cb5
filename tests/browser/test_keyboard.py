"""What the keyboard does: where the focus is, where it goes, and that it is seen."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import WebRun
from tests.browser.page_objects import App

FOLLOW = """() => {
    const numbers = (colour) => {
        const [red, green, blue, alpha = 1] = colour.match(/[\\d.]+/g).map(Number);
        return colour.startsWith('color(') ? [255 * red, 255 * green, 255 * blue, alpha] : [red, green, blue, alpha];
    };
    const light = (colour) => {
        const [red, green, blue] = numbers(colour).map((one) => {
            const share = one / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = (element) => {
        for (let one = element.parentElement; one; one = one.parentElement) {
            const colour = getComputedStyle(one).backgroundColor;
            if (numbers(colour)[3] === 1) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const ringed = (element) => {
        const style = getComputedStyle(element);
        if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) return false;
        const [low, high] = [light(style.outlineColor), light(behind(element))].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05) >= 3;
    };
    window.stops = [];
    window.unringed = new Set();
    document.addEventListener('focusin', ({ target }) => {
        window.stops.push(target);
    });
    window.rested = async () => {
        await new Promise(requestAnimationFrame);  // a table hands the focus on to a cell
        const around = [document.activeElement];
        for (let up = 0; up < 6 && around[up].parentElement; up++) around.push(around[up].parentElement);
        const inCanvas = around[0].parentElement?.closest('canvas');  // a table draws the ring of its cells itself
        if (around[0] !== document.body && !inCanvas && !around.some(ringed)) window.unringed.add(around[0].outerHTML.slice(0, 160));
        return window.stops.length > 1 && document.activeElement === window.stops[0];
    };
}"""
"""Keep where the Tab key leads. `rested` looks for a ring of at least 2 px and a contrast of 3:1 there, and says whether
the focus is back at the first place."""


def leads_to_its_passage_and_back(app: App, link: Locator, reader: str) -> None:
    """Enter on the link moves the focus into the passage; Escape closes it, and the link has the focus again."""
    passage = app.keyed(reader).locator(".oq-article")
    link.focus()
    app.page.keyboard.press("Enter")
    expect(passage).to_be_focused()
    expect(passage).to_have_accessible_name(re.compile("ource .: the passage in its article"))
    app.at_rest()
    app.page.keyboard.press("Escape")
    expect(passage).to_have_count(0)
    expect(link).to_be_focused()


def test_keyboard_moves_from_a_citation_to_its_passage_and_back(web_app: App, web_run: WebRun) -> None:
    app = web_app
    app.open(f"/?run={web_run.run}")
    app.finished()
    citation = app.answer.get_by_role("link", name=re.compile("^Source 2: .+, 127.0.0.1$"))
    leads_to_its_passage_and_back(app, citation, "reader_cited")
    leads_to_its_passage_and_back(app, app.page.locator("#src-3"), "reader_cited")
    app.open(f"/explain?view=what-if&run={web_run.run}&a=own&b=own")
    citation = app.keyed("version_body_b").get_by_role("link", name=re.compile("^Source 2: .+"))
    leads_to_its_passage_and_back(app, citation, "reader_source")
    app.open(f"/explain?run={web_run.run}&view=attribution")
    leads_to_its_passage_and_back(app, app.page.locator(".oq-matrix td a").nth(1), "reader_cell")


@pytest.mark.thorough
def test_every_stop_of_the_tab_key_has_a_ring(web_app: App, web_run: WebRun) -> None:
    app = web_app
    missing = []
    for path, theme in {
        "/": "light",
        f"/?run={web_run.run}": "dark",
        f"/explain?run={web_run.run}&view=attribution": "light",
        f"/explain?view=what-if&run={web_run.run}&a=own&b=own": "dark",
        "/evaluate": "dark",
        "/library": "light",
        "/runs": "dark",
        "/handbook": "light",
    }.items():
        app.open(path)
        if path == "/":
            expect(app.field("question")).to_be_focused()
        app.theme(theme)
        app.page.evaluate(FOLLOW)
        app.page.keyboard.press("Tab")
        while not app.page.evaluate("window.rested()"):
            app.page.keyboard.press("Tab")
        missing += [f"{path}, {theme}: {one}" for one in app.page.evaluate("() => [...window.unringed]")]
    assert not missing, "\n".join(missing)
