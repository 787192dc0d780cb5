"""What was lost on the way to an answer is open on the Research page, and no phase looks better than it went."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import WebRun, visiting
from tests.browser.page_objects import App
from tests.browser.server import serving
from tests.services.command_line import environment
from tests.services.loopback import Loopback, Reply, Request, html_reply, json_reply
from tests.services.openai_server import FakeOpenAI, failure, streamed

BELOW_20_SECONDS = re.compile(r"retrying in 1?\d s")


class FailingWeb(Loopback):
    """A SearXNG that finds `found` pages, each of which is refused with status 503."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.found = 3

    async def _reply(self, request: Request) -> Reply:
        if request.path == "/search":
            rows = [
                {
                    "url": f"{self.url}/page/{number}",
                    "title": f"Page {number}",
                    "content": f"{number} tide mills.",
                }
                for number in range(self.found)
            ]
            return json_reply({"results": rows})
        return html_reply("<p>Busy.</p>", status=503)


@pytest.fixture
def failing_web() -> Iterator[FailingWeb]:
    with FailingWeb() as web:
        yield web


def asked(app: App, question: str) -> None:
    app.open()
    box = app.field("question")
    box.fill(question)
    box.press("Control+Enter")
    expect(app.go).to_be_visible()


def test_pages_that_are_all_refused_are_no_success_and_no_result_blames_the_search_alone(
    chromium: Browser, failing_web: FailingWeb, tmp_path: Path
) -> None:
    allowed = f"127.0.0.1:{failing_web.port}"
    settings = {"SEARXNG_URL": failing_web.url, "OPENQUERY_ALLOW": allowed}
    with serving(tmp_path, **settings) as site, visiting(chromium, site) as app:
        asked(app, "How do tide mills work?")
        read = app.step("read")
        expect(read.locator(".count")).to_have_text("0 / 3")
        expect(read).to_have_class(re.compile(r"\bpartial\b"))
        expect(app.keyed("answer_head")).to_contain_text(re.compile(r"\d warnings?"))
        losses = app.own("losses")
        expect(losses).to_be_visible()
        expect(losses).to_contain_text("3 of 3 search results were not read")

        failing_web.found = 0
        asked(app, "What of mills that nobody knows?")
        expect(app.step("search")).to_have_class(re.compile(r"\bfailed\b"))
        expect(app.step("embed")).to_have_class(re.compile(r"\bwaiting\b"))
        expect(app.keyed("results")).to_contain_text("No search found anything.")
        expect(app.page.get_by_test_id("stApp")).not_to_contain_text("before a search had answered")


def test_both_with_the_web_down_opens_a_warning_and_is_no_green_tick(
    chromium: Browser, tmp_path: Path
) -> None:
    note = tmp_path / "mills.md"
    note.write_text("# Tide mills\n\nTide mills store the flood in a pond behind a gate and grind at ebb.")
    ingest = [
        sys.executable,
        "-m",
        "core",
        "ingest",
        "mills",
        str(note),
    ]  # Playwright's loop runs in this process
    subprocess.run(ingest, env=environment(tmp_path / "data"), check=True, capture_output=True)
    settings = {
        "SEARXNG_URL": "http://127.0.0.1:9",
        "OPENQUERY_ORIGIN": "both",
        "OPENQUERY_COLLECTIONS": "mills",
    }
    with serving(tmp_path, **settings) as site, visiting(chromium, site) as app:
        asked(app, "How do tide mills work?")
        losses = app.own("losses")
        expect(losses).to_be_visible()
        expect(losses).to_contain_text("Not searched: web (SearXNG at http://127.0.0.1:9")
        expect(losses).to_contain_text("could not connect")
        expect(app.step("search")).to_have_class(re.compile(r"\bpartial\b"))
        expect(app.keyed("answer_head")).to_contain_text("1 warning")


def test_a_rate_limit_while_queries_are_written_is_time_of_queries(model_app: App, model: FakeOpenAI) -> None:
    model.chats.append(failure(429, retry_after="3"))
    model.chats.extend([streamed("chunk overlap\npassage boundaries"), streamed("Facts stay whole [1].")])
    model_app.ask()
    line = model_app.own("status-line")
    expect(line).to_contain_text("Writing search queries: rate limit of 127.0.0.1")
    expect(model_app.step("embed")).to_have_class(re.compile(r"\bwaiting\b"))
    model_app.finished()
    expect(model_app.step("plan")).to_contain_text(re.compile(r"waited 3\.\d s"))


def test_a_figure_that_no_cited_source_has_is_flagged_at_the_answer(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/?run={web_run.run}")
    facts = web_app.keyed("answer_card").locator(".oq-facts")
    expect(facts.locator(".bad")).to_have_text("1 number not in the cited sources")
    expect(web_app.own("losses")).to_contain_text(
        "4711 is not in the sources it cites: “One mill ground 4711 sacks"
    )
    expect(web_app.keyed("answer_head")).to_contain_text("warning")
    count = facts.locator("span", has_text="citation").first.locator("b").inner_text()
    web_app.open(f"/explain?run={web_run.run}&view=attribution")
    similar = web_app.page.locator(".oq-facts span", has_text="citations similar to their sentence")
    expect(similar).to_contain_text(f"/{count}")


def test_compare_tells_what_an_answer_waits_for(model_app: App, model: FakeOpenAI) -> None:
    model.chats.extend([streamed("chunk overlap\npassage boundaries"), streamed("Facts stay whole [1].")])
    model_app.ask()
    model_app.finished()
    model_app.open(f"/compare?run={model_app.shown_run()}")
    model.chats.extend(failure(429, retry_after="20") for _ in range(2))
    model_app.button("answer_both").click()
    for side in "ab":
        card = model_app.keyed(f"version_card_{side}")
        expect(card).to_contain_text("rate limit of 127.0.0.1")
        expect(card).to_contain_text(BELOW_20_SECONDS)
    model_app.button("stop_both").click()
    expect(model_app.button("answer_both")).to_be_visible()
