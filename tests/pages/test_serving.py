"""Replies of the server around the pages: names it is served under, headers and caching."""

import asyncio
import importlib
import re
import sys
from collections.abc import Iterator, Sequence

import pytest
import streamlit as st
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Message, Scope
from streamlit import config
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime import Runtime, app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.state.safe_session_state import SafeSessionState

from pages.parts import runtime

NAMED, FOREIGN = "openquery.test", "evil.test"
PATHS = (
    "/", "/runs", "/app/static/inter-latin.woff2", "/static/index.html", "/media/none.png", "/component/none/a.js",
    "/_stcore/health", "/_stcore/metrics", "/_stcore/host-config", "/_stcore/stream", "/_stcore/upload_file/a/b",
    "/oauth2callback", "/api", "/api/health", "/api/metrics", "/api/openapi.json", "/nothing",
)  # fmt: skip

PATCHED: tuple[tuple[object, str], ...] = (
    (PagesManager, "uses_pages_directory"),
    (AppSession, "_create_scriptrunner"),
    (ForwardMsgQueue, "clear"),
    (SafeSessionState, "filtered_state"),
    (app_session, "_populate_theme_msg"),
    (config, "get_option"),
    (DeltaGenerator, "__deepcopy__"),
)
"""Parts of Streamlit that importing the server replaces."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of the server with two public names, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENQUERY_DATA", str(tmp_path_factory.mktemp("serving")))
        patch.setenv("OPENQUERY_HOSTS", f"{NAMED}, 192.0.2.7")
        patch.setenv("OLLAMA_HOST", "")
        for owner, name in PATCHED:  # restored at the end, because other tests try Streamlit as it comes
            patch.setattr(owner, name, getattr(owner, name))
        patch.delitem(sys.modules, "server", raising=False)
        server = importlib.import_module("server")
        server.settings()  # read before each test takes the variables out of the environment
        runtime.close()
        runtime.runs()
        # The product's own lifespan would hide the memory of the process that runs the tests.
        app = st.App(server.ROOT / "app.py", **{**server.SERVING, "lifespan": None})
        with TestClient(app, "http://127.0.0.1", client=("127.0.0.1", 50_000)) as client:
            yield client
        Runtime._instance = None  # for the sessions of later tests
        runtime.close()
        del sys.modules["server"]


def status(client: TestClient, path: str, *headers: tuple[str, str], socket: bool = False) -> int:
    """The status of a request or a WebSocket with exactly these headers."""
    portal = client.portal
    assert portal, "the client is not entered"
    return portal.call(_status, client.app, path, headers, socket)


async def _status(app: ASGIApp, path: str, headers: Sequence[tuple[str, str]], socket: bool) -> int:
    scope: Scope = {
        "type": "websocket" if socket else "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "ws" if socket else "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8501),
        "extensions": {"websocket.http.response": {}},
        **({"subprotocols": []} if socket else {"method": "GET"}),
    }
    if socket:
        told = [{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1000}]
    else:
        told = [{"type": "http.request"}]
    sent: list[Message] = []

    async def receive() -> Message:
        if not told:
            await asyncio.Event().wait()  # until the reply is complete
        return told.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if sent[0]["type"] == "websocket.accept":
        return 101
    answered: int = sent[0]["status"]
    return answered


def _host(*hosts: str) -> list[tuple[str, str]]:
    return [("Host", host) for host in hosts]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("socket", [False, True], ids=["request", "socket"])
def test_nothing_is_served_under_another_name(client: TestClient, path: str, socket: bool) -> None:
    origin = ("Origin", f"http://{FOREIGN}:8501")
    assert status(client, path, *_host(f"{FOREIGN}:8501"), origin, socket=socket) == 421
    forwarded = ("X-Forwarded-Host", "localhost")
    assert status(client, path, *_host(FOREIGN), forwarded, socket=socket) == 421
    assert status(client, path, *_host("127.0.0.1:8501"), origin, socket=socket) == 403


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost.:80", "127.0.0.1:8501", "127.9.9.9", "[::1]:8501", "[::ffff:127.0.0.1]", NAMED, f"{NAMED}.:443", "192.0.2.7"]
)  # fmt: skip
def test_loopback_and_the_named_hosts_are_served(client: TestClient, host: str) -> None:
    assert status(client, "/runs", *_host(host)) == 200
    assert status(client, "/_stcore/stream", *_host(host), ("Origin", f"http://{host}"), socket=True) == 101


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
def test_host_that_is_unknown_or_ambiguous_is_refused(client: TestClient, hosts: Sequence[str]) -> None:
    assert status(client, "/runs", *_host(*hosts)) == 421
    assert status(client, "/_stcore/stream", *_host(*hosts), socket=True) == 421


@pytest.mark.parametrize(
    "origin", ["null", "https://evil.test", f"http://{NAMED}:8502", f"{NAMED}", f"http://{NAMED}@evil.test", "http://"]
)  # fmt: skip
def test_pages_of_other_sites_get_nothing(client: TestClient, origin: str) -> None:
    headers = [*_host(NAMED), ("Origin", origin)]
    for path in ("/runs", "/api/v1/models"):
        assert status(client, path, *headers) == 403
    assert status(client, "/_stcore/stream", *headers, socket=True) == 403


@pytest.mark.parametrize(
    ("origin", "host"), [("https://openquery.test", NAMED), ("https://openquery.test", f"{NAMED}:443"), (f"http://{NAMED}:80", NAMED)]
)  # fmt: skip
def test_a_usual_port_may_be_left_out(client: TestClient, origin: str, host: str) -> None:
    assert status(client, "/runs", *_host(host), ("Origin", origin)) == 200


def test_two_origins_are_no_origin(client: TestClient) -> None:
    origins = [("Origin", f"http://{name}") for name in (NAMED, FOREIGN)]
    assert status(client, "/runs", *_host(NAMED), *origins) == 403


@pytest.mark.parametrize("path", ["/", "/runs", "/_stcore/health", "/app/static/inter-latin.woff2"])
def test_every_reply_carries_the_policy(client: TestClient, path: str) -> None:
    sent = client.get(path).raise_for_status().headers
    policy = sent["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "'unsafe-eval'" not in policy.replace("'wasm-unsafe-eval'", "")
    assert sent["x-content-type-options"] == "nosniff"
    assert sent["referrer-policy"] == "no-referrer"


def test_styles_and_scripts_are_cached_and_a_page_is_not(client: TestClient) -> None:
    page = client.get("/runs", headers={"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"})
    assert (page.status_code, page.headers["cache-control"]) == (200, "no-cache")
    addresses = re.findall(r'(?:src|href)="(app/static/[^"]+)"', page.text)
    assert len(addresses) > 10
    for address in addresses:
        assert "immutable" in client.get(f"/{address}").raise_for_status().headers["cache-control"]
    styles = client.get("/app/static/styles/theme.css").raise_for_status()
    assert "cache-control" not in styles.headers


def test_streamlit_scripts_are_compressed_for_browsers_that_accept_it(client: TestClient) -> None:
    scripts = re.findall(r'(?:src|href)="\./(static/js/[^"]+)"', client.get("/").text)
    assert len(scripts) > 10
    for script in scripts:
        packed = client.get(f"/{script}", headers={"Accept-Encoding": "gzip"}).raise_for_status()
        sent = packed.headers
        assert (sent["content-encoding"], sent["vary"]) == ("gzip", "Accept-Encoding")
        assert "immutable" in sent["cache-control"] and "javascript" in sent["content-type"]
        assert "default-src 'self'" in sent["content-security-policy"]
        plain = client.get(f"/{script}", headers={"Accept-Encoding": "identity"}).raise_for_status()
        assert "content-encoding" not in plain.headers
        assert packed.content == plain.content
