"""Names under which the pages are served: a web page under a name that leads to this machine reads nothing of it."""

import socket
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from core.run.events import Record
from tests.browser.conftest import CHROMIUM, FLAGS, visiting
from tests.browser.server import Site, serving
from tests.seeding import store_copy

NAMED, FOREIGN = "openquery.test", "evil.test"


@pytest.fixture(scope="module", params=["server.py", "app.py"])
def named_site(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    demo_records: tuple[Record, ...],
) -> Iterator[Site]:
    """The product with a stored run and a public name, started in both ways."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "data").mkdir()
    store_copy(folder, demo_records)
    with serving(folder, request.param, OPENQUERY_HOSTS=f"{NAMED}, 192.0.2.7") as site:
        yield site


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


def test_a_page_whose_name_leads_here_reads_nothing(mapped: Browser, named_site: Site) -> None:
    foreign = named_site.url.replace("127.0.0.1", FOREIGN)
    with visiting(mapped, named_site) as visitor:
        visitor.open("/runs")
        expect(visitor.page.get_by_test_id("stDataFrame")).to_be_visible()
    page = mapped.new_page()
    reply = page.goto(f"{foreign}/runs")
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


def test_the_name_that_the_operator_gave_is_served(mapped: Browser, named_site: Site) -> None:
    page = mapped.new_page()
    page.goto(f"{named_site.url.replace('127.0.0.1', NAMED)}/runs")
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    page.goto(f"{named_site.url.replace('127.0.0.1', NAMED)}/system")
    expect(page.get_by_text(f"loopback names, and {NAMED},192.0.2.7")).to_be_visible()
    page.close()


def test_the_host_header_counts_where_a_request_names_its_address_in_full(named_site: Site) -> None:
    target = f"http://{FOREIGN}/_stcore/health"
    assert status(named_site, target, f"Host: {FOREIGN}") == 421
    assert status(named_site, target, f"Host: {NAMED}", f"Origin: http://{FOREIGN}") == 403
