"""Search through a SearXNG instance and its JSON API. The address is a person's, never a page's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from core.adapters.search.searxng_config import InstanceConfig, InstanceConfigs
from core.adapters.search.searxng_reply import line, read_json, results, silent_engines
from core.adapters.web.body_limits import Decompressor
from core.config.knobs import SafeSearch, SearchKnobs
from core.errors import BadInput, SearchFailed
from core.model import Result, SearchReply, Unreadable
from core.text.http_headers import retry_after
from core.text.urls import canonical_url

MAX_PAGES = 5
MAX_BYTES = 4_000_000
MAX_RETRY_AFTER = 5.0
"""The longest Retry-After, in seconds, that is waited for; a person would rather hear of a longer one."""

_SAFE = {SafeSearch.OFF: "0", SafeSearch.MODERATE: "1", SafeSearch.STRICT: "2"}
CONFIG_SECONDS = 2.0
"""The longest wait for what an instance says of itself, without which searches work as well."""

HEADERS = {
    # SearXNG's limiter refuses a client that does not accept text/html, names no language, accepts neither gzip
    # nor deflate, or calls itself by the name of an HTTP library.
    "User-Agent": "Mozilla/5.0 (compatible; OpenQuery)",
    "Accept": "application/json, text/html;q=0.9",
    "Accept-Language": "en",
    "Accept-Encoding": "gzip, deflate",
}
_ADDRESS_HINT = "Set SEARXNG_URL to something like http://127.0.0.1:8888."
_LIMITER_HINT = (
    "Its limiter lets an address make 4 searches an hour in JSON: add this computer's address to pass_ip in its "
    "limiter.toml, or turn the limiter off (server.limiter in settings.yml)."
)
_JSON_HINT = "Enable json in search.formats of its settings.yml (formats: [html, json]) and restart it."
_REFUSALS = {
    200: ("did not answer in JSON", _JSON_HINT),
    400: ("refuses the query", "Check language, time range, categories and engines."),
    401: ("asks for a user name and password", "Set SEARXNG_USERNAME and SEARXNG_PASSWORD."),
    403: ("refuses JSON", _JSON_HINT),
    404: ("has no search page", "Correct SEARXNG_URL: the address without /search."),
}


class SearxNG:
    """The `Search` port over one instance. `timeout` is in seconds and holds for each request as a whole.

    The client must be one for operator endpoints; no redirect is followed. `pause` waits out a Retry-After.
    `configs` remembers what instances say of themselves, for all adapters that share it.

    Raises:
        BadInput: when the address is no http address.
    """

    def __init__(
        self,
        url: str,
        *,
        client: httpx.AsyncClient,
        username: str = "",
        password: SecretStr | None = None,
        timeout: float = 10.0,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        configs: InstanceConfigs | None = None,
    ) -> None:
        address = _address(url)
        username = username or address.username
        secret = password.get_secret_value() if password else address.password
        self.url = str(address.copy_with(username=None, password=None)).rstrip("/")
        self._auth = httpx.BasicAuth(username, secret) if username else None
        self._client = client
        self._timeout = timeout
        self._pause = pause
        self._configs = configs or InstanceConfigs()

    @property
    def identity(self) -> str:
        return f"searxng {self.url}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """At most `knobs.results` rows with different addresses, from as few pages as bring them.

        A later page that fails is named in `silent`; the rows before it stay. Engines and categories of the
        knobs that the instance does not have are in `unknown`: it ignores them without a word.
        """
        rows: dict[str, Result] = {}
        silent: dict[str, str] = {}
        for page in range(1, MAX_PAGES + 1):
            try:
                reply = await self._page(query, knobs, page)
            except SearchFailed as error:
                if page == 1:
                    raise
                silent[f"page {page}"] = error.message
                break
            before = len(rows)
            for row in results(reply):
                rows.setdefault(canonical_url(row.url), row)
            silent |= silent_engines(reply)
            if len(rows) >= knobs.results or len(rows) == before:
                break
        ranked = [replace(row, rank=rank) for rank, row in enumerate(rows.values(), 1)]
        return SearchReply(
            backend="searxng",
            results=tuple(ranked[: knobs.results]),
            silent=tuple(silent.items()),
            unknown=await self._unknown(knobs),
        )

    async def _unknown(self, knobs: SearchKnobs) -> tuple[str, ...]:
        if not (knobs.engines or knobs.categories):
            return ()
        config = await self._configs.get(self.url, self._config)
        return config.unknown(knobs) if config else ()

    async def healthy(self) -> str:
        """A line about the instance. Asks no engine: an empty query is refused before any is asked.

        Where a limiter counts searches, no search is made.

        Raises:
            SearchFailed: when it does not answer, or not in JSON.
        """
        config = await self._config()
        if config and config.limiter:
            return f"SearXNG {config.version} at {self.url}, with its limiter on. {_LIMITER_HINT}"
        status, body = await self._get("/search", {"q": "", "format": "json"})
        if status != 400 or not isinstance(read_json(body), dict):
            raise self._refused(status, body)
        if config is None:
            return f"SearXNG at {self.url}, JSON enabled"
        return f"SearXNG {config.version} at {self.url}, JSON enabled, engines: {config.enabled}"

    async def _config(self) -> InstanceConfig | None:
        """What the instance says of itself; None when it does not."""
        try:
            async with asyncio.timeout(CONFIG_SECONDS):
                status, body = await self._get("/config", {})
        except (SearchFailed, TimeoutError):
            return None
        return InstanceConfig.parse(body) if status == 200 else None

    async def _page(self, query: str, knobs: SearchKnobs, page: int) -> dict[str, Any]:
        asked = {
            "q": query,
            "format": "json",
            "pageno": str(page),
            "language": knobs.language,
            "safesearch": _SAFE[knobs.safe_search],
            "time_range": knobs.time_range.value,
            "categories": knobs.categories,
            "engines": knobs.engines,
        }
        status, body = await self._get("/search", {name: value for name, value in asked.items() if value})
        reply = read_json(body)
        if status != 200 or not isinstance(reply, dict):
            raise self._refused(status, body)
        rows, said = reply.get("results"), line(reply.get("error"), 200)
        if not isinstance(rows, list | None) or (rows is None and said):
            raise SearchFailed(
                f"SearXNG at {self.url} sent no list of results{f': {said}' if said else ''}.",
                hint="Is it up to date? Its log may say more.",
            )
        return reply

    async def _get(self, path: str, params: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and body. Waits out one short 429."""
        status, headers, body = await self._once(path, params)
        wait = retry_after(headers.get("Retry-After"))
        if status == 429 and wait is not None and wait <= MAX_RETRY_AFTER:
            await self._pause(wait)
            status, headers, body = await self._once(path, params)
            wait = retry_after(headers.get("Retry-After"))
        if status == 429:
            when = f"Ask again in {wait:.0f} s" if wait is not None else "Ask again later"
            raise self._limited(status, f"{when}. {_LIMITER_HINT}")
        if 300 <= status < 400 and self._is_home(headers.get("Location", "")):
            raise self._limited(status, _LIMITER_HINT)
        if 300 <= status < 400:
            raise SearchFailed(
                f"SearXNG at {self.url} redirects to {_origin(headers.get('Location'))}.",
                hint="Set SEARXNG_URL to the final address.",
            )
        return status, body

    async def _once(self, path: str, params: Mapping[str, str]) -> tuple[int, httpx.Headers, bytes]:
        request = self._client.build_request(
            "GET", self.url + path, params=params, headers=HEADERS, timeout=self._timeout
        )
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.send(
                    request, auth=self._auth, stream=True, follow_redirects=False
                )
                try:
                    return response.status_code, response.headers, await _body(response)
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.TimeoutException) as error:
            raise SearchFailed(
                f"SearXNG at {self.url} did not answer within {self._timeout:g} s.",
                hint="Is it running, and are its engines reachable? OPENQUERY_SEARCH_TIMEOUT allows more.",
            ) from error
        except httpx.HTTPError as error:
            raise SearchFailed(
                f"SearXNG at {self.url} did not answer ({type(error).__name__}).",
                hint="Is it running at this address? Start it, or correct SEARXNG_URL.",
            ) from error
        except Unreadable as error:
            raise SearchFailed(
                f"SearXNG at {self.url} sent a body that cannot be read ({error}).",
                hint="Is this the address of a SearXNG?",
            ) from error

    def _limited(self, status: int, hint: str) -> SearchFailed:
        return SearchFailed(f"SearXNG at {self.url} limits requests ({status}).", hint=hint)

    def _is_home(self, location: str) -> bool:
        """Whether a redirect goes to the instance's start page, as of a limiter that takes the client for a bot."""
        return location in {f"{urlsplit(self.url).path}/", f"{self.url}/"}

    def _refused(self, status: int, body: bytes) -> SearchFailed:
        what, hint = _REFUSALS.get(status, ("failed", "Look into its log; it may be starting or overloaded."))
        reply = read_json(body)
        detail = line(reply.get("error"), 200) if isinstance(reply, dict) else ""
        return SearchFailed(
            f"SearXNG at {self.url} {what} (HTTP {status}{': ' if detail else ''}{detail}).", hint=hint
        )


async def _body(response: httpx.Response) -> bytes:
    """The body, unpacked under a limit: httpx itself unpacks a whole chunk before anyone can count."""
    unpacker = Decompressor(response.headers.get("Content-Encoding", ""), MAX_BYTES)
    async for chunk in response.aiter_raw():
        unpacker.feed(chunk)
    return bytes(unpacker.body)


def _address(url: str) -> httpx.URL:
    """The address as people write it, also with /search at its end."""
    try:
        address = httpx.URL(url.strip()).copy_with(query=None, fragment=None)
    except httpx.InvalidURL as error:
        raise BadInput("The SearXNG address is not a web address.", hint=_ADDRESS_HINT) from error
    if not url.strip():
        raise BadInput("No SearXNG address is set.", hint=_ADDRESS_HINT)
    if address.scheme not in {"http", "https"} or not address.host:
        raise BadInput("The SearXNG address is not a web address.", hint=_ADDRESS_HINT)
    return address.copy_with(path=address.path.rstrip("/").removesuffix("/search").rstrip("/") or "/")


def _origin(location: str | None) -> str:
    """Where a redirect goes, without what else its address may hold."""
    try:
        parts = urlsplit(location or "")
    except ValueError:
        return "an unreadable address"
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else "another path"
