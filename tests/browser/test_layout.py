"""What a person sees of a page without scrolling: rows, columns and words, on a desk, on half a screen, on a phone."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import pytest
from playwright.sync_api import expect

from core.run.events import Record
from pages.parts.history.history_table import STATUS_WORDS
from tests.browser.canvas import record, seen_rows
from tests.browser.conftest import WebRun
from tests.browser.page_objects import App
from tests.patience import Patience
from tests.seeding import store_copy

DESK = {"width": 1440, "height": 900}
HALF = {"width": 1024, "height": 768}
PHONE = {"width": 390, "height": 844}
PHONE_ROW = 80
"""Pixels of a row on a phone, where text wraps."""
DRAWN_SECONDS = 60
"""Seconds for a table to be drawn, as Playwright's other waits have here."""


@pytest.fixture
def seen(app: App, demo_records: tuple[Record, ...]) -> App:
    """The Ask page on a finished run, fused ranking, in a window of 1,440 x 900.

    The question belongs to these tests, since labels belong to a question.
    """
    app.page.set_viewport_size(DESK)  # type: ignore[arg-type]
    record(app.page)
    app.open(f"/?run={store_copy(app.site.folder, demo_records, 'How wide is a column?')}")
    app.finished()
    expect(app.keyed("map").locator(".scatterlayer").first).to_be_visible()
    return app


def rows_of(
    app: App, table: str, least: int, row_height: int = 33, columns: Set[str] = frozenset()
) -> list[Mapping[str, str]]:
    """The rows in view, once that many are drawn with these columns, or those there after `DRAWN_SECONDS`."""
    patience = Patience(DRAWN_SECONDS)
    while patience.lasts():
        rows = seen_rows(app.keyed(table), row_height)
        if len(rows) >= least and columns <= set(rows[0]):
            break
        app.drawn()
    return rows


def curve(app: App) -> dict[str, Any]:
    """What the chart of scores draws: its series by name, once Plotly has them."""
    data: dict[str, Any] = app.page.wait_for_function(
        """() => {
          const plot = document.querySelector('.st-key-curve .js-plotly-plot');
          if (!plot || !plot.data) return null;
          return Object.fromEntries(plot.data.map(({ name, y }) => [name, { y: [...y] }]));
        }"""
    ).json_value()
    return data


def test_a_desk_shows_passages_scores_and_their_chart(seen: App) -> None:
    rows = rows_of(seen, "passages", 8)
    assert len(rows) >= 8
    assert list(rows[0])[:3] == ["rank", "passage", "cosine"]
    assert [row["rank"] for row in rows[:8]] == list("12345678")
    assert min(len(row["passage"]) for row in rows) >= 38
    assert min(len(row["source"]) for row in rows) >= 12
    assert all(0 < float(row["cosine"]) <= 1 for row in rows)
    menu_of_exports_stays_beside_warnings(seen)
    expect(seen.keyed("results")).to_contain_text("Fused score by rank")
    scores = curve(seen)["Fused score"]["y"]
    assert scores == sorted(scores, reverse=True)
    chosen_score_is_shown_and_sorts(seen, [row["passage"] for row in rows])
    seen.knob("rank_strategy").get_by_role("radio", name="cosine").click()
    seen.at_rest()
    expect(seen.own("tuned")).to_be_visible()
    expect(seen.keyed("results")).to_contain_text("Cosine by rank")
    shown = [float(row["cosine"]) for row in rows_of(seen, "passages", 8)]
    assert curve(seen)["Cosine"]["y"][:8] == pytest.approx(shown[:8], abs=0.0006)


def menu_of_exports_stays_beside_warnings(app: App) -> None:
    head = app.keyed("answer_head")
    badge = head.locator(".stMarkdownBadge").first
    expect(badge).to_be_visible()
    badge.evaluate(
        """badge => {
          badge.firstElementChild.setAttribute("aria-label", "warning icon");
          badge.lastChild.data = " 12.3 s · 2 warnings";
        }"""
    )
    app.drawn()
    title, export = app.place(badge), app.place(head.locator(".st-key-export"))
    assert export["y"] < title["y"] + title["height"]


def chosen_score_is_shown_and_sorts(app: App, order: Sequence[str]) -> None:
    for score, name in (("fused", "fused"), ("BM25", "BM25"), ("cosine", "cosine")):
        app.keyed("passage_score").get_by_role("radio", name=score).click()
        expect(app.keyed("passages").locator("thead th")).to_have_text(
            ["rank", "passage", name, "context", "source"]
        )
        app.at_rest()
    assert [row["passage"] for row in rows_of(app, "passages", 8)] == list(order)
    first = app.keyed("passages").locator("tbody tr td")
    expect(first.first).to_have_text("1")
    app.cell(0, 440)
    expect(first.first).not_to_have_text("1")
    cosines = [
        float(text)
        for text in app.keyed("passages")
        .locator("tbody tr")
        .evaluate_all("rows => rows.slice(0, 8).map(row => row.querySelectorAll('td')[2].textContent)")
    ]
    assert cosines == sorted(cosines)


@pytest.mark.thorough
def test_labels_and_half_a_screen_show_every_column(seen: App) -> None:
    seen.cell(1, 200)
    expect(seen.keyed("reader_row_head")).to_contain_text("Rank 1")
    seen.keyed("grades").get_by_role("button").first.click()
    expect(seen.keyed("labels")).to_contain_text("1 of 10 labelled")
    seen.open(f"/?run={seen.shown_run()}")
    seen.finished()
    rows = rows_of(seen, "passages", 8, columns={"label"})
    seen.cell(1, 200)
    expect(seen.keyed("reader_row_head")).to_contain_text("Rank 1")
    seen.keyed("grades").get_by_role("button").first.click()  # which removes the label
    expect(seen.keyed("labels")).to_contain_text("0 of 10 labelled")
    seen.keyed("reader_row").get_by_role("button", name="Close").click()
    assert len(rows) >= 8
    assert rows[0]["label"] == "relevant"
    assert min(len(row["passage"]) for row in rows) >= 30
    assert all(row["cosine"] and row["source"] for row in rows)

    seen.page.set_viewport_size(HALF)  # type: ignore[arg-type]
    names = seen.page.locator(".oq-step .name > span:not(.oq-icon)")
    expect(names).to_have_count(7)
    cut = names.evaluate_all(
        "all => all.filter((name) => name.scrollWidth > name.clientWidth).map((name) => name.textContent)"
    )
    assert cut == []
    seen.at_rest()
    seen.keyed("passages").scroll_into_view_if_needed()
    rows = rows_of(seen, "passages", 6)
    assert all(row["cosine"] and len(row["passage"]) > 25 for row in rows[:6])


def on_a_phone(app: App, path: str) -> App:
    app.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    record(app.page)
    app.open(path)
    return app


@pytest.mark.thorough
def test_history_can_be_read_on_a_phone(web_run: WebRun, web_app: App) -> None:
    app = on_a_phone(web_app, "/runs")
    columns = {"question", "when", "status"}
    rows = rows_of(app, "history_table", 1, PHONE_ROW, columns)
    assert columns <= set(rows[0])
    patience = Patience(DRAWN_SECONDS)
    # Until its font is there, the table breaks lines elsewhere, and words too.
    while rows[-1]["question"].split() != web_run_question(app).split():
        assert patience.lasts(), rows
        app.drawn()
        rows = rows_of(app, "history_table", 1, PHONE_ROW, columns)
    assert rows[-1]["status"] in STATUS_WORDS.values()


def web_run_question(app: App) -> str:
    """The question of the last row in view, as screen readers hear it."""
    return app.keyed("history_table").locator("tbody tr").last.locator("td").first.inner_text()


def test_the_strip_is_one_row_on_a_desk_and_one_line_on_a_phone(seen: App) -> None:
    page, settings = seen.page, seen.keyed("what_if_settings")
    settings.get_by_role("slider", name="Passages in the context").press("Home")
    settings.get_by_role("radio", name="BM25").click()
    again = seen.button("answer_again")
    expect(again).to_have_text("Answer again in quotations")
    seen.at_rest()
    row = [settings, seen.own("tuned"), seen.button("why_lost"), again]
    middles = [box["y"] + box["height"] / 2 for box in map(seen.place, row)]
    assert max(middles) - min(middles) < 3
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    expect(settings).to_be_hidden()
    seen.at_rest()
    strip = seen.keyed("what_if")
    expect(strip).to_contain_text("No citation keeps its passage.")
    assert strip.evaluate("strip => strip.clientHeight < 60 && strip.scrollWidth <= strip.clientWidth + 1")
    seen.button("strip_toggle").click()
    expect(seen.keyed("strip_chunk_size")).to_be_in_viewport()
    expect(again).to_be_in_viewport()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") == PHONE["width"]


def test_the_toolbar_of_passages_covers_no_choice_of_score(seen: App) -> None:
    table = seen.keyed("passages").get_by_test_id("stDataFrame")
    table.click(position={"x": 150, "y": 60})
    toolbar = table.get_by_test_id("stElementToolbar")
    expect(toolbar).to_be_visible()
    seen.at_rest()
    bar = seen.place(toolbar)
    last = seen.place(seen.keyed("passage_head").get_by_role("radio").last)
    assert last["x"] + last["width"] <= bar["x"] or last["y"] + last["height"] <= bar["y"]


def test_every_column_of_the_history_is_in_view(seen: App) -> None:
    seen.open("/runs")
    rows_of(seen, "history_table", 1, columns={"question"})
    scroller = seen.keyed("history_table").locator(".dvn-scroller")
    assert scroller.evaluate("part => part.scrollWidth <= part.clientWidth")


def test_draft_of_a_follow_up_opens_in_view(seen: App) -> None:
    seen.field("follow_up_line").scroll_into_view_if_needed()
    seen.field("follow_up_line").fill("and what does it cost?")
    seen.field("follow_up_line").press("Enter")
    for part in ("standalone", "follow_up_ask", "cancel_follow_up"):
        expect(seen.keyed(part)).to_be_in_viewport(ratio=1)
    expect(seen.keyed("standalone").locator("textarea")).to_be_focused()
    expect(seen.keyed("nearest_passages")).to_be_in_viewport()
    seen.page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    seen.keyed("answer_from").get_by_text("Both").evaluate("choice => choice.click()")
    seen.at_rest()
    expect(seen.keyed("answer_card")).to_be_in_viewport()  # the same draft is not scrolled to again


@pytest.mark.thorough
def test_open_sidebar_covers_no_phone_page_after_a_reload(app: App, demo_records: tuple[Record, ...]) -> None:
    app.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    app.open(f"/?run={store_copy(app.site.folder, demo_records)}")
    app.finished()
    sidebar = app.page.get_by_test_id("stSidebar")
    app.page.get_by_test_id("stExpandSidebarButton").click()
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    app.page.reload()
    app.finished()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    app.page.set_viewport_size(DESK)  # type: ignore[arg-type]
    app.open_settings()
    app.page.reload()
    app.finished()
    expect(sidebar).to_have_attribute("data-collapsed", "false")
