"""How the product is served: headers, and both ways to start it."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route, expect

from core.run.events import Record
from tests.browser.conftest import visiting
from tests.browser.page_objects import App
from tests.browser.server import ROOT, Site, headers, serving
from tests.seeding import store_copy

NAMES = sorted({path.stem for path in (ROOT / "pages").glob("*.py")} - {"research"})


@pytest.mark.parametrize("path", ["/", *(f"/{name}" for name in NAMES)])
def test_no_deep_link_reports_an_error_in_the_console(
    app: App, demo_records: tuple[Record, ...], path: str
) -> None:
    app.open(f"{path}?run={store_copy(app.site.folder, demo_records)}")
    expect(app.page.get_by_role("link", name="History", exact=True)).to_be_visible()
    assert urlsplit(app.page.url).path == path
    assert app.faults == []


def test_the_script_serves_a_deep_link_first_thing_and_the_api(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, "app.py") as site, visiting(chromium, site) as visitor:
        visitor.open("/handbook?article=bm25")
        expect(visitor.page.get_by_role("heading", name="BM25", exact=True)).to_be_visible()
        visitor.open("/")
        expect(visitor.go).to_be_visible()
        assert "default-src 'self'" in headers(f"{site.url}/")["content-security-policy"]
        assert headers(f"{site.url}/api/v1/models")["content-type"] == "application/json"
        assert headers(f"{site.url}/api")["content-type"] == "application/json", "its document"


def test_a_deep_link_opens_its_page_on_a_phone_while_the_server_is_slow(
    chromium: Browser, tmp_path: Path
) -> None:
    """A phone reports its width as soon as it can, which asks for the page once more."""
    (tmp_path / "sitecustomize.py").write_text(
        "import time, streamlit\n"
        "navigation = streamlit.navigation\n"
        "streamlit.navigation = lambda *pages, **options: (time.sleep(1), navigation(*pages, **options))[1]\n"
    )
    with serving(tmp_path, PYTHONPATH=str(tmp_path)) as site, visiting(chromium, site) as visitor:
        visitor.page.set_viewport_size({"width": 390, "height": 844})
        visitor.open("/handbook?article=bm25")
        expect(visitor.page.get_by_role("heading", name="BM25", exact=True)).to_be_visible()
        assert urlsplit(visitor.page.url).path == "/handbook"


@pytest.mark.parametrize("path", ["/", "/runs", "/no-such-page"])
def test_every_page_has_its_styles_before_anything_is_drawn(
    chromium: Browser, demo_site: Site, path: str
) -> None:
    """The styles are slow, and nothing is on the page until they are there."""
    with visiting(chromium, demo_site) as visitor:
        held: list[Route] = []
        visitor.page.route("**/styles/theme.css*", lambda route: held.append(route))  # noqa: PLW0108
        with visitor.page.expect_response("**/static/js/index.*.js"):  # what draws the page
            visitor.page.goto(demo_site.url + path, wait_until="commit")
        expect(visitor.page.locator("#root")).to_be_attached()
        expect(visitor.page.locator("#root > *")).to_have_count(0)
        held[0].continue_()
        expect(visitor.page.get_by_test_id("stMain")).to_be_visible()
        assert visitor.page.evaluate(
            "getComputedStyle(document.querySelector('[data-testid=stApp]')).getPropertyValue('--ink')"
        )
        if path == "/no-such-page":
            visitor.faults = [fault for fault in visitor.faults if "does not seem to exist" not in fault]


def test_every_script_is_loaded_without_an_error(app: App) -> None:
    """An error of its syntax would be one of the console, which fails the test."""
    app.open("/runs")
    scripts = {path.stem for path in (ROOT / "static" / "scripts").glob("*.js")}
    assert set(app.page.evaluate("Object.keys(window.openquery)")) == scripts - {"accessibility"}
