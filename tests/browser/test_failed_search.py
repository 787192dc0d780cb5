"""A search that fails, and what its buttons do: they lead to another run, or say why there is none."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.conftest import visiting
from tests.browser.page_objects import QUESTION
from tests.browser.server import serving
from tests.services.process import closed_port


def test_asking_again_elsewhere_shows_the_new_run_or_why_there_is_none(
    chromium: Browser, tmp_path: Path
) -> None:
    search = f"http://127.0.0.1:{closed_port()}"
    with (
        serving(tmp_path, SEARXNG_URL=search, OPENQUERY_RUNS_PER_HOUR="2") as site,
        visiting(chromium, site) as app,
        visiting(chromium, site) as other,
    ):
        app.open()
        app.field("question").fill(QUESTION)
        app.go.click()
        again = app.button("ask_with_demo")
        expect(again).to_have_text("Ask again with demo library")
        failed = app.shown_run()
        again.click()
        app.finished()
        expect(app.keyed("answer_head")).to_contain_text("Demo library")
        assert app.shown_run() != failed
        expect(app.keyed("other_backends")).to_have_count(0)

        other.open(f"/?run={failed}")
        other.button("ask_with_demo").click()
        expect(other.page.get_by_text("You have asked 2 questions within an hour")).to_be_visible()
        assert other.shown_run() == failed
