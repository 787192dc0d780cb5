"""The pictures of the README: `python -m bench.screenshots` asks the demo library and writes docs/images/*.png.

It needs Chromium and the packages of requirements-dev.txt; nothing leaves this machine.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from markdown_it import MarkdownIt
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.browsing import connected
from bench.schedule import Seed
from bench.schedule import question as world_question
from bench.world import World
from core.config.settings import HANDBOOK, LOCAL
from tests.browser.conftest import CHROMIUM, FLAGS, QUESTION, App
from tests.browser.server import ROOT, Site, serving

IMAGES = ROOT / "docs" / "images"
WIDE = (1440, 900)
LAPTOP = (1280, 800)
PHONE = (390, 844)
TALL = (1280, 1500)
PRINTED = ("chunk-size", "chunk-overlap", "sentence-segmentation", "bm25", "hybrid-search")
"""Articles of the handbook that make the document of the library's picture."""
COMPARED = (
    "How large should the overlap of chunks be?",
    "What is BM25?",
    "When is a reranker worth its time?",
    "Which score of a fused ranking can be compared?",
    "Why is a page read twice?",
    "What does nDCG measure?",
)
"""Questions of the pictures of labels."""
LARGE = {"plan_queries": 10, "search_results": 20}
"""Knobs of a run over some 4,000 passages."""
GERMAN = "Wann ist hybride Suche besser als eine Suche mit Vektoren allein?"
PATIENCE = 60_000
"""Milliseconds."""


@contextmanager
def studio(about: str | None) -> Iterator[tuple[Browser, Site, Path]]:
    """A browser, a server that nobody has asked yet, and the folder that the command line names."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--folder", type=Path, default=IMAGES, help="where the pictures go")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    with (
        tempfile.TemporaryDirectory() as data,
        serving(Path(data)) as site,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser, site, folder
        browser.close()


def main() -> None:
    with studio(__doc__) as (browser, site, folder):
        address = _research(browser, site, folder)
        for name, size, dark in (("light", WIDE, False), ("dark", WIDE, True), ("phone", PHONE, False)):
            page = opened(browser, size, dark=dark)
            page.goto(address)
            settled(App(page, site))
            pictured(page, folder / f"{name}.png")
            page.context.close()
        _front(browser, site, folder)
        _cited(browser, address, site, folder)
        _german(browser, site, folder)
        _labels(browser, address, site, folder)
        _evaluate(browser, site, folder)
        _compared(browser, site, folder)
        _library(browser, site, folder)
        _filled(browser, folder)


def _research(browser: Browser, site: Site, folder: Path) -> str:
    """Ask on a server that just began, take the picture of the run under way, and ask once more.

    Returns the address of the second run, which has what a server has that was asked before.
    """
    page = opened(browser, WIDE)
    app = App(page, site)
    app.ask(QUESTION)
    app.step("read").locator("time").filter(has_text="s").wait_for()
    page.locator(".oq-hit").nth(2).wait_for()
    pictured(page, folder / "running.png")
    app.finished()
    app.ask(QUESTION)
    settled(app)
    address = page.url
    page.context.close()
    return address


def _front(browser: Browser, site: Site, folder: Path) -> None:
    """The front page with its recorded run at its end, ranked by cosine."""
    page = opened(browser, WIDE)
    App(page, site).open("/")
    stage = page.get_by_role("region", name="A recorded run")
    stage.get_by_role("button", name="Answer").click()
    stage.get_by_role("button", name="cosine").click()
    expect(stage.get_by_role("status")).to_contain_text("passage")
    page.mouse.move(0, 0)
    pictured(page, folder / "front.png")
    page.context.close()


def _cited(browser: Browser, address: str, site: Site, folder: Path) -> None:
    page = opened(browser, LAPTOP)
    page.goto(address)
    app = App(page, site)
    settled(app)
    app.answer.locator('a[href^="#src-"]').first.click()
    expect(page.locator(".st-key-reader_cited mark")).to_be_in_viewport()
    page.mouse.move(0, 0)
    pictured(page, folder / "cited.png")
    page.context.close()


def _german(browser: Browser, site: Site, folder: Path) -> None:
    """A German question over the English library: quotations in English, with what is said of them."""
    page = opened(browser, WIDE)
    app = App(page, site)
    app.ask(GERMAN)
    app.finished()
    page.goto(page.url)
    settled(app)
    pictured(page, folder / "german.png")
    page.context.close()


def _labels(browser: Browser, address: str, site: Site, folder: Path) -> None:
    """The best passages labelled, the third one open."""
    page = opened(browser, LAPTOP)
    page.goto(address)
    app = App(page, site)
    settled(app)
    for number, key in enumerate("123", 1):
        app.button("label_next").first.click()
        expect(app.keyed("reader_row_head")).to_contain_text(f"Rank {number}")
        page.keyboard.press(key)
        expect(app.keyed("labels")).to_contain_text(f"{number} of 10 labelled")
    app.keyed("reader_row").evaluate("element => element.scrollIntoView({ block: 'end' })")
    page.mouse.move(0, 0)
    pictured(page, folder / "labels.png")
    page.context.close()


def _evaluate(browser: Browser, site: Site, folder: Path) -> None:
    """Three rankings over the questions about the handbook."""
    page = opened(browser, TALL)
    app = App(page, site)
    app.open("/evaluate?view=new")
    app.button("evaluate_start").click()
    expect(app.button("evaluate_delete")).to_be_visible()
    expect(app.keyed("evaluate_costs").locator(".scatterlayer .trace").first).to_be_visible()
    page.mouse.move(0, 0)
    pictured(page, folder / "evaluate.png")
    app.keyed("evaluate_settings").get_by_role("link", name="ranking cosine").click()
    app.keyed("evaluate_choices").get_by_role("radio", name="Questions").click()
    expect(app.own("ranks")).to_be_visible()
    page.mouse.move(0, 0)
    pictured(page, folder / "evaluate-question.png")
    app.keyed("evaluate_head").get_by_role("radio", name="New").click()
    for size in ("300", "800"):
        app.at_rest()
        app.keyed("evaluate_chunk_size").get_by_role("button", name=size).click()
    expect(app.button("evaluate_start")).to_contain_text("Start 9 settings")
    app.button("evaluate_start").click()
    expect(app.button("evaluate_delete")).to_be_visible()
    app.keyed("evaluate_choices").get_by_role("radio", name="Knobs").click()
    expect(app.keyed("evaluate_parallel_axes").locator(".lines path.on").first).to_be_attached()
    page.mouse.move(0, 0)
    pictured(page, folder / "evaluate-knobs.png")
    page.context.close()


def _compared(browser: Browser, site: Site, folder: Path) -> None:
    """Two rankings compared by labels, and test questions drafted from the same runs."""
    page = opened(browser, WIDE)
    app = App(page, site)
    for question in COMPARED:
        app.ask(question)
        settled(app)
    app.open("/evaluate?view=labels")
    article = app.keyed("reader_verdict").locator(".oq-article")
    for key in "313233123331":
        place = str(article.get_attribute("data-place"))
        page.keyboard.press(key)
        expect(article).not_to_have_attribute("data-place", place)
    page.mouse.move(0, 0)
    pictured(page, folder / "compared.png")
    app.open("/evaluate?view=labels&part=drafts")
    app.button("drafts_start").first.click()
    expect(app.page.locator(".oq-settings.drafts tbody tr").nth(9)).to_be_visible()
    expect(app.keyed("drafts_waiting")).to_have_count(0)
    for number, key in enumerate("aada"):
        page.keyboard.press(key)
        outcome = "dropped" if key == "d" else "approved"
        expect(page.locator(".oq-settings.drafts td:last-child").nth(number)).to_have_text(outcome)
    pictured(page, folder / "drafts.png")
    page.context.close()


def _library(browser: Browser, site: Site, folder: Path) -> None:
    """A citation of a printed handbook, opened in the Library."""
    page = opened(browser, LAPTOP)
    app = App(page, site)
    app.open("/library")
    printed = {"name": "handbook.pdf", "mimeType": "application/pdf", "buffer": _printed(browser)}
    page.locator(".st-key-uploads input[type=file]").set_input_files([printed])  # type: ignore[list-item]
    expect(page.get_by_test_id("stFileChip")).to_have_count(1)
    page.locator(".st-key-add_files button").click()
    expect(page.locator(".st-key-ingest_report")).to_contain_text("Import finished")
    app.open("/")
    app.search_in("My documents")
    box = page.locator(".st-key-question input")
    box.fill(QUESTION)
    box.press("Control+Enter")
    settled(app)
    app.answer.locator('a[href^="#src-"]').first.click()
    reader = page.locator(".st-key-reader_cited")
    with page.context.expect_page() as leaf:
        reader.get_by_role("link", name="Open").click()
    book = leaf.value
    book.set_viewport_size({"width": LAPTOP[0], "height": LAPTOP[1]})
    expect(book.get_by_test_id("stImage").locator("img")).to_be_visible()
    pictured(book, folder / "library.png")
    page.context.close()


def _filled(browser: Browser, folder: Path) -> None:
    """A large run with the embedder that is shipped, when every passage is embedded.

    The chat model of the loopback world writes as slowly as one on this machine.
    """
    with (
        World(Seed(1, LARGE["plan_queries"], LARGE["search_results"], pace=30)) as world,
        tempfile.TemporaryDirectory() as data,
        connected(world, Path(data), embedding_model=LOCAL, embedding_base_url="") as site,
    ):
        page = opened(browser, WIDE)
        app = App(page, site)
        app.open()
        app.open_settings()
        for knob, value in LARGE.items():
            group = app.keyed(f"group_{knob.partition('_')[0]}").locator("summary")
            group.click()
            app.type_number(knob, str(value))
            expect(app.changed_settings).to_contain_text(str(value))  # drawn after the control
            group.click()
        app.field("question").fill(world_question(0))
        app.field("question").press("Enter")
        settled(app)
        page.mouse.move(0, 0)
        expect(app.own("tuned").or_(app.own("status-line"))).not_to_contain_text(
            "follow", timeout=5 * PATIENCE
        )
        page.get_by_test_id("stSidebarContent").evaluate("element => element.scrollTo(0, 0)")
        pictured(page, folder / "filled.png")
        page.context.close()


def _printed(browser: Browser) -> bytes:
    """Some articles of the handbook as a PDF, printed by the browser."""
    words = MarkdownIt("commonmark", {"html": False}).enable("table")
    chapters = [words.render((HANDBOOK / f"{name}.md").read_text("utf-8")) for name in PRINTED]
    style = "body { font: 15px/1.55 'Source Serif', Georgia, serif } h1 { break-before: page }"
    page = opened(browser, LAPTOP)
    page.set_content(f"<style>{style}</style><title>Passages</title>{''.join(chapters)}")
    body = page.pdf(format="A5", margin={"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"})
    page.context.close()
    return body


def opened(browser: Browser, size: tuple[int, int], *, dark: bool = False) -> Page:
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def settled(app: App) -> None:
    """Wait until the run has ended and its charts and table are drawn."""
    app.finished()
    expect(app.page.locator(".st-key-map .scatterlayer").first).to_be_visible()
    expect(app.page.locator(".st-key-curve .scatterlayer").first).to_be_visible()
    expect(app.page.get_by_test_id("data-grid-canvas").first).to_be_visible()


def pictured(page: Page, path: Path) -> None:
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(400)  # the last frame of charts and table
    page.screenshot(path=path)
    with Image.open(path) as picture:
        picture.convert("RGB").save(path, optimize=True)
    print(
        f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}  {path.stat().st_size / 1000:.0f} kB"
    )


if __name__ == "__main__":
    main()
