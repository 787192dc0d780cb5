"""The services of the next run: search, models, and other sources."""

from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from core.config.knobs import Backend, SearchScope
from core.errors import OpenQueryError
from core.runtime.health import egress_report
from core.runtime.wiring.model_servers import ModelServer
from core.text.display import embedder_name
from pages.parts import runtime

_SERVERS = {
    "openrouter.ai": "OpenRouter",
    "api.openai.com": "OpenAI",
    "localhost:11434": "Ollama",
    "127.0.0.1:11434": "Ollama",
}
SEARCHES = {
    Backend.SEARXNG: "SearXNG",
    Backend.DDGS: "public search engines (ddgs)",
    Backend.DEMO: "demo library",
}
_UNCHOSEN = {
    Backend.DDGS: "No SearXNG is connected, so questions are sent to public search engines, through ddgs.",
    Backend.DEMO: "No SearXNG is connected and no search engine is reachable, so the demo library is searched: "
    "thirty articles on retrieval, not the web.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """The services of the next run. `chat` is empty when answers would be extractive."""

    search: str
    search_note: str
    """Where the question is sent if nobody chose a backend, or ""."""
    chat: str
    embedder: str
    egress: str
    """Which external models receive text, or "" if unknown."""


def searches_handbook(backend: str) -> bool:
    """Return whether a search of the web, by this backend, would be one of the built-in articles."""
    registry = runtime.runs()
    with suppress(OpenQueryError):  # the question itself reports unreachable services
        resolving = registry.engine.searches.resolve_backend(Backend(backend), runtime.access())
        return bool(registry.call(resolving, timeout=3) is Backend.DEMO)
    return False


def connection_label(backend: str) -> str:
    """Return a short label of the connections: the search, and the author of answers."""
    registry, access = runtime.runs(), runtime.access()
    resolved, server = Backend(backend), None
    with suppress(OpenQueryError):  # the question itself reports unreachable services
        resolved = registry.call(registry.engine.searches.resolve_backend(resolved, access), timeout=3)
        server = registry.call(registry.engine.models.servers.chat_server(access), timeout=3)
    search = "Offline" if resolved is Backend.DEMO else SEARCHES.get(resolved, "Web search")
    if server:
        return f"{search}, {_server_name(server)}"
    way_on = "Connect" if resolved is Backend.DEMO else "Connect a model"
    return f"{search}, answers are quotations · :primary[{way_on}]"


def _server_name(server: ModelServer) -> str:
    if server.file:
        return server.model
    host = urlsplit(server.base_url).netloc.removeprefix("www.")
    return _SERVERS.get(host, host)


def connections(backend: str, origin: str) -> Connections:
    """Return the services for a search backend and origin. The visitor's own servers are included."""
    registry = runtime.runs()
    mine = runtime.access()
    resolved, server, egress = Backend(backend), None, ""
    with suppress(OpenQueryError):  # the question itself reports unreachable services
        resolved = registry.call(registry.engine.searches.resolve_backend(resolved, mine), timeout=3)
        server = registry.call(registry.engine.models.servers.chat_server(mine), timeout=3)
        egress = registry.call(egress_report(registry.engine, mine), timeout=3)
    web = SEARCHES.get(resolved, "web search")
    if resolved is Backend.SEARXNG and not registry.engine.searches.searxng_url(mine):
        web = "SearXNG (no address set)"
    return Connections(
        search={"library": "your library", "both": f"{web}, and your library"}.get(origin, web),
        search_note=""
        if backend != Backend.AUTO or origin == SearchScope.LIBRARY
        else _UNCHOSEN.get(resolved, ""),
        chat=server.model if server else "",
        embedder=embedder_name(mine.embedding_model or registry.settings.embedding_model),
        egress=egress,
    )


def writes_answers() -> bool:
    """Return whether a chat model would write the next answer. No server is asked."""
    with suppress(OpenQueryError):  # the answer itself reports what is wrong
        return runtime.runs().engine.models.servers.is_chat_server_known(runtime.access())
    return False
