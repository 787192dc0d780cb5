"""A real browser on a real server. A test fails on console errors, foreign requests and server faults.

Tests share few servers, each with a copied store: a test asks a question or has a file of its own, and filters by it.
"""

import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from core.config.knobs import Knobs
from core.run.events import Record
from core.run.fold import folded_run
from core.run.state import Run
from core.storage.run_store import RunStore
from tests.browser.page_objects import PATIENCE, QUESTION, App
from tests.browser.server import Site, serving
from tests.browser.small_web import SmallWeb, record_small_web
from tests.patience import load
from tests.seeding import record_run, store_copy
from tests.services.openai_server import FakeOpenAI

CHROMIUM = "/usr/bin/chromium-headless-shell"
"""Chromium without the windows around a page, which would cost the tests a third of their CPU."""

FLAGS = [
    "--renderer-process-limit=1",  # for each visitor: see `_new_context`
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--no-enable-lazy-source-positions",  # else stacks, which Playwright asks for, parse functions again
]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Closed with the package: while Playwright is open its event loop runs, and no asyncio test could."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is not installed: apt-get install chromium-headless-shell", pytrace=False)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


NewFolder = Callable[[str], Path]


@pytest.fixture(scope="package")
def new_folder(tmp_path_factory: pytest.TempPathFactory, demo_cache: Path) -> NewFolder:
    """Make the folder of a server, whose cache has the vectors of the demo library."""

    def made(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        (folder / "data").mkdir()
        shutil.copy(demo_cache, folder / "data")
        return folder

    return made


@pytest.fixture(scope="package")
def demo_records(new_folder: NewFolder) -> tuple[Record, ...]:
    """All that happened in a run over the demo library."""
    return record_run(new_folder("records"), QUESTION, Knobs.parse({"search": {"backend": "demo"}}))


@pytest.fixture(scope="package")
def demo_site(new_folder: NewFolder) -> Iterator[Site]:
    """The product on a fresh machine: no key, no search server."""
    with serving(new_folder("demo")) as site:
        yield site


@pytest.fixture(scope="package")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="package")
def model_site(new_folder: NewFolder, model: FakeOpenAI) -> Iterator[Site]:
    """The product with a chat model and an embedder that the test scripts."""
    settings = {
        "OPENQUERY_BASE_URL": model.base_url,
        "OPENQUERY_CHAT_MODEL": "fake-chat",
        "OPENQUERY_EMBEDDING_MODEL": "fake-embed",
    }
    with serving(new_folder("model"), **settings) as site:
        yield site


_open: list[App] = []
"""Pages of the test that runs now."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test is reported with what its pages showed."""
    report = yield
    if report.failed and call.when == "call":
        report.sections.extend(("page", app.evidence()) for app in _open)
    return report


@contextmanager
def visiting(browser: Browser, site: Site, allowed: str = "", read_log: bool = True) -> Iterator[App]:
    """A page of its own for a test, which tells what was on it when the test fails.

    `allowed` is the beginning of addresses outside the site that the page may ask; with
    `read_log` a fault in the server's log fails the test.
    """
    # A visitor who left has emptied the context, but for its caches: Chromium takes longer to load and compile
    # Streamlit's scripts than many a test takes after it.
    context = next((left for left in browser.contexts if len(left.pages) == 1), None) or _new_context(
        browser, site
    )
    # Below the timeout of a test, so that it fails with the evidence of its page.
    patience = min(PATIENCE * load(), 4 * PATIENCE)
    context.set_default_timeout(patience)
    expect.set_options(timeout=patience)
    app = App(context.new_page(), site)
    app.watch(allowed)
    told = site.log.stat().st_size
    _open.append(app)
    try:
        yield app
        assert app.faults == []
        assert app.dialogs == []
        assert not read_log or site.trouble(told) == ""
    finally:
        _open.remove(app)
        _leave(app)


def _new_context(browser: Browser, site: Site) -> BrowserContext:
    """Return a context with one page that stays, and keeps its process with the scripts that it has compiled.

    With it a page costs 3.6 CPU seconds to load, and 5.5 in a process of its own.
    """
    context = browser.new_context(viewport={"width": 1500, "height": 1000}, reduced_motion="reduce")
    context.new_page().goto(f"{site.url}/_stcore/health")
    return context


def _leave(app: App) -> None:
    """Close the pages of a visitor, and delete what the browser keeps for the site except its caches."""
    context = app.page.context
    if app.page.is_closed():
        context.close()
        return
    storage = {"origin": app.site.url, "storageTypes": "cookies,local_storage,indexeddb,cache_storage"}
    context.new_cdp_session(app.page).send("Storage.clearDataForOrigin", storage)
    context.clear_cookies()
    context.clear_permissions()
    for page in context.pages[1:]:
        page.close()


@pytest.fixture
def app(chromium: Browser, demo_site: Site) -> Iterator[App]:
    with visiting(chromium, demo_site) as visitor:
        yield visitor


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., App]]:
    """Open pages of visitors who share nothing. Takes the arguments of `visiting` after the browser."""
    with ExitStack() as visitors:
        yield lambda *args: visitors.enter_context(visiting(chromium, *args))


@pytest.fixture
def answered(app: App, demo_records: tuple[Record, ...]) -> App:
    """The Ask page on a finished run over the demo library, which belongs to the test."""
    app.open(f"/?run={store_copy(app.site.folder, demo_records)}")
    app.finished()
    return app


@pytest.fixture
def model_app(chromium: Browser, model_site: Site, model: FakeOpenAI) -> Iterator[App]:
    model.chats.clear()
    model.embeddings.clear()
    with visiting(chromium, model_site) as visitor:
        yield visitor


# --- a finished run, for the pages that look at one -------------------------------------------------------


@dataclass(frozen=True)
class WebRun:
    """A run over the small web that has ended, and who served it."""

    site: Site
    web: SmallWeb
    model: FakeOpenAI
    run: str
    records: tuple[Record, ...]
    """All that happened in it."""

    def copy(self) -> str:
        """The same run under another id: one that a test may change."""
        return store_copy(self.site.folder, self.records)

    def stored(self) -> Run | None:
        """The run as the server's store has it now."""
        store = RunStore(self.site.folder / "data" / "runs.sqlite")
        try:
            return store.load(self.run)
        finally:
            store.close()


@pytest.fixture(scope="package")
def web_run(new_folder: NewFolder) -> Iterator[WebRun]:
    with SmallWeb() as web, FakeOpenAI() as author:
        folder = new_folder("web_run")
        records = record_small_web(folder, web, author)
        run = folded_run(records)
        settings = {
            "SEARXNG_URL": web.url,
            "OPENQUERY_ALLOW": f"127.0.0.1:{web.port}",
            "OPENQUERY_BASE_URL": author.base_url,
            "OPENQUERY_CHAT_MODEL": "fake-chat",
        }
        with serving(folder, **settings) as site:
            yield WebRun(site, web, author, run.id, records)


@pytest.fixture
def web_app(chromium: Browser, web_run: WebRun) -> Iterator[App]:
    web_run.model.chats.clear()
    with visiting(chromium, web_run.site) as visitor:
        yield visitor
