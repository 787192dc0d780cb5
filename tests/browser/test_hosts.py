"""Names under which the pages are served: a web page under a name that leads to this machine reads nothing of it."""

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from core.run.events import Record
from tests.browser.conftest import CHROMIUM, FLAGS, visiting
from tests.browser.server import Site, serving
from tests.seeding import store_copy

NAMED, FOREIGN = "openquery.test", "evil.test"
SOCKET = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: " + "A" * 22 + "==",
)
PATHS = (
    "/", "/runs", "/app/static/inter-latin.woff2", "/static/index.html", "/media/none.png", "/component/none/a.js",
    "/_stcore/health", "/_stcore/metrics", "/_stcore/host-config", "/_stcore/stream", "/_stcore/upload_file/a/b",
    "/oauth2callback", "/api", "/api/health", "/api/metrics", "/api/openapi.json", "/nothing",
)  # fmt: skip


@pytest.fixture(scope="module")
def named_site(tmp_path_factory: pytest.TempPathFactory, demo_records: tuple[Record, ...]) -> Iterator[Site]:
    """The product with a stored run, and with a public name."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "data").mkdir()
    store_copy(folder, demo_records)
    with serving(folder, OPENQUERY_HOSTS=f"{NAMED}, 192.0.2.7") as site:
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


def status(site: Site, path: str, *headers: str, method: str = "GET", version: str = "1.1") -> int:
    """The status that a request with exactly these headers gets."""
    lines = (f"{method} {path} HTTP/{version}", *headers, "", "")
    with socket.create_connection(("127.0.0.1", int(site.url.rpartition(":")[2])), 20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize("script", ["server.py", "app.py"])
def test_a_page_whose_name_leads_here_reads_nothing(
    mapped: Browser, tmp_path: Path, demo_records: tuple[Record, ...], script: str
) -> None:
    (tmp_path / "data").mkdir()
    store_copy(tmp_path, demo_records)
    with serving(tmp_path, script) as site:
        foreign = site.url.replace("127.0.0.1", FOREIGN)
        with visiting(mapped, site) as visitor:
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


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_served_under_another_name(named_site: Site, path: str) -> None:
    for headers in ((), SOCKET):
        assert (
            status(named_site, path, f"Host: {FOREIGN}:8501", f"Origin: http://{FOREIGN}:8501", *headers)
            == 421
        )
        assert status(named_site, path, f"Host: {FOREIGN}", "X-Forwarded-Host: localhost", *headers) == 421
        assert (
            status(named_site, path, "Host: 127.0.0.1:8501", f"Origin: http://{FOREIGN}:8501", *headers)
            == 403
        )


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost.:80", "127.0.0.1:8501", "127.9.9.9", "[::1]:8501", "[::ffff:127.0.0.1]", NAMED, f"{NAMED}.:443", "192.0.2.7"]
)  # fmt: skip
def test_loopback_and_the_named_hosts_are_served(named_site: Site, host: str) -> None:
    assert status(named_site, "/runs", f"Host: {host}", "Connection: close") == 200
    assert status(named_site, "/_stcore/stream", f"Host: {host}", f"Origin: http://{host}", *SOCKET) == 101


@pytest.mark.parametrize(
    "hosts",
    [
        (), ("",), ("192.0.2.8",), ("[2001:db8::1]",), ("0.0.0.0",), ("localhost.evil.test",), ("127.0.0.1.evil.test",),
        ("127.0.0.1@evil.test",), ("2130706433",), ("127.1",), ("[::1",), ("localhost:", ), ("localhost evil.test",),
        ("localhost,evil.test",), ("localhost:80:80",), ("localhost/",), (f"a.{NAMED}",), ("xlocalhost",),
        ("127.0.0.1", FOREIGN), (FOREIGN, "127.0.0.1"), ("127.0.0.1", "127.0.0.1"),
    ],
    ids=", ".join,
)  # fmt: skip
def test_a_host_that_is_neither_or_is_not_clear_is_refused(named_site: Site, hosts: Sequence[str]) -> None:
    headers = [f"Host: {host}" for host in hosts]
    version = "1.1" if hosts else "1.0"  # where a request must have one, the server library refuses it before
    assert status(named_site, "/runs", *headers, version=version) in (400, 421)
    assert status(named_site, "/_stcore/stream", *headers, *SOCKET) in (400, 421)


def test_the_host_header_counts_where_a_request_names_its_address_in_full(named_site: Site) -> None:
    target = f"http://{FOREIGN}/_stcore/health"
    assert status(named_site, target, f"Host: {FOREIGN}") == 421
    assert status(named_site, target, f"Host: {NAMED}", f"Origin: http://{FOREIGN}") == 403


@pytest.mark.parametrize(
    "origin", ["null", "https://evil.test", f"http://{NAMED}:8502", f"{NAMED}", f"http://{NAMED}@evil.test", "http://"]
)  # fmt: skip
def test_pages_of_other_sites_get_nothing(named_site: Site, origin: str) -> None:
    for path in ("/runs", "/api/v1/models"):
        assert status(named_site, path, f"Host: {NAMED}", f"Origin: {origin}") == 403
    assert status(named_site, "/_stcore/stream", f"Host: {NAMED}", f"Origin: {origin}", *SOCKET) == 403


@pytest.mark.parametrize(
    ("origin", "host"), [("https://openquery.test", NAMED), ("https://openquery.test", f"{NAMED}:443"), (f"http://{NAMED}:80", NAMED)]
)  # fmt: skip
def test_a_usual_port_may_be_left_out(named_site: Site, origin: str, host: str) -> None:
    assert status(named_site, "/runs", f"Host: {host}", f"Origin: {origin}") == 200


def test_two_origins_are_no_origin(named_site: Site) -> None:
    headers = (f"Host: {NAMED}", f"Origin: http://{NAMED}", f"Origin: http://{FOREIGN}")
    assert status(named_site, "/runs", *headers) == 403
