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
    expect(app.keyed("evaluate_progress_line")).to_contain_text("2 of 2")
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
        app.keyed("evaluate_rank_strategy").get_by_role("button", name=re.compile("cosine")).click()
        expect(app.keyed("new_experiment")).to_contain_text(re.compile(r"2\s*settings"))
        first = run_experiment(app)
        second = run_experiment(app)
        assert first != second
        expect(app.page).to_have_url(re.compile(f"experiment={second}"))
        app.page.reload()
        ended(app)
        assert shown_experiment(app) == second

        settings = app.keyed("evaluate_settings")
        rows = settings.locator("tbody tr")
        expect(rows).to_have_count(2)
        names = [row.locator("td").first.inner_text() for row in rows.all()]
        assert set(names) == {"defaults", "rank.strategy:bm25"}
        for row, name in enumerate(names, 1):
            app.cell(row, 120)
            expect(app.keyed("use_setting")).to_contain_text(name)
            app.at_rest()

        app.button("evaluate_delete").click()
        expect(app.keyed("evaluate_deleted")).to_contain_text("was deleted.")
        expect(app.page).not_to_have_url(re.compile(second))
        app.button("evaluate_undo").click()
        expect(app.page).to_have_url(re.compile(second))
        expect(app.keyed("evaluate_deleted")).to_have_count(0)
        ended(app)
