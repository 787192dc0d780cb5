"""ddgs whose engines refuse, behind a proxy of the test that reads TLS."""

import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from core.adapters.search.ddgs_search import Ddgs
from core.config.knobs import SearchKnobs
from core.errors import SearchFailed
from core.model import SearchReply

Answer = Callable[[str], tuple[int, str]]
"""The status and the page of an engine, by its host."""
PAGE = (
    "<html><body><div data-type='web'><a href='https://tea.example/'><div class='title'>Tea</div></a>"
    "<div class='snippet'><div class='content'>Tea cools.</div></div></div></body></html>"
)


@pytest.fixture(scope="module")
def server_tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder = tmp_path_factory.mktemp("tls")
    key, chain = folder / "key.pem", folder / "chain.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test "
        f"-keyout {key} -out {chain}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(chain), Path(key))
    return context


class Engines(ThreadingTCPServer):
    """A proxy that plays every web engine."""

    daemon_threads = True
    answer: Answer
    tls: ssl.SSLContext


class Handler(StreamRequestHandler):
    server: Engines

    def handle(self) -> None:
        host = self.rfile.readline().split()[1].decode().rpartition(":")[0]
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            with self.server.tls.wrap_socket(self.request, server_side=True) as connection:
                request = b""
                while b"\r\n\r\n" not in request and (part := connection.recv(65_536)):
                    request += part
                status, page = self.server.answer(host)
                head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(page)}\r\nConnection: close\r\n\r\n"
                connection.sendall(f"{head}{page}".encode())
                connection.unwrap()
        except OSError:
            pass  # the client has what it wants


@pytest.fixture
def engines(server_tls: ssl.SSLContext) -> Iterator[Engines]:
    with Engines(("127.0.0.1", 0), Handler) as server:
        server.tls = server_tls
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def searched(engines: Engines, answer: Answer) -> SearchReply:
    engines.answer = answer
    proxy = f"http://127.0.0.1:{engines.server_address[1]}"
    return await Ddgs(timeout=20, proxy=proxy, verify=False)("hot tea", SearchKnobs())


@pytest.mark.parametrize(
    ("status", "page", "says"),
    [
        (429, "", "brave refused (429, too many requests)"),
        (403, "", "brave refused (403)"),
        (202, "<div class='anomaly-modal'>", "duckduckgo refused (202, a captcha)"),
        (200, "<p>Complete the CAPTCHA", "brave refused (200, a captcha)"),
    ],
)
async def test_refusal_of_every_engine_is_told(engines: Engines, status: int, page: str, says: str) -> None:
    with pytest.raises(SearchFailed) as caught:
        await searched(engines, lambda host: (status, page))
    assert says in caught.value.message
    assert "wait some minutes" in caught.value.hint


async def test_refusals_are_told_beside_results(engines: Engines) -> None:
    reply = await searched(engines, lambda host: (200, PAGE) if "brave" in host else (429, ""))
    assert [result.url for result in reply.results] == ["https://tea.example/"]
    refused = dict(reply.unresponsive_engines)
    assert "brave" not in refused
    assert refused["mojeek"] == "refused (429, too many requests)"


async def test_engines_that_find_nothing_have_not_refused(engines: Engines) -> None:
    empty = "<html><body><p>Nothing.</p></body></html>"
    reply = await searched(engines, lambda host: (200, '["", [], [], []]' if "wiki" in host else empty))
    assert not reply.results
    assert not reply.unresponsive_engines
