"""Losses on the way to an answer are shown on the Ask page, and no phase looks better than it went."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.config.access import NO_ACCESS
from core.features.library.ingests import Upload
from core.runtime.registry import RunRegistry
from pages.parts import document_library, runtime
from tests.pages.conftest import DEMO, PATIENCE, drawn_until, opened, words
from tests.runtime.waiting import finished
from tests.services.loopback import Loopback, Reply, Request, html_reply, json_reply
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

MILLS = b"# Tide mills\n\nTide mills store the flood in a pond behind a gate and grind at ebb."


class FailingWeb(Loopback):
    """A SearXNG that finds `found` pages, each of which is refused with status 503."""

    def __init__(self, found: int) -> None:
        super().__init__(self._reply)
        self.found = found

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


def restarted(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    """Make the pages read these settings."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    runtime.close()


def asked(question: str) -> AppTest:
    """The Ask page once the run of this question has ended."""
    app = opened()
    app.text_input(key="question").set_value(question)
    app.button(key="go").click().run()
    assert not app.exception
    runs = runtime.runs()
    run_id = finished(runs, app.session_state["run_id"]).id
    runs.store.flush()
    app = opened(run=run_id)
    assert not app.exception
    return app


def html(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def flags(app: AppTest) -> str:
    """The losses that are open beside the answer, or nothing."""
    return "".join(element.proto.body for element in app.get("html") if "oq-losses" in element.proto.body)


def step(app: AppTest, phase: str) -> tuple[str, str]:
    """The state of a phase and its count."""
    cell = re.search(
        rf'class="oq-step (\w+)[^"]*" data-phase="{phase}".*?<div class="count">(.*?)</div>', html(app), re.S
    )
    assert cell is not None
    return cell[1], re.sub("<[^>]+>", "", cell[2])


def badges(app: AppTest) -> str:
    """The text of all badges and captions."""
    return " ".join(block.value for block in app.markdown)


def test_pages_that_are_all_refused_are_no_success(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FailingWeb(found=3) as web:
        restarted(monkeypatch, SEARXNG_URL=web.url, OPENQUERY_ALLOW=f"127.0.0.1:{web.port}")
        app = asked("How do tide mills work?")
    assert step(app, "read") == ("partial", "0 of 3")
    assert re.search(r"\d warnings?", badges(app))
    assert "3 of 3 search results were not read" in flags(app)


def test_a_search_without_results_is_the_only_failed_phase(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FailingWeb(found=0) as web:
        restarted(monkeypatch, SEARXNG_URL=web.url, OPENQUERY_ALLOW=f"127.0.0.1:{web.port}")
        app = asked("What of mills that nobody knows?")
    assert step(app, "search")[0] == "failed"
    assert step(app, "embed")[0] == "waiting"
    shown = html(app) + badges(app) + " ".join(block.value for block in (*app.info, *app.error, *app.warning))
    assert "No search found anything." in shown
    assert "before a search had answered" not in shown


def test_failed_web_search_beside_a_collection_is_a_warning(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarted(
        monkeypatch,
        SEARXNG_URL="http://127.0.0.1:9",
        OPENQUERY_ORIGIN="both",
        OPENQUERY_COLLECTIONS="mills",
    )
    adding = document_library.library().ingests.add("mills", [Upload("mills.md", MILLS)], access=NO_ACCESS)
    runtime.runs().call(runtime.runs().call(adding, timeout=PATIENCE).wait(), timeout=PATIENCE)
    app = asked("How do tide mills work?")
    assert "Not searched: web (SearXNG at http://127.0.0.1:9" in flags(app)
    assert "could not connect" in flags(app)
    assert step(app, "search")[0] == "partial"
    assert "1 warning" in badges(app)


def test_rate_limit_during_query_writing_counts_as_query_time(
    model_registry: RunRegistry, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.append(failure(429, retry_after="3"))
    fake_openai.chats += [streamed("chunk overlap\npassage boundaries"), streamed("Facts stay whole [1].")]
    run_id = model_registry.start("How does chunk overlap affect retrieval?", DEMO)
    app = opened(run=run_id)
    assert not app.exception
    drawn_until(app, lambda: "Writing search queries: rate limit of 127.0.0.1" in words(app))
    assert step(app, "embed")[0] == "waiting"
    finished(model_registry, run_id)
    assert re.search(r"waited [34]\.\d s", words(app.run()))
