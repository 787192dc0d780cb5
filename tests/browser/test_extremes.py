"""Input at its limits in a real browser: endless titles, right-to-left scripts, a huge table, two tabs of one run."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Locator, expect

from core.config.questions import QUESTION_LIMIT
from core.model import SearchReply
from core.run.state import Run
from tests.analysis.sample import run_of
from tests.browser.conftest import visiting
from tests.browser.page_objects import App
from tests.browser.server import Site
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


@pytest.fixture(scope="module")
def visitor(chromium: Browser, demo_site: Site) -> Iterator[App]:
    with visiting(chromium, demo_site) as app:
        yield app


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
        "Compare": (f"/compare?run={run}&a=own&b=own", app.own("figures")),
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


def test_titles_without_an_end_stay_within_the_window(visitor: App) -> None:
    text = f"{ENDLESS[:900]} holds the flood. It ends here."
    question = ENDLESS[:QUESTION_LIMIT]
    run = stored(visitor, "endless", question, {ENDLESS: text, f"a {ENDLESS}": text[300:]}, f"{text} [1]")
    stays_within_the_window(visitor, run)


def test_right_to_left_scripts_are_set_from_right_to_left(visitor: App) -> None:
    pages = {
        title: f"{title} {other}" for title, other in zip(RIGHT_TO_LEFT, RIGHT_TO_LEFT[::-1], strict=True)
    }
    answer = "\n\n".join(f"{text} [{number}]" for number, text in enumerate(RIGHT_TO_LEFT, 1))
    run = stored(visitor, "right-to-left", RIGHT_TO_LEFT[0], pages, answer)
    stays_within_the_window(visitor, run)
    visitor.open(f"/?run={run}")
    visitor.page.locator("#src-1").click()
    for part in (
        visitor.own("question"),
        visitor.answer.locator("p").first,
        visitor.own("source").locator(".s").first,
        visitor.keyed("reader_cited").locator(".oq-article"),
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


def test_an_answer_that_is_one_large_table_stays_within_the_window(visitor: App) -> None:
    assert len(TABLE) > 19_000
    pages = {"One": "A pond stores the flood behind a gate.", "Two": "The gate opens at ebb."}
    run = stored(visitor, "table", "What does the table say?", pages, f"{TABLE}\n\nIt is long [1].")
    stays_within_the_window(visitor, run)
    visitor.open(f"/?run={run}")
    expect(visitor.answer.locator("tbody tr").first).to_be_visible()
    expect(visitor.answer.locator("a").first).to_be_visible()


def test_two_tabs_follow_one_run_and_tune_it_each_for_itself(app: App) -> None:
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
