"""How the product is served: headers, and both ways to start it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from core.run.events import Record
from server import PAGES
from tests.browser.conftest import visiting
from tests.browser.page_objects import App
from tests.browser.server import Site, headers, serving
from tests.seeding import store_copy


@pytest.mark.parametrize("path", ["/", "/runs", "/_stcore/health", "/app/static/inter-latin.woff2"])
def test_every_reply_carries_the_policy(demo_site: Site, path: str) -> None:
    sent = {name.lower(): value for name, value in headers(demo_site.url + path).items()}
    policy = sent["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "'unsafe-eval'" not in policy.replace("'wasm-unsafe-eval'", "")
    assert sent["x-content-type-options"] == "nosniff"
    assert sent["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/", *(f"/{name}" for name in PAGES if name not in ("research", "sign-out"))]
)
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
