"""What tests do with a page of the product, and how its parts are found: selectors stand here."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Error, FloatRect, Locator, Page, Request, expect

from pages.parts.explain.views import PARTS, VIEW_OF, VIEWS
from tests.browser.server import Site
from tests.patience import Patience

PATIENCE = 60_000
"""Milliseconds: these machines are busy."""
QUESTION = "How does chunk overlap affect retrieval?"
VIEW_TITLES = {name: title.partition(" ")[2] for name, (title, _) in VIEWS.items()}
"""The titles of the views of Explain, without their symbols."""
EXPLAINED_IN = {part.title: VIEW_TITLES[VIEW_OF[name]] for name, part in PARTS.items()}
"""The title of the view of each part of Explain."""
AT_REST = "app.dataset.testScriptState === 'notRunning'"
UNMOVING = """document.getAnimations().every(
  (animation) => animation.playState !== "running" || animation.effect.getComputedTiming().endTime === Infinity
)"""
"""No part opens, closes or fades; what turns for ever may turn."""


@dataclass
class App:
    """The Ask page with what a person does on it, and everything that went wrong meanwhile."""

    page: Page
    site: Site
    faults: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def watch(self, allowed: str = "") -> None:
        """Note what goes wrong from now on. `allowed` begins addresses outside the site that may be asked."""
        host = urlsplit(self.site.url).netloc

        def sent(request: Request) -> None:
            address = urlsplit(request.url)
            if (
                address.scheme in ("http", "https", "ws", "wss")
                and address.netloc != host
                and not (allowed and request.url.startswith(allowed))
            ):
                self.faults.append(f"request left loopback: {request.url}")

        self.page.on("request", sent)
        self.page.on("pageerror", lambda error: self.faults.append(f"script error: {error}"))
        self.page.on(
            "console",
            lambda message: (
                self.faults.append(f"console: {message.text} ({message.location['url']})")
                if message.type == "error"
                else None
            ),
        )

        def told(dialog: object) -> None:
            self.dialogs.append(str(dialog))
            dialog.dismiss()  # type: ignore[attr-defined]

        self.page.on("dialog", told)

    def evidence(self, milliseconds: float = 5_000) -> str:
        """What is on the page now, what went wrong in it, and the end of the server's log.

        Never raises, for the report of a failed test calls it: a page may be busy, crashed or closed.
        """
        try:
            shown = self.page.locator("body").inner_text(timeout=milliseconds)
        except Error as error:
            shown = f"The page cannot be read: {error.message}"
        try:
            log = self.site.log.read_text("utf-8", "replace")
        except OSError as error:
            log = f"The log cannot be read: {error.strerror}"
        return f"{self.page.url}\n{shown[:6000]}\n\nFaults: {self.faults}\n\nServer:\n{log[-2000:]}"

    # --- what is on the page ------------------------------------------------------------------------------

    def keyed(self, key: str) -> Locator:
        """The part of the page that has this key in the script: Streamlit makes a class of it."""
        return self.page.locator(f".st-key-{key}")

    def button(self, key: str) -> Locator:
        # Streamlit may have a second one for a moment, out of sight.
        return self.keyed(key).locator("button:visible")

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

    def citation(self, number: int) -> Locator:
        """The first citation of this source in the answer."""
        return self.answer.locator(f'a[href="#src-{number}"]').first

    @property
    def preview(self) -> Locator:
        """The preview of a source, which its script puts on the page when it is ready for the pointer."""
        found = self.page.locator("#oq-preview")
        found.wait_for(state="attached")
        return found

    def source_page(self, card: Locator) -> str:
        """The title of the page that the card of a source stands under."""
        page = self.page.locator(".oq-source-page").filter(has=card)
        return page.locator(".head b").inner_text()

    def loss(self, reason: str) -> Locator:
        """The label of a loss in the attrition diagram."""
        return self.page.locator(".oq-attrition .lost a").filter(has_text=reason)

    def loss_band(self, reason: str) -> Locator:
        """The band of a loss in the attrition diagram."""
        return self.page.locator(f'.oq-attrition .band[title^="{reason}"]')

    def places(self, *parts: str) -> dict[str, tuple[int, int]]:
        """Left and upper edge of the parts with these selectors, in pixels of the window, once all are there.

        All are measured at once: what polls is drawn anew between two looks.
        """
        found = self.page.wait_for_function(
            """(parts) => {
              const found = parts.map((part) => [part, document.querySelector(part)]);
              return found.every(([, one]) => one) && Object.fromEntries(found.map(([part, one]) => {
                const { x, y } = one.getBoundingClientRect();
                return [part, [Math.round(x), Math.round(y)]];
              }));
            }""",
            arg=list(parts),
        ).json_value()
        return {part: (found[part][0], found[part][1]) for part in parts}

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

    def explain(self, part: str) -> None:
        """Choose a part of Explain, through its view."""
        view = EXPLAINED_IN[part]
        choices = {"view": view} | ({f"part_of_{view.lower()}": part} if view != part else {})
        for key, name in choices.items():
            choice = self.keyed(key).get_by_role("radio", name=name)
            choice.click()
            expect(choice).to_be_checked()
            self.at_rest()

    def theme(self, name: str) -> None:
        """Have the system ask for this theme, "light" or "dark", and wait until the page has it.

        Charts and the logo keep their colours until the script runs again.
        """
        self.page.emulate_media(color_scheme=name)  # type: ignore[arg-type]
        expect(self.page.get_by_test_id("stApp")).to_have_css("color-scheme", name)
        self.at_rest()

    def open_settings(self) -> None:
        """Open All settings, unless they are open."""
        sidebar = self.page.get_by_test_id("stSidebar")
        sidebar.wait_for(state="attached")
        if sidebar.get_attribute("data-collapsed") != "false":
            self.page.get_by_test_id("stExpandSidebarButton").click()
            expect(sidebar).to_have_attribute("data-collapsed", "false")

    def knob(self, name: str) -> Locator:
        """The control of a knob in the settings, which are opened."""
        self.open_settings()
        return self.keyed(f"knob_{name}")

    def slider(self, knob: str) -> Locator:
        return self.knob(knob).get_by_role("slider")

    @property
    def copy_link(self) -> Locator:
        self.open_settings()
        return self.keyed("tuned_link").get_by_role("button", name=re.compile("link"))

    def shown_run(self) -> str:
        """The id of the run in the address."""
        return parse_qs(urlsplit(self.page.url).query)["run"][0]

    def more_formats(self) -> None:
        """Open the list of the less usual file formats in the menu Export, which is open."""
        self.at_rest()
        self.page.get_by_text("More formats").click()
        self.at_rest()

    def listed(self, question: str) -> Locator:
        """The lines of the History with this question, of those that fit on the screen."""
        return self.keyed("history_table").locator("tbody tr").filter(has_text=question)

    def select_run(self, row: int) -> None:
        """Tick a line of the History: row 0 is the newest.

        The actions above the table change with what is ticked, and move it: the next click waits for them.
        """
        actions = self.keyed("history_actions")
        before = actions.inner_text()
        marked = self.checked("history_table")
        ticked = marked.count()
        patience = Patience(60)
        while marked.count() == ticked:  # on a busy machine the table may not have seen the pointer yet
            assert patience.lasts(), "the table takes no click"
            self._click_in_history(16, row)
            with suppress(AssertionError):
                expect(marked).not_to_have_count(ticked, timeout=3_000)
        expect(actions).not_to_have_text(before, use_inner_text=True)
        self.at_rest()

    def history_row(self, row: int) -> None:
        """Click on the text of a line of the History: row 0 is the newest."""
        self._click_in_history(160, row)

    def _click_in_history(self, x: int, row: int) -> None:
        """Click `x` pixels from the left edge of a row. A table takes clicks only where it has seen the pointer."""
        grid = self.keyed("history_table").locator(".dvn-scroller")
        grid.hover(position={"x": x, "y": 33 * (row + 1) + 16})
        self.drawn()
        grid.click(position={"x": x, "y": 33 * (row + 1) + 16})

    def cell(self, row: int, x: int) -> None:
        """Click into the page's first table: row 0 is its head, `x` counts from its left edge.

        A table takes clicks on cells only once it has seen the pointer move into it.
        """
        grid = self.page.locator(".dvn-scroller").first  # it lies over the canvas, and takes the clicks
        grid.hover(position={"x": x, "y": 33 * row + 16})
        self.drawn()
        grid.click(position={"x": x, "y": 33 * row + 16})

    def checked(self, table: str) -> Locator:
        """The rows of a table that are checked, of those that are in view."""
        return self.keyed(table).locator('tbody tr[aria-selected="true"]')

    # --- what a person does -------------------------------------------------------------------------------

    def click_mark(self, mark: Locator, label: Locator, outcome: Locator) -> None:
        """Point at a mark of a chart and click it, until what the click brings is on the page.

        Plotly draws a chart again when its size is known or what is above it has moved. A pointer that rests,
        and a click that comes in between, are then lost, for a person too.
        """
        self.at_rest()
        patience = Patience(PATIENCE / 1000)
        while not outcome.is_visible():
            assert patience.lasts(), "the chart reported no click on the mark"
            box = self.place(mark)
            self.page.mouse.move(box["x"] - 20, box["y"] - 20)
            self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
            self.drawn()
            if label.is_visible():
                self.page.mouse.down()
                self.page.mouse.up()
                self.drawn()
                self.at_rest()

    def place(self, part: Locator) -> FloatRect:
        """Return the place and the size of an element, which a redraw may be replacing."""
        expect(part).to_be_visible()
        patience = Patience(PATIENCE / 1000)
        while (box := part.bounding_box()) is None:
            assert patience.lasts(), "the element is not shown"
        return box

    def drawn(self) -> None:
        """Wait until the browser has shown what it has to show: Plotly tells of a mark in a frame to come."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def number_field(self, knob: str) -> Locator:
        self.open_settings()
        return self.number(knob).get_by_role("textbox")

    def number(self, knob: str) -> Locator:
        """The slider and the field of a knob in the sidebar, with the note on a typed number."""
        return self.page.locator(
            f'[data-testid="stVerticalBlock"]:has(> [class*="st-key-typed_"][class*="knob_{knob}_"])'
        )

    @property
    def changed_settings(self) -> Locator:
        return self.page.locator('[data-testid="stVerticalBlock"]:has(> .st-key-reset)')

    def type_number(self, knob: str, text: str) -> None:
        """Type into the field of a slider."""
        field = self.number_field(knob)
        field.fill(text)
        field.press("Enter")

    def back(self) -> None:
        """The browser's Back, and wait for what it shows."""
        self.page.evaluate("history.back()")
        self.at_rest()

    def forward(self) -> None:
        self.page.evaluate("history.forward()")
        self.at_rest()

    def open(self, path: str = "/") -> None:
        self.page.goto(self.site.url + path)
        self.until(
            AT_REST,
            "getComputedStyle(app).getPropertyValue('--ink')",  # it has its style
            "document.querySelector('#oq-announcements')",  # and the script that watches it
            "!document.querySelector('[data-testid=stSkeleton]')",  # and the code of all its parts
        )

    def at_rest(self) -> None:
        """Wait until the script has drawn the page to its end, and nothing on it moves.

        A click is lost when what it presses has moved on before it lets go.
        """
        self.until(AT_REST, UNMOVING)

    def until(self, *conditions: str) -> None:
        """Wait until all these expressions of JavaScript are true in one frame; `app` is the drawn page.

        `expect` asks again after up to a second, and describes the whole page to itself each time.
        """
        self.page.wait_for_function(
            f"""() => {{
              const app = document.querySelector("[data-testid=stApp]");
              return app && [{", ".join(f"() => {condition}" for condition in conditions)}].every(is => is());
            }}"""
        )

    def use_demo_library(self) -> None:
        self.open_settings()
        group = self.keyed("group_search")
        group.locator("summary").click()
        self.at_rest()
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

    def search_in(self, scope: str) -> None:
        """Choose what the next question searches, such as "My documents"."""
        self.keyed("places").get_by_role("combobox").click()
        self.page.get_by_role("option", name=scope).click()

    def finished_turn(self) -> None:
        """Wait for the end of a turn, which may have skipped phases."""
        self.until(
            "document.querySelector('.st-key-follow_up_line')?.checkVisibility()",
            "document.querySelector('.st-key-go button')?.checkVisibility()",
            AT_REST,
        )

    def finished(self) -> None:
        self.until(
            "document.querySelector('.st-key-go button')?.checkVisibility()",
            "document.querySelectorAll('.oq-step:is(.done, .partial)').length === 7",
            # What keeps the browser's history is loaded after the page is drawn.
            "document.documentElement.dataset.shownRun",
            AT_REST,
        )
