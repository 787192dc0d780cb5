"""How the product is served: both ways to start it, and the names under which the pages are served.

A web page under a name that leads to this machine reads nothing of it.
"""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route, expect

from core.run.events import Record
from tests.browser.conftest import CHROMIUM, FLAGS, NewFolder, visiting
from tests.browser.page_objects import App
from tests.browser.server import ROOT, Site, headers, serving
from tests.seeding import store_copy

NAMED, FOREIGN = "openquery.test", "evil.test"
NAMES = sorted({path.stem for path in (ROOT / "pages").glob("*.py")} - {"research"})


@pytest.mark.thorough
def test_no_deep_link_reports_an_error_in_the_console(app: App, demo_records: tuple[Record, ...]) -> None:
    """Every script is loaded then, since an error of its syntax would be one of the console."""
    run = store_copy(app.site.folder, demo_records)
    for path in ("/", *(f"/{name}" for name in NAMES)):
        app.open(f"{path}?run={run}")
        # The page of the whole history has a link in place of the drawer's button.
        expect(
            app.page.get_by_role("link" if path == "/runs" else "button", name="History", exact=True)
        ).to_be_visible()
        assert urlsplit(app.page.url).path == path
        assert app.faults == []
    scripts = {path.stem for path in (ROOT / "static" / "scripts").glob("*.js")}
    assert set(app.page.evaluate("Object.keys(window.openquery)")) == scripts - {"accessibility", "sidebar"}


@pytest.fixture(scope="module")
def slow_site(new_folder: NewFolder, demo_records: tuple[Record, ...]) -> Iterator[Site]:
    """The product started by its script, with a stored run, a public name and a slow navigation."""
    folder = new_folder("slow")
    store_copy(folder, demo_records)
    (folder / "sitecustomize.py").write_text(
        "import time, streamlit\n"
        "navigation = streamlit.navigation\n"
        "streamlit.navigation = lambda *pages, **options: (time.sleep(1), navigation(*pages, **options))[1]\n"
    )
    with serving(folder, "app.py", PYTHONPATH=str(folder), OPENQUERY_HOSTS=f"{NAMED}, 192.0.2.7") as site:
        yield site


@pytest.mark.thorough
def test_script_serves_a_deep_link_and_the_api(chromium: Browser, slow_site: Site) -> None:
    """On a phone, which reports its width as soon as it can and so asks for the page once more."""
    with visiting(chromium, slow_site) as visitor:
        visitor.page.set_viewport_size({"width": 390, "height": 844})
        visitor.open("/handbook?article=bm25")
        expect(visitor.page.get_by_role("heading", name="BM25", exact=True)).to_be_visible()
        assert urlsplit(visitor.page.url).path == "/handbook"
        assert "default-src 'self'" in headers(f"{slow_site.url}/")["content-security-policy"]
        assert headers(f"{slow_site.url}/api/v1/models")["content-type"] == "application/json"
        assert headers(f"{slow_site.url}/api")["content-type"] == "application/json", "its document"


@pytest.mark.thorough
def test_a_page_has_its_styles_before_anything_is_drawn(chromium: Browser, demo_site: Site) -> None:
    """The styles are slow, and nothing is on the page until they are there."""
    with visiting(chromium, demo_site) as visitor:
        held: list[Route] = []
        visitor.page.route("**/styles/theme.css*", lambda route: held.append(route))  # noqa: PLW0108
        with visitor.page.expect_response("**/static/js/index.*.js"):  # what draws the page
            visitor.page.goto(f"{demo_site.url}/no-such-page", wait_until="commit")
        expect(visitor.page.locator("#root")).to_be_attached()
        expect(visitor.page.locator("#root > *")).to_have_count(0)
        held[0].continue_()
        expect(visitor.page.get_by_test_id("stMain")).to_be_visible()
        assert visitor.page.evaluate(
            "getComputedStyle(document.querySelector('[data-testid=stApp]')).getPropertyValue('--ink')"
        )
        visitor.faults = [fault for fault in visitor.faults if "does not seem to exist" not in fault]


@pytest.fixture(scope="module")
def mapped(chromium: Browser) -> Iterator[Browser]:
    """A browser in which both names lead to this machine, as the name server of `evil.test` may say."""
    rules = ", ".join(f"MAP {name} 127.0.0.1" for name in (NAMED, FOREIGN))
    browser = chromium.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, f"--host-resolver-rules={rules}"]
    )
    yield browser
    browser.close()


def status(site: Site, path: str, *headers: str) -> int:
    """The status that a request with exactly these headers gets."""
    lines = (f"GET {path} HTTP/1.1", *headers, "", "")
    with socket.create_connection(("127.0.0.1", int(site.url.rpartition(":")[2])), 20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.makefile("rb").readline().split()[1])


@pytest.fixture(params=["server.py", "app.py"])
def either_site(request: pytest.FixtureRequest, demo_site: Site, slow_site: Site) -> Site:
    """The product without and with a public name, started in both ways."""
    return demo_site if request.param == "server.py" else slow_site


def test_a_page_whose_name_leads_here_reads_nothing(mapped: Browser, either_site: Site) -> None:
    page = mapped.new_page()
    reply = page.goto(f"{either_site.url.replace('127.0.0.1', FOREIGN)}/runs")
    assert reply is not None
    assert reply.status == 421
    assert "OPENQUERY_HOSTS" in page.locator("body").inner_text()
    # What a page of that name can do itself, had it come from elsewhere:
    told = page.evaluate(
        """async () => {
            const socket = new WebSocket(`ws://${location.host}/_stcore/stream`);
            const opened = await new Promise((done) => {
                socket.onopen = () => done(true);
                socket.onerror = () => done(false);
            });
            const read = await fetch("/_stcore/metrics");
            return [opened, read.status];
        }"""
    )
    assert told == [False, 421]
    page.close()


@pytest.mark.thorough
def test_the_name_that_the_operator_gave_is_served(mapped: Browser, slow_site: Site) -> None:
    page = mapped.new_page()
    page.goto(f"{slow_site.url.replace('127.0.0.1', NAMED)}/runs")
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    page.goto(f"{slow_site.url.replace('127.0.0.1', NAMED)}/system")
    expect(page.get_by_text(f"loopback names, and {NAMED},192.0.2.7")).to_be_visible()
    page.close()


def test_host_header_counts_for_absolute_request_addresses(slow_site: Site) -> None:
    target = f"http://{FOREIGN}/_stcore/health"
    assert status(slow_site, target, f"Host: {FOREIGN}") == 421
    assert status(slow_site, target, f"Host: {NAMED}", f"Origin: http://{FOREIGN}") == 403
