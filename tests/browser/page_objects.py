"""What tests do with a page of the product, and how its parts are found: selectors stand here."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, Request, expect

from tests.browser.server import Site

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

    def keyed(self, key: str) -> Locator:
        """The part of the page that has this key in the script: Streamlit makes a class of it."""
        return self.page.locator(f".st-key-{key}")

    def button(self, key: str) -> Locator:
        return self.keyed(key).locator("button")

    def field(self, key: str) -> Locator:
        return self.keyed(key).locator("input")

    def own(self, name: str) -> Locator:
        """What our own markup names so."""
        return self.page.locator(f".oq-{name}")

    @property
    def go(self) -> Locator:
        return self.button("go")

    @property
    def stop(self) -> Locator:
        return self.button("stop")

    @property
    def answer(self) -> Locator:
        return self.keyed("answer_body")

    def step(self, phase: str) -> Locator:
        return self.page.locator(f'.oq-step[data-phase="{phase}"]')

    def tab(self, name: str) -> Locator:
        """The tab, once there is one: between two drawings of a page Streamlit shows those of both."""
        found = self.page.get_by_role("tab", name=name)
        expect(found).to_have_count(1)
        return found

    def open_tab(self, name: str) -> None:
        """Choose a tab and wait for its content, which the script sends only for the tab that is open.

        Streamlit tells the browser which tab is open at the end of every script run. Another click before
        the end of that run would be undone.
        """
        self.tab(name).click()
        expect(self.tab(name)).to_have_attribute("aria-selected", "true")
        expect(self.page.get_by_role("tabpanel", name=name)).not_to_be_empty()
        self.at_rest()

    def slider(self, knob: str) -> Locator:
        return self.keyed(f"knob_{knob}").get_by_role("slider")

    def cell(self, row: int, x: int) -> None:
        """Click into the passage table: row 0 is its head, `x` counts from its left edge."""
        grid = self.page.locator(".dvn-scroller").first  # it lies over the canvas, and takes the clicks
        grid.click(position={"x": x, "y": 33 * row + 16})

    # --- what a person does -------------------------------------------------------------------------------

    def click_mark(self, mark: Locator, label: Locator, outcome: Locator) -> None:
        """Point at a mark of a chart and click it, until what the click brings is on the page.

        Plotly draws a chart again when its size is known or what is above it has moved. A pointer that rests,
        and a click that comes in between, are then lost, for a person too.
        """
        self.at_rest()
        ends = time.monotonic() + PATIENCE / 1000
        while not outcome.is_visible():
            assert time.monotonic() < ends, "the chart reported no click on the mark"
            box = mark.bounding_box()
            if box is None:
                continue  # it is being drawn
            self.page.mouse.move(box["x"] - 20, box["y"] - 20)
            self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
            self._drawn()
            if label.is_visible():
                self.page.mouse.down()
                self.page.mouse.up()
                self._drawn()
                self.at_rest()

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
        group = self.keyed("group_search")
        group.locator("summary").click()
        choice = self.keyed("knob_search_backend").get_by_role("radio", name="demo")
        choice.click()
        expect(choice).to_be_checked()

    def ask(self, question: str = QUESTION) -> None:
        """From an empty page: choose the demo library, type, and send with the keyboard."""
        self.open()
        self.use_demo_library()
        box = self.field("question")
        box.fill(question)
        box.press("Control+Enter")

    def finished(self) -> None:
        expect(self.go).to_be_visible()
        expect(self.page.locator(".oq-step.done")).to_have_count(7)
        self.at_rest()
