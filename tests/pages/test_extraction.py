"""The extraction view of a page, and what was kept of it by hand."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.model import Extractor
from core.run.state import Run
from pages.parts import runtime
from pages.parts.explain.extraction_view import PAGE, SOURCE, VISIBLE
from pages.parts.explain.left_out_text import MISSING
from tests.browser.small_web import BOILERPLATE
from tests.pages.conftest import drawn_until, opened, words
from tests.pages.test_pages import html

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("web_pages")]

LEFT_OUT = "All newsletters of the archive"


def records_page(run: Run) -> AppTest:
    """Open the view on the page with a navigation."""
    return on_page(run, next(key for key, page in run.pages.items() if page.title.startswith("Records")))


def on_page(run: Run, key: str) -> AppTest:
    app = opened("explain", run=run.id, view="extraction")
    app.query_params["page"] = key
    app.run()
    assert not app.exception
    assert app.selectbox(key=PAGE).value == key
    return app


def switch_label(app: AppTest) -> str:
    labels = [button.label for button in app.button if button.key == "extraction_switch"]
    return labels[0] if labels else ""


def left_out(app: AppTest) -> list[str]:
    return re.findall("<del.*?</del>", html(app), re.DOTALL)


def test_a_page_is_ranked_by_another_extractor(web_run: Run) -> None:
    app = records_page(web_run)
    assert app.button_group(key="extraction_as").value == SOURCE
    assert BOILERPLATE.replace("<", "&lt;").replace(">", "&gt;") in html(app)
    assert "<nav>" not in html(app)
    assert LEFT_OUT in left_out(app)[0]
    app.text_input(key=MISSING).set_value(LEFT_OUT).run()
    assert "It is in navigation, a header, a footer" in app.info[0].value
    assert switch_label(app) == "In use" and app.button(key="extraction_switch").disabled
    app.button_group(key="extraction_as").set_value(VISIBLE).run()
    assert 'class="oq-text visible"' in html(app)
    app.button_group(key="extraction_by").set_value(Extractor.VISIBLE).run()
    assert not left_out(app)
    app.button(key="extraction_switch").click().run()
    drawn_until(app, lambda: switch_label(app) == "In use")
    assert switch_label(records_page(web_run)) == f"Rank with {Extractor.ACCURATE}"


def test_removed_text_is_kept_until_removed_again(web_run: Run) -> None:
    app = records_page(web_run)
    app.text_input(key=MISSING).set_value(LEFT_OUT).run()
    app.button(key="extraction_keep").click().run()
    drawn_until(app, lambda: "Kept by hand: “All newsletters" in words(app))
    assert not any(LEFT_OUT in one for one in left_out(app))
    assert app.text_input(key=MISSING).value == ""
    runtime.runs().store.flush()
    assert "1 block kept by hand on “Records of early mills”." in words(opened(run=web_run.id))
    app.button(key="extraction_leave_out_0").click().run()
    drawn_until(app, lambda: any(LEFT_OUT in one for one in left_out(app)))
    assert "Kept by hand" not in words(app)


def test_skipped_page_is_offered_and_says_why_it_is_empty(web_run: Run) -> None:
    app = on_page(web_run, next(iter(web_run.skips)))
    assert "This page is not cached" in words(app)
    app.button(key="extraction_fetch_again").click().run()
    assert not app.exception
    assert "The page could not be fetched:" in words(app)
    assert app.button(key="extraction_fetch_again")
