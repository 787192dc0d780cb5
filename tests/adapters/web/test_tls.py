"""TLS and HTTP/2: the certificate is checked against the name, connections are shared, no stream harms another."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import pytest

from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_client import SafeWeb
from core.config.knobs import ReadKnobs
from core.model import SkipReason, Unreadable
from tests.loopback import LoopbackWeb, html, redirect

KNOBS = ReadKnobs(robots=False, max_megabytes=0.5)

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made with openssl")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert, key_and_cert = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=loopback"
    )
    subprocess.run(
        [*command.split(), "-keyout", key, "-out", cert, "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    key_and_cert.write_bytes(key.read_bytes() + cert.read_bytes())
    return key_and_cert


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


async def test_certificate_of_a_known_authority_for_the_name_is_accepted(
    server_tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    async with (
        LoopbackWeb({"/": html("hello")}, tls=server_tls) as web,
        SafeWeb(allowlist=web.allowlist, tls=trusting) as safe,
    ):
        assert b"hello" in (await safe(web.url("/"), KNOBS)).body


async def test_an_unknown_authority_is_refused_by_default(server_tls: ssl.SSLContext) -> None:
    async with (
        LoopbackWeb({"/": html("hello")}, tls=server_tls) as web,
        SafeWeb(allowlist=web.allowlist) as safe,
    ):
        with pytest.raises(Unreadable) as caught:
            await safe(web.url("/"), KNOBS)
    assert caught.value.reason is SkipReason.NETWORK
    assert "certificate" in caught.value.detail
    assert web.requests == []


async def test_a_certificate_for_another_name_is_refused(
    server_tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    async with LoopbackWeb({"/": html("hello")}, tls=server_tls) as web:
        safe = SafeWeb(allowlist=AddressAllowlist.parse(f"localhost:{web.port}"), tls=trusting)
        with pytest.raises(Unreadable) as caught:
            await safe(web.url("/", "localhost"), KNOBS)
        await safe.aclose()
    assert "certificate" in caught.value.detail
    assert web.requests == []


async def test_a_server_without_tls_is_no_secure_connection(trusting: ssl.SSLContext) -> None:
    async with (
        LoopbackWeb({"/": html("hello")}) as web,
        SafeWeb(allowlist=web.allowlist, tls=trusting) as safe,
    ):
        with pytest.raises(Unreadable) as caught:
            await safe(web.url("/").replace("http:", "https:"), ReadKnobs(robots=False, page_timeout=1))
    assert caught.value.reason in (SkipReason.NETWORK, SkipReason.TIMEOUT)


async def test_secure_page_does_not_lead_to_an_insecure_one(
    server_tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    async with LoopbackWeb({"/": html("open")}) as plain, LoopbackWeb({}, tls=server_tls) as secure:
        secure.routes["/"] = redirect(plain.url("/"))
        allowlist = AddressAllowlist.parse(f"{plain.allowlist}, {secure.allowlist}")
        async with SafeWeb(allowlist=allowlist, tls=trusting) as safe:
            with pytest.raises(Unreadable) as caught:
                await safe(secure.url("/"), KNOBS)
    assert caught.value.reason is SkipReason.REDIRECTS
    assert plain.connections == 0


class Http2:
    """A small HTTP/2 server: `/endless` never stops sending, `/later` waits for `go`, all else is a page."""

    def __init__(self) -> None:
        self.connections = 0
        self.paths: list[str] = []
        self.go = asyncio.Event()
        self.waiting = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        state.initiate_connection()
        try:
            while not writer.is_closing():
                writer.write(state.data_to_send())
                await writer.drain()
                data = await reader.read(65536)
                if not data:
                    break
                for event in state.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        path = dict(event.headers)[b":path"].decode()
                        self.paths.append(path)
                        task = asyncio.create_task(self._answer(state, writer, event.stream_id, path))
                        self._tasks.add(task)
                        task.add_done_callback(self._tasks.discard)
        except OSError:
            pass  # the client closed the connection
        finally:
            writer.close()

    async def _answer(
        self, state: h2.connection.H2Connection, writer: asyncio.StreamWriter, stream: int, path: str
    ) -> None:
        if path == "/later":
            self.waiting.set()
            await self.go.wait()
        state.send_headers(stream, [(":status", "200"), ("content-type", "text/html")])
        while path == "/endless" and not writer.is_closing():
            room = min(state.local_flow_control_window(stream), state.max_outbound_frame_size)
            if room:
                state.send_data(stream, b"a" * room)
                writer.write(state.data_to_send())
            await asyncio.sleep(0)
        if not writer.is_closing():
            state.send_data(stream, b"<p>page</p>", end_stream=True)
            writer.write(state.data_to_send())


@pytest.fixture
async def http2(server_tls: ssl.SSLContext) -> AsyncIterator[Http2]:
    server_tls.set_alpn_protocols(["h2"])
    running = Http2()
    server = await asyncio.start_server(running.connected, "127.0.0.1", 0, ssl=server_tls)
    running.port = server.sockets[0].getsockname()[1]
    yield running
    server.close()


@asynccontextmanager
async def client(http2: Http2, tls: ssl.SSLContext) -> AsyncIterator[SafeWeb]:
    async with SafeWeb(allowlist=AddressAllowlist.parse(f"127.0.0.1:{http2.port}"), tls=tls) as safe:
        yield safe


async def test_pages_of_a_host_share_one_http2_connection(http2: Http2, trusting: ssl.SSLContext) -> None:
    async with client(http2, trusting) as safe:
        pages = await asyncio.gather(*(safe(http2.url(f"/{number}"), KNOBS) for number in range(6)))
    assert {page.body for page in pages} == {b"<p>page</p>"}
    assert http2.connections == 1


async def test_endless_stream_is_cut_off_and_its_neighbour_answered(
    http2: Http2, trusting: ssl.SSLContext
) -> None:
    async with client(http2, trusting) as safe:
        await safe(http2.url("/first"), KNOBS)
        neighbour = asyncio.create_task(safe(http2.url("/later"), KNOBS))
        await http2.waiting.wait()
        with pytest.raises(Unreadable) as caught:
            await safe(http2.url("/endless"), KNOBS)
        assert caught.value.reason is SkipReason.TOO_LARGE
        http2.go.set()
        assert (await neighbour).body == b"<p>page</p>"
        assert (await safe(http2.url("/last"), KNOBS)).body == b"<p>page</p>"
    assert http2.paths.count("/later") == 2
    assert http2.connections == 2
