"""What a person sees of a page without scrolling: rows, columns and words, on a desk, on half a screen, on a phone."""

from collections.abc import Mapping, Set
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
from tests.services.openai_server import FakeOpenAI, streamed

DESK = {"width": 1440, "height": 900}
HALF = {"width": 1024, "height": 768}
PHONE = {"width": 390, "height": 844}
PHONE_ROW = 80
"""Pixels of a row on a phone, where text wraps."""
DRAWN_SECONDS = 60
"""Seconds for a table to be drawn, as Playwright's other waits have here."""


@pytest.fixture
def seen(app: App, demo_records: tuple[Record, ...]) -> App:
    """The Research page on a finished run, fused ranking, in a window of 1,440 x 900."""
    app.page.set_viewport_size(DESK)  # type: ignore[arg-type]
    record(app.page)
    app.open(f"/?run={store_copy(app.site.folder, demo_records)}")
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


def test_eight_passages_with_their_scores_are_on_the_first_screen(seen: App) -> None:
    rows = rows_of(seen, "passages", 8)
    assert len(rows) >= 8
    assert list(rows[0])[:3] == ["rank", "passage", "cosine"]
    assert [row["rank"] for row in rows[:8]] == list("12345678")
    assert min(len(row["passage"]) for row in rows) >= 38
    assert min(len(row["source"]) for row in rows) >= 12
    assert all(0 < float(row["cosine"]) <= 1 for row in rows)


def test_the_toolbar_of_passages_covers_no_choice_of_score(seen: App) -> None:
    table = seen.keyed("passages").get_by_test_id("stDataFrame")
    table.click(position={"x": 150, "y": 60})
    toolbar = table.get_by_test_id("stElementToolbar")
    expect(toolbar).to_be_visible()
    seen.at_rest()
    bar = toolbar.bounding_box()
    last = seen.keyed("passage_head").get_by_role("radio").last.bounding_box()
    assert bar and last
    assert last["x"] + last["width"] <= bar["x"] or last["y"] + last["height"] <= bar["y"]


def test_every_column_of_the_history_is_in_view(seen: App) -> None:
    seen.open("/runs")
    rows_of(seen, "history_table", 1, columns={"question"})
    scroller = seen.keyed("history_table").locator(".dvn-scroller")
    assert scroller.evaluate("part => part.scrollWidth <= part.clientWidth")


def test_the_menu_of_exports_stays_beside_warnings(seen: App) -> None:
    head = seen.keyed("answer_head")
    badge = head.locator(".stMarkdownBadge").first
    expect(badge).to_be_visible()
    badge.evaluate(
        """badge => {
          badge.firstElementChild.setAttribute("aria-label", "warning icon");
          badge.lastChild.data = " 12.3 s · 2 warnings";
        }"""
    )
    seen.drawn()
    places = [part.bounding_box() for part in (badge, head.locator(".st-key-export"))]
    assert places[0] and places[1]
    assert places[1]["y"] < places[0]["y"] + places[0]["height"]


def test_the_column_of_labels_leaves_room_for_passages_and_scores(seen: App) -> None:
    def press_first_label() -> None:
        seen.cell(1, 200)
        expect(seen.keyed("reader_row_head")).to_contain_text("Rank 1")
        seen.keyed("grades").get_by_role("button").first.click()

    press_first_label()
    expect(seen.keyed("labels")).to_contain_text("1 of 10 labelled")
    seen.open(f"/?run={seen.shown_run()}")
    seen.finished()
    rows = rows_of(seen, "passages", 8)
    press_first_label()  # which removes the label: other tests ask the same question
    expect(seen.keyed("labels")).to_contain_text("0 of 10 labelled")
    assert len(rows) >= 8
    assert rows[0]["label"] == "relevant"
    assert min(len(row["passage"]) for row in rows) >= 30
    assert all(row["cosine"] and row["source"] for row in rows)


def test_one_column_shows_the_chosen_score_and_cosines_still_sort_the_table(seen: App) -> None:
    order = [row["passage"] for row in rows_of(seen, "passages", 8)]
    for score, name in (("fused", "fused"), ("BM25", "BM25"), ("cosine", "cosine")):
        seen.keyed("passage_score").get_by_role("radio", name=score).click()
        expect(seen.keyed("passages").locator("thead th")).to_have_text(
            ["rank", "passage", name, "context", "source"]
        )
        seen.at_rest()
    rows = rows_of(seen, "passages", 8)
    assert [row["passage"] for row in rows] == order
    first = seen.keyed("passages").locator("tbody tr td")
    expect(first.first).to_have_text("1")
    seen.cell(0, 380)
    expect(first.first).not_to_have_text("1")
    cosines = [
        float(text)
        for text in seen.keyed("passages")
        .locator("tbody tr")
        .evaluate_all("rows => rows.slice(0, 8).map(row => row.querySelectorAll('td')[2].textContent)")
    ]
    assert cosines == sorted(cosines)


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


def test_the_chart_shows_the_score_that_ranks(seen: App) -> None:
    expect(seen.keyed("results")).to_contain_text("Fused score by rank")
    scores = curve(seen)["Fused score"]["y"]
    assert scores == sorted(scores, reverse=True)
    seen.keyed("knob_rank_strategy").get_by_role("radio", name="cosine").click()
    seen.at_rest()
    expect(seen.own("tuned")).to_be_visible()
    expect(seen.keyed("results")).to_contain_text("Cosine by rank")
    shown = [float(row["cosine"]) for row in rows_of(seen, "passages", 8)]
    assert curve(seen)["Cosine"]["y"][:8] == pytest.approx(shown[:8], abs=0.0006)


def test_half_a_screen_shows_whole_step_names_and_every_column_that_counts(seen: App) -> None:
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


def test_history_can_be_read_on_a_phone(web_run: WebRun, web_app: App) -> None:
    app = on_a_phone(web_app, "/runs")
    columns = {"question", "when", "status"}
    rows = rows_of(app, "history_table", 1, PHONE_ROW, columns)
    assert columns <= set(rows[0])
    assert rows[-1]["question"].split() == web_run_question(app).split()
    assert rows[-1]["status"] in STATUS_WORDS.values()


def web_run_question(app: App) -> str:
    """The question of the last row in view, as screen readers hear it."""
    return app.keyed("history_table").locator("tbody tr").last.locator("td").first.inner_text()


def test_the_settings_of_an_experiment_can_be_read_on_a_phone(web_app: App) -> None:
    app = on_a_phone(web_app, "/evaluate?view=new")
    app.button("evaluate_start").click()
    expect(app.button("evaluate_delete")).to_be_visible()
    app.at_rest()
    settings = app.keyed("evaluate_settings").locator(".oq-settings")
    settings.scroll_into_view_if_needed()
    for column in ("ranking", "nDCG@10"):
        expect(settings.get_by_role("columnheader", name=column)).to_be_in_viewport(ratio=0.9)
    expect(settings.get_by_role("row")).to_have_count(4)
    link = settings.get_by_role("link").last
    link.click()
    expect(link).to_have_attribute("aria-current", "true")
    app.keyed("evaluate_choices").get_by_role("radio", name="Questions").click()
    questions = app.keyed("evaluate_part_questions").locator(".oq-questions")
    questions.scroll_into_view_if_needed()
    for column in ("question", "Δ"):
        expect(questions.get_by_role("columnheader", name=column)).to_be_in_viewport(ratio=0.9)
    expect(app.keyed("evaluate_question").locator("mark").first).to_be_attached()


def test_lists_of_an_answer_in_hebrew_have_their_marks_on_the_right(
    model_app: App, model: FakeOpenAI
) -> None:
    model.chats.append(streamed("chunk overlap"))
    model.chats.append(
        streamed("- חפיפה שומרת עובדות [1].\n- היא עולה קטעים [2].\n\nIn short:\n\n- It costs [1].")
    )
    model_app.ask()
    model_app.finished()
    lists = model_app.answer.locator("ul")
    expect(lists).to_have_count(2)
    for list_, right in zip((lists.first, lists.last), (True, False), strict=True):
        expect(list_).to_have_css("direction", "rtl" if right else "ltr")
        space = list_.evaluate(
            """list => {
              const around = list.getBoundingClientRect();
              const item = list.querySelector('li').getBoundingClientRect();
              return [item.left - around.left, around.right - item.right];
            }"""
        )
        assert (space[1] > 12 and space[0] < 6) if right else (space[0] > 12 and space[1] < 6)


def test_a_setting_that_is_off_says_so_and_takes_the_word(seen: App) -> None:
    field = seen.number_field("rank_threshold")
    expect(field).to_have_value("off")
    seen.type_number("rank_threshold", "0.35")
    expect(seen.slider("rank_threshold")).to_have_value("0.35")
    seen.at_rest()
    seen.type_number("rank_threshold", "off")
    expect(seen.slider("rank_threshold")).to_have_value("-1")
    expect(field).to_have_value("off")


def test_draft_of_a_follow_up_opens_in_view(seen: App) -> None:
    seen.field("follow_up_line").scroll_into_view_if_needed()
    seen.field("follow_up_line").fill("and what does it cost?")
    seen.field("follow_up_line").press("Enter")
    for part in ("standalone", "follow_up_ask", "cancel_follow_up"):
        expect(seen.keyed(part)).to_be_in_viewport(ratio=1)
    seen.page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    seen.keyed("answer_from").get_by_text("Both").evaluate("choice => choice.click()")
    seen.at_rest()
    expect(seen.keyed("answer_card")).to_be_in_viewport()  # the same draft is not scrolled to again


def test_open_sidebar_covers_no_page_of_a_phone_after_a_reload(
    app: App, demo_records: tuple[Record, ...]
) -> None:
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
    app.page.reload()
    app.finished()
    expect(sidebar).to_have_attribute("data-collapsed", "false")
