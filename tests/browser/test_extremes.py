"""Input at its limits in a real browser: endless titles, right-to-left scripts, a huge table, two tabs of one run."""

import time
from collections.abc import Mapping
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, expect

from core.model import SearchReply
from core.run.state import Run
from core.text.questions import QUESTION_LIMIT
from tests.analysis.sample import run_of
from tests.browser.page_objects import App
from tests.seeding import store_finished

WIDTHS = (390, 1024, 1440)
"""Pixels: a phone, a small laptop, a screen."""
ENDLESS = "Staumauerbauwerk" * 313
"""A title of five thousand characters without a place to break it."""
RIGHT_TO_LEFT = (
    "كيف تخزن طواحين المد قوة البحر؟",
    "איך טחנות הגאות אוגרות את כוח הים?",
    "آسیاب‌های کشندی (tide mills) نیروی دریا را چگونه ذخیره می‌کنند؟",
)
ROW = "| one cell of the table | another cell of the same row | 4711 |\n"
TABLE = "| first | second | third |\n| --- | --- | --- |\n" + ROW * (20_000 // len(ROW))


def titled(run: Run, titles: Mapping[str, str]) -> Run:
    """The run with these titles of its pages, by key."""

    def reply(one: SearchReply) -> SearchReply:
        results = (replace(found, title=titles.get(found.url, found.title)) for found in one.results)
        return replace(one, results=tuple(results))

    return replace(
        run,
        replies={query: reply(one) for query, one in run.replies.items()},
        pages={key: replace(page, title=titles[key]) for key, page in run.pages.items()},
        sources=tuple(replace(one, title=titles[one.passage.place.page]) for one in run.sources),
    )


def stored(app: App, name: str, question: str, pages: Mapping[str, str], answer: str) -> str:
    """The id of a finished run over pages with these titles and texts, which the server of the app has."""
    keys = [f"https://site{number}.example/page" for number in range(len(pages))]
    run = run_of(dict(zip(keys, pages.values(), strict=True)), question=question, answer=answer)
    return store_finished(
        app.site.folder, titled(replace(run, id=name), dict(zip(keys, pages, strict=True)))
    ).id


OVERFLOW = """() => {
    const main = document.querySelector('main');
    if (main.scrollWidth <= main.clientWidth) return '';
    const clipped = (one) => {
        for (let up = one.parentElement; up !== main; up = up.parentElement) {
            if (getComputedStyle(up).overflowX !== 'visible') return true;
        }
        return false;
    };
    const right = main.getBoundingClientRect().right;
    const wide = Array.from(main.querySelectorAll('*')).filter(
        (one) => one.getBoundingClientRect().right > right + 1 && !clipped(one)
    );
    const widest = wide.length ? wide[wide.length - 1].outerHTML.slice(0, 300) : 'unknown';
    return `${main.scrollWidth} px in ${main.clientWidth} px: ${widest}`;
}"""
"""What reaches beyond the window and makes the page scroll to the side; empty when nothing does."""


def overflow(app: App) -> str:
    """What still makes the page scroll to the side when its tables have had time for the width of the window."""
    end = time.monotonic() + 10
    while (found := str(app.page.evaluate(OVERFLOW))) and time.monotonic() < end:
        app.drawn()
    return found


def stays_within_the_window(app: App, run: str) -> None:
    """Open each page of the run at each width."""
    pages: Mapping[str, tuple[str, Locator]] = {
        "Research": (f"/?run={run}", app.own("source").first),
        "Explain, attrition": (f"/explain?run={run}&view=attrition", app.own("attrition")),
        "Explain, attribution": (
            f"/explain?run={run}&view=attribution",
            app.page.locator(".oq-matrix, .st-key-explain_view .stAlert").first,
        ),
        "Explain, sources": (f"/explain?run={run}&view=sources", app.own("verdict").first),
        "Compare": (f"/explain?view=what-if&run={run}&a=own&b=own", app.own("figures")),
        "Evaluate": ("/evaluate?view=new", app.keyed("new_experiment")),
        "History": ("/runs", app.keyed("history_words")),
    }
    wide = []
    for name, (path, part) in pages.items():
        app.page.set_viewport_size({"width": WIDTHS[-1], "height": 900})
        app.open(path)
        expect(part).to_be_visible()
        if name == "Research":
            app.page.locator("#src-1").click()
            expect(app.keyed("reader_cited").locator("mark")).to_be_visible()
        for width in WIDTHS:
            app.page.set_viewport_size({"width": width, "height": 900})
            app.at_rest()
            if found := overflow(app):
                wide.append(f"{name} at {width} px: {found}")
    assert not wide, "\n".join(wide)


@pytest.mark.thorough
def test_texts_at_their_limits_stay_within_the_window(app: App) -> None:
    """A run whose titles have no end and are written from right to left, and whose answer has a great table."""
    long = f"{ENDLESS[:900]} holds the flood. It ends here."
    pages = {
        ENDLESS: long,
        f"a {ENDLESS}": long[300:],
        **{
            title: f"{title} {other}" for title, other in zip(RIGHT_TO_LEFT, RIGHT_TO_LEFT[::-1], strict=True)
        },
    }
    sentences = "\n\n".join(f"{text} [{number}]" for number, text in enumerate(RIGHT_TO_LEFT, 3))
    run = stored(app, "limits", ENDLESS[:QUESTION_LIMIT], pages, f"{long} [1]\n\n{sentences}\n\n{TABLE}")
    stays_within_the_window(app, run)


@pytest.mark.thorough
def test_scripts_from_right_to_left_begin_on_the_right(app: App) -> None:
    pages = {
        title: f"{title} {other}" for title, other in zip(RIGHT_TO_LEFT, RIGHT_TO_LEFT[::-1], strict=True)
    }
    rows = "".join(f"| {number} | {'wide' * 30} | مطحنة المد [1] |\n" for number in range(150))
    table = f"| number | word | الاسم |\n|---|---|---|\n{rows}"
    lists = "- חפיפה שומרת עובדות [1].\n- היא עולה קטעים [2].\n\nIn short:\n\n- It costs [1]."
    answer = f"{RIGHT_TO_LEFT[0]} [1]\n\n{lists}\n\n{table}\nهذه جملة [1]."
    run = stored(app, "right-to-left", RIGHT_TO_LEFT[0], pages, answer)
    app.open(f"/?run={run}")
    app.page.locator("#src-1").click()
    for part in (
        app.own("question"),
        app.answer.locator("p").first,
        app.answer.locator("p").last,
        app.page.locator(".oq-source-page .head b").first,
        app.keyed("reader_cited").locator(".oq-article"),
    ):
        expect(part).to_be_visible()
        begins = part.evaluate(
            """(one) => {
                const words = document.createRange();
                words.selectNodeContents(one);
                const box = one.getBoundingClientRect();
                const lines = Array.from(words.getClientRects()).filter((line) => line.width > 0);
                return [box.right - Math.max(...lines.map((line) => line.right)), box.width];
            }"""
        )
        assert begins[0] < 30, f"{part}: the text ends {begins[0]} px before the right edge of {begins[1]} px"
    lists_have_their_marks_on_the_side_where_they_begin(app)
    great_table_scrolls_inside_its_card(app)


def lists_have_their_marks_on_the_side_where_they_begin(app: App) -> None:
    lists = app.answer.locator("ul")
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


def great_table_scrolls_inside_its_card(app: App) -> None:
    table = app.answer.locator("table")
    expect(table.locator("tbody tr")).to_have_count(150)
    width, height, inside = table.evaluate("one => [one.offsetWidth, one.clientHeight, one.scrollHeight]")
    assert width <= table.evaluate("one => one.closest('.st-key-answer_card').clientWidth")
    assert 100 < height < 1000 < inside
    assert app.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.thorough
def test_two_tabs_follow_one_run_and_tune_separately(app: App) -> None:
    app.ask()
    app.page.wait_for_url("**/?run=*")
    second = App(app.page.context.new_page(), app.site, app.faults, app.dialogs)
    second.watch()
    second.page.goto(app.page.url)
    for tab in (app, second):
        tab.finished()
    expect(second.answer).to_have_text(app.answer.inner_text(), use_inner_text=True)
    app.slider("rank_top_k").press("ArrowLeft")
    expect(app.own("tuned")).to_contain_text("−1 removed")
    expect(second.own("tuned")).to_have_count(0)
    app.button("answer_again").click()
    app.finished()
    expect(app.own("source")).to_have_count(5)
    second.page.locator("#src-1").click()
    expect(second.own("source")).to_have_count(5)
