"""axe-core finds nothing on any page, in either theme."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, expect

from core.run import events as e
from tests.browser.axe import COLOURS, findings
from tests.browser.conftest import WebRun, visiting
from tests.browser.page_objects import App
from tests.browser.small_web import DROPPED, QUERIES, QUESTION
from tests.samples import EVENTS
from tests.seeding import store_events
from tests.services.loopback import Gate
from tests.services.openai_server import streamed

LISTEN = """() => {
    window.heard = [];
    const region = document.querySelector('[role="status"]#oq-announcements');
    new MutationObserver(() => window.heard.push(region.textContent)).observe(region, { childList: true });
}"""
"""Keep what a screen reader would read out."""

SIDEBAR = ("[data-testid=stSidebar]",)
"""The controls of all knobs: half of the Ask page."""
MAIN = "[data-testid=stMain]"


@dataclass
class Visit:
    """One browser page that all tests of this file share, and what axe-core found on its way."""

    app: App
    theme: str = "light"
    problems: list[str] = field(default_factory=list)

    def look(self, where: str, without: Sequence[str] = ()) -> None:
        """Check what is on screen: everything in one theme, and the colours in the other.

        `without` are selectors of parts that an earlier look has seen as they are.
        """
        self.app.at_rest()
        self.problems += findings(self.app.page, f"{where}, {self.theme}", without=without)
        self._turn()
        self.problems += findings(self.app.page, f"{where}, {self.theme}", COLOURS, without)

    def look_at_part(self, where: str, *parts: str) -> None:
        """Check a page of which only these parts differ from what an earlier look has seen.

        The colours, which take most of the time, are checked within the parts, in both themes.
        """
        self.app.at_rest()
        page = self.app.page
        self.problems += findings(page, f"{where}, {self.theme}", skipped=COLOURS)
        self.problems += findings(page, f"{where}, {self.theme}", COLOURS, within=parts)
        self._turn()
        self.problems += findings(page, f"{where}, {self.theme}", COLOURS, within=parts)

    def _turn(self) -> None:
        self.theme = "light" if self.theme == "dark" else "dark"
        self.app.theme(self.theme)


@pytest.fixture(scope="module")
def shared_visit(chromium: Browser, web_run: WebRun) -> Iterator[Visit]:
    with visiting(chromium, web_run.site) as app:
        yield Visit(app)


@pytest.fixture
def visit(shared_visit: Visit, web_run: WebRun) -> Visit:
    web_run.model.chats.clear()
    shared_visit.problems.clear()
    return shared_visit


def research_before_a_question(visit: Visit, web_run: WebRun) -> None:
    visit.app.open("/")
    visit.app.open_settings()
    for group in ("presets", "search", "read"):
        visit.app.keyed(f"group_{group}").locator("summary").click()
    visit.app.button("connect").click()
    expect(visit.app.field("access_key")).to_be_visible()
    visit.look("Research, idle")


def research_while_a_run_is_under_way(visit: Visit, web_run: WebRun) -> None:
    app, planning, answering = visit.app, Gate(), Gate()
    web_run.model.chats.append(streamed(f'["{QUERIES[0]}",\n', planning, f'"{QUERIES[1]}"]'))
    web_run.model.chats.append(
        streamed(
            "The pond ",
            answering,
            "held the flood [1]. Some say [Source 77].\n\n#### Since when\n\n- A year [2].",
        )
    )
    app.open("/")
    app.page.evaluate(LISTEN)
    app.field("question").fill(QUESTION)
    app.field("question").press("Enter")
    expect(app.own("hit")).to_have_count(5)
    expect(app.own("best").first).to_be_visible()
    visit.look("Research, reading")
    planning.open()
    expect(app.answer).to_contain_text("The pond")
    visit.look("Research, answering", SIDEBAR)
    answering.open()
    app.finished()
    expect(app.answer.locator("del")).to_have_text("[77]")
    visit.look_at_part("Research, ended", ".st-key-answer_card", ".oq-steps", ".st-key-follow_up")
    assert app.page.evaluate("() => window.heard") == [
        "Searching and reading.",
        "Writing the answer.",
        "The answer is complete, with 4 sources and 1 warning.",
    ]


def research_with_an_answer(visit: Visit, web_run: WebRun) -> None:
    app = visit.app
    app.open(f"/?run={web_run.run}")
    app.finished()
    app.answer.locator("a").first.click()
    expect(app.keyed("reader_cited").locator("mark")).to_be_visible()
    app.own("checks").locator("summary").click()
    visit.look("Research, passages with the reader")
    app.slider("rank_top_k").press("ArrowLeft")
    expect(app.own("tuned")).to_contain_text("removed")
    for name in ("Search hits", "Pages", "Timeline", "Prompt"):
        app.open_tab(name)
        if name == "Pages":
            app.keyed("article_1").locator("summary").click()
            expect(app.keyed("article_1").locator(".oq-article")).to_be_visible()
        visit.look_at_part(f"Research, {name}", ".st-key-results")


def research_after_a_failure(visit: Visit, web_run: WebRun) -> None:
    app = visit.app
    store_events(
        web_run.site.folder,
        e.RunStarted("failed", QUESTION, EVENTS[0].knobs, "2026-01-02T03:04:05+00:00"),  # type: ignore[union-attr]
        e.RunFailed("search", "The search engine did not answer.", "Is it running?", 2),
    )
    app.open("/?run=failed")
    expect(app.page.locator(".stAlert")).to_be_visible()
    visit.look("Research, failed")
    app.open("/?run=no-such-run")
    expect(app.page.locator(".stAlert")).to_be_visible()
    visit.look_at_part("Research, refused", ".stAlert")


def explain(visit: Visit, web_run: WebRun) -> None:
    app = visit.app
    app.open("/explain")
    expect(app.keyed("latest_runs").get_by_role("link").first).to_be_visible()
    visit.look("Explain, without a run")
    app.open(f"/explain?run={web_run.run}&view=attrition")
    app.keyed("why").locator("textarea").fill(DROPPED)
    app.button("trace").click()
    expect(app.keyed("reader_trace").locator("mark")).to_be_visible()
    visit.look("Explain, attrition")
    for name, part in {
        "Queries": ".st-key-contributions canvas",
        "Attribution": ".oq-matrix td a",
        "Scores": ".st-key-null_distribution .scatterlayer",
        "Map": ".st-key-embedding_map .scatterlayer",
        "Sources": ".st-key-clusters canvas",
        "Extraction": ".oq-text.diff",
        "Answers": ".st-key-explain_view .oq-empty",
    }.items():
        app.explain(name)
        expect(app.page.locator(part).first).to_be_visible()
        if name == "Attribution":
            app.page.locator(part).nth(1).click()
            expect(app.keyed("reader_cell").locator("mark")).to_be_visible()
        visit.look_at_part(f"Explain, {name}", ".st-key-explain_view", ".st-key-how_to_read")


def compare(visit: Visit, web_run: WebRun) -> None:
    app = visit.app
    app.open(f"/explain?view=what-if&run={web_run.run}&a=own&b=own")
    app.keyed("measures").locator("summary").click()
    expect(app.keyed("rank_changes")).to_be_visible()
    app.keyed("version_body_a").locator("a").first.click()
    expect(app.keyed("reader_source").locator("mark")).to_be_visible()
    visit.look("Compare, two answers")
    app.open(f"/explain?view=what-if&run={web_run.run}&a=own&b=rank.top_k:2")
    expect(app.keyed("version_card_b")).to_contain_text("press “Answer both”")
    visit.look_at_part("Compare, two settings", ".st-key-compared", ".st-key-answer_pair")


def evaluate(visit: Visit, web_run: WebRun) -> None:
    app = visit.app
    app.open("/evaluate?view=new")
    visit.look("Evaluate, before an experiment")
    app.button("evaluate_start").click()
    expect(app.button("evaluate_delete")).to_be_visible()
    expect(app.keyed("evaluate_costs").locator(".scatterlayer .trace").first).to_be_visible()
    visit.look("Evaluate, results")
    app.keyed("evaluate_choices").get_by_role("radio", name="Knobs").click()
    expect(app.keyed("evaluate_parallel_axes").locator(".lines path.on").first).to_be_attached()
    visit.look_at_part("Evaluate, knobs", MAIN)
    app.keyed("evaluate_settings").get_by_role("link").last.click()
    app.keyed("evaluate_choices").get_by_role("radio", name="Questions").click()
    expect(app.own("ranks")).to_be_visible()
    visit.look_at_part("Evaluate, a question", MAIN)


def drafts(visit: Visit, web_run: WebRun) -> None:
    """Test questions drafted from runs and decided on by a key, which leaves the focus in the passage."""
    app = visit.app
    app.open("/evaluate?view=labels&part=drafts")
    app.field("drafts_count").fill("5")
    app.field("drafts_count").press("Enter")
    app.button("drafts_start").first.click()
    decided = app.page.locator(".oq-settings.drafts td:last-child")
    expect(decided.first).to_be_visible()
    expect(app.keyed("drafts_waiting")).to_have_count(0)
    article = app.keyed("reader_draft").locator(".oq-article")
    article.focus()
    place = str(article.get_attribute("data-place"))
    app.page.keyboard.press("a")
    expect(decided.first).to_have_text("approved")
    expect(article).not_to_have_attribute("data-place", place)
    expect(article).to_be_focused()
    visit.look("Evaluate, drafts")
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.until("document.documentElement.scrollWidth <= innerWidth")
    visit.look("Evaluate, drafts on a phone")
    app.page.set_viewport_size({"width": 1500, "height": 1000})


def library(visit: Visit, web_run: WebRun) -> None:
    app = visit.app
    app.open("/library?collection=ponds")
    visit.look("Library, empty")
    page = {"name": "ponds.md", "mimeType": "text/markdown", "buffer": f"# Ponds\n\n{DROPPED}\n".encode()}
    app.keyed("uploads").locator("input[type=file]").set_input_files([page])  # type: ignore[list-item]
    expect(app.page.get_by_test_id("stFileChip")).to_have_count(1)
    visit.look("Library, a file to add")
    app.button("add_files").click()
    expect(app.keyed("ingest_report")).to_contain_text("Import finished")
    app.at_rest()
    visit.look_at_part("Library, documents", MAIN)
    app.open_tab("Search")
    app.field("inside_words").fill("Where do gulls nest?")
    app.field("inside_words").press("Enter")
    expect(app.page.locator(".oq-found .oq-hit").first).to_be_visible()
    visit.look_at_part("Library, search", MAIN)
    address = app.page.locator(".oq-found .oq-hit a").first.get_attribute("href")
    app.open(str(address))
    expect(app.page.locator(".oq-article mark")).to_be_visible()
    visit.look("Library, a document")


def history_system_and_handbook(visit: Visit, web_run: WebRun) -> None:
    app = visit.app
    app.open("/runs")
    expect(app.keyed("history_words")).to_be_visible()
    visit.look("History")
    app.open("/system")
    expect(app.own("probe").first).to_be_visible()
    visit.look("System")
    app.open("/handbook")
    expect(app.page.get_by_role("link", name="Chunk Overlap")).to_be_visible()
    visit.look("Handbook, contents")
    app.open("/handbook?article=chunk-overlap")
    expect(app.page.get_by_role("heading", name="Chunk Overlap", exact=True)).to_be_visible()
    visit.look("Handbook, an article")


WALKS: tuple[Callable[[Visit, WebRun], None], ...] = (
    research_before_a_question,
    research_while_a_run_is_under_way,
    research_with_an_answer,
    research_after_a_failure,
    explain,
    compare,
    evaluate,
    drafts,
    library,
    history_system_and_handbook,
)


@pytest.mark.thorough
@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.__name__)
def test_axe_core_finds_nothing_in_either_theme(
    visit: Visit, web_run: WebRun, walk: Callable[[Visit, WebRun], None]
) -> None:
    walk(visit, web_run)
    assert not visit.problems, "\n".join(visit.problems)
