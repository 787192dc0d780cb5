"""A real browser on a real server. A test fails on console errors, foreign requests and server faults."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect, sync_playwright

from core.events import Record
from core.knobs import Knobs
from core.run import Run
from tests.browser.seeding import keep_copy, told
from tests.browser.server import Site, serving
from tests.browser.small_web import ANSWER, QUERIES, SmallWeb
from tests.browser.small_web import QUESTION as MILL_QUESTION
from tests.services.openai_server import FakeOpenAI, streamed

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 60_000
"""Milliseconds: these machines are busy."""
QUESTION = "How does chunk overlap affect retrieval?"

# On a page below the root, Streamlit's client first asks whether the app lives there.
_GUESSED_BASE = re.compile(r"/(runs|handbook|system|explain|compare|library)/_stcore/(health|host-config)$")


@dataclass
class App:
    """The Research page with what a person does on it, and everything that went wrong meanwhile."""

    page: Page
    site: Site
    faults: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def watch(self) -> None:
        host = urlsplit(self.site.url).netloc

        def sent(request: Request) -> None:
            address = urlsplit(request.url)
            if address.scheme in ("http", "https", "ws", "wss") and address.netloc != host:
                self.faults.append(f"request left loopback: {request.url}")

        self.page.on("request", sent)
        self.page.on("pageerror", lambda error: self.faults.append(f"script error: {error}"))
        self.page.on(
            "console",
            lambda message: (
                self.faults.append(f"console: {message.text} ({message.location['url']})")
                if message.type == "error" and not _GUESSED_BASE.search(message.location["url"])
                else None
            ),
        )

        def told(dialog: object) -> None:
            self.dialogs.append(str(dialog))
            dialog.dismiss()  # type: ignore[attr-defined]

        self.page.on("dialog", told)

    # --- what is on the page ------------------------------------------------------------------------------

    @property
    def go(self) -> Locator:
        return self.page.locator(".st-key-go button")

    @property
    def stop(self) -> Locator:
        return self.page.locator(".st-key-stop button")

    @property
    def answer(self) -> Locator:
        return self.page.locator(".st-key-answer_body")

    def step(self, phase: str) -> Locator:
        return self.page.locator(f'.oq-step[data-phase="{phase}"]')

    def tab(self, name: str) -> Locator:
        """The tab, once there is one: between two drawings of a page Streamlit shows those of both."""
        found = self.page.get_by_role("tab", name=name)
        expect(found).to_have_count(1)
        return found

    def slider(self, knob: str) -> Locator:
        return self.page.locator(f".st-key-knob_{knob}").get_by_role("slider")

    def cell(self, row: int, x: int) -> None:
        """Click into the passage table: row 0 is its head, `x` counts from its left edge."""
        grid = self.page.locator(".dvn-scroller").first  # it lies over the canvas, and takes the clicks
        grid.click(position={"x": x, "y": 33 * row + 16})

    # --- what a person does -------------------------------------------------------------------------------

    def point_at(self, mark: Locator, label: Locator) -> None:
        """Move the pointer onto a mark of a chart, until the chart tells of it.

        A chart that is drawn anew, or moved by what is drawn above it, tells nothing of a pointer that rests.
        """
        ends = time.monotonic() + PATIENCE / 1000
        while not label.is_visible():
            assert time.monotonic() < ends, "the chart told of no mark below the pointer"
            box = mark.bounding_box()
            if box is None:
                continue  # it is being drawn anew
            self.page.mouse.move(box["x"] - 20, box["y"] - 20)
            self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
            self._drawn()

    def _drawn(self) -> None:
        """Wait until the browser has shown what it has to show: Plotly tells of a mark in a frame to come."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def open(self, path: str = "/") -> None:
        self.page.goto(self.site.url + path)
        self.at_rest()

    def at_rest(self) -> None:
        """Wait until the script has drawn the page to its end."""
        expect(self.page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")

    def use_demo_library(self) -> None:
        group = self.page.locator(".st-key-group_search")
        group.locator("summary").click()
        choice = self.page.locator(".st-key-knob_search_backend").get_by_role("radio", name="demo")
        choice.click()
        expect(choice).to_be_checked()

    def ask(self, question: str = QUESTION) -> None:
        """From an empty page: choose the demo library, type, and send with the keyboard."""
        self.open()
        self.use_demo_library()
        box = self.page.locator(".st-key-question input")
        box.fill(question)
        box.press("Control+Enter")

    def finished(self) -> None:
        expect(self.go).to_be_visible()
        expect(self.page.locator(".oq-step.done")).to_have_count(7)
        self.at_rest()


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Closed with the package: while Playwright is open its event loop runs, and no asyncio test could."""
    if not Path(CHROMIUM).exists():
        pytest.skip("no Chromium on this machine")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def demo_story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, ...]:
    """All that happened in a run over the demo library."""
    return told(tmp_path_factory.mktemp("story"), QUESTION, Knobs.parse({"search": {"backend": "demo"}}))


@pytest.fixture(scope="package")
def demo_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The product on a fresh machine: no key, no search server."""
    with serving(tmp_path_factory.mktemp("demo")) as site:
        yield site


@pytest.fixture(scope="package")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="package")
def model_site(tmp_path_factory: pytest.TempPathFactory, model: FakeOpenAI) -> Iterator[Site]:
    """The product with a chat model that the test scripts."""
    settings = {"OPENQUERY_BASE_URL": model.base_url, "OPENQUERY_CHAT_MODEL": "fake-chat"}
    with serving(tmp_path_factory.mktemp("model"), **settings) as site:
        yield site


@contextmanager
def visiting(browser: Browser, site: Site) -> Iterator[App]:
    context = browser.new_context(viewport={"width": 1500, "height": 1000}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    app = App(context.new_page(), site)
    app.watch()
    told = site.log.stat().st_size
    try:
        yield app
        assert app.faults == []
        assert app.dialogs == []
        assert site.trouble(told) == ""
    finally:
        context.close()


@pytest.fixture
def app(chromium: Browser, demo_site: Site) -> Iterator[App]:
    with visiting(chromium, demo_site) as visitor:
        yield visitor


@pytest.fixture
def answered(app: App, demo_story: tuple[Record, ...]) -> App:
    """The Research page on a finished run over the demo library, which belongs to the test."""
    app.open(f"/?run={keep_copy(app.site.folder, demo_story)}")
    app.finished()
    return app


@pytest.fixture
def model_app(chromium: Browser, model_site: Site, model: FakeOpenAI) -> Iterator[App]:
    model.chats.clear()
    with visiting(chromium, model_site) as visitor:
        yield visitor


# --- a finished run, for the pages that look at one -------------------------------------------------------


@dataclass(frozen=True)
class Milled:
    """A run over the small web that has ended, and who served it."""

    site: Site
    web: SmallWeb
    model: FakeOpenAI
    run: str
    story: tuple[Record, ...]
    """All that happened in it."""

    def copy(self) -> str:
        """The same run under another id: one that a test may change."""
        return keep_copy(self.site.folder, self.story)


@pytest.fixture(scope="package")
def milled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Milled]:
    with SmallWeb() as web, FakeOpenAI() as author:
        author.chats.append(streamed(json.dumps(QUERIES)))
        author.chats.append(streamed(ANSWER))
        folder = tmp_path_factory.mktemp("milled")
        story = told(
            folder,
            MILL_QUESTION,
            Knobs(),
            searxng_url=web.url,
            allow=f"127.0.0.1:{web.port}",
            base_url=author.base_url,
            chat_model="fake-chat",
        )
        run = Run.of(story)
        settings = {
            "SEARXNG_URL": web.url,
            "OPENQUERY_ALLOW": f"127.0.0.1:{web.port}",
            "OPENQUERY_BASE_URL": author.base_url,
            "OPENQUERY_CHAT_MODEL": "fake-chat",
        }
        with serving(folder, **settings) as site:
            yield Milled(site, web, author, run.id, story)


@pytest.fixture
def mill(chromium: Browser, milled: Milled) -> Iterator[App]:
    milled.model.chats.clear()
    with visiting(chromium, milled.site) as visitor:
        yield visitor
