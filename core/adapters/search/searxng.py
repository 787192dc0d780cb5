"""Search with a SearXNG instance and its JSON API. The address is a person's, never a page's.

Everything but a usable reply is an error with a hint.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from core.adapters.network_failure import network_failure
from core.adapters.search.searxng_reply import (
    DirectAnswers,
    InstanceConfig,
    Instances,
    line,
    read_json,
    results,
    unresponsive_engines,
)
from core.adapters.web.body_limits import Decompressor
from core.config.knobs import SafeSearch, SearchKnobs
from core.errors import BadInput, SearchFailed
from core.model import Result, SearchReply, Unreadable
from core.text.http_headers import retry_after
from core.text.urls import canonical_url

MAX_PAGES = 5

CONFIG_SECONDS = 2.0
"""The timeout of an instance's configuration. Searches work without it."""

_SAFE = {SafeSearch.OFF: "0", SafeSearch.MODERATE: "1", SafeSearch.STRICT: "2"}
MAX_BYTES = 4_000_000
MAX_RETRY_AFTER = 5.0
"""The maximum Retry-After in seconds that is respected. Longer waits are reported to the person."""
FAILURE_PAUSE = 0.5
"""Seconds before a failed search is repeated if the instance names no wait."""

HEADERS = {
    # SearXNG's limiter refuses a client that does not accept text/html, names no language, accepts neither gzip nor
    # deflate, or has the name of an HTTP library.
    "User-Agent": "Mozilla/5.0 (compatible; OpenQuery)",
    "Accept": "application/json, text/html;q=0.9",
    "Accept-Language": "en",
    "Accept-Encoding": "gzip, deflate",
}
_ADDRESS_HINT = "Set SEARXNG_URL to something like http://127.0.0.1:8888."
LIMITER_HINT = (
    "Its limiter lets an address make 4 searches in JSON an hour, unless pass_ip in its limiter.toml names that "
    "address: add this computer's, or turn the limiter off (server.limiter in settings.yml)."
)
_JSON_HINT = "Enable json in search.formats of its settings.yml (formats: [html, json]) and restart it."
_SIGN_IN = re.compile(r"log-?_?in|sign-?_?in|\bauth|oauth|\bsso\b|saml|openid", re.IGNORECASE)
"""Parts of the address of a sign-in page."""
_PAGE_START = 100_000
_GATES = (
    ("a sign-in page", re.compile(rb"<input[^<>]{1,300}\btype=[\"']?password", re.IGNORECASE)),
    (
        "a page that checks for a browser",
        re.compile(
            rb"cf-chl|challenge-platform|just a moment\.\.\.|checking your browser|anubis_challenge|ddos-guard"
            rb"|verify(?:ing)? (?:that )?you are (?:a )?human",
            re.IGNORECASE,
        ),
    ),
)
"""Pages that a proxy sends in place of an instance's reply."""
_REFUSALS = {
    200: ("did not answer in JSON", _JSON_HINT),
    400: ("refuses the query", "Check language, time range, categories and engines."),
    401: ("asks for a user name and password", "Set SEARXNG_USERNAME and SEARXNG_PASSWORD."),
    403: ("refuses JSON", _JSON_HINT),
    404: ("has no search page", "Correct SEARXNG_URL: the address without /search."),
}


class SearxngRequests:
    """Requests to the instance at `url`, which may contain user name and password. `self.url` does not.

    `timeout` is in seconds and holds for each request as a whole. `pause` waits for a Retry-After.

    Raises:
        BadInput: when the address is no http address.
    """

    def __init__(
        self,
        url: str,
        *,
        client: httpx.AsyncClient,
        username: str,
        password: SecretStr | None,
        timeout: float,
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        address = _address(url)
        username = username or address.username
        secret = password.get_secret_value() if password else address.password
        self.url = str(address.copy_with(username=None, password=None)).rstrip("/")
        self._auth = httpx.BasicAuth(username, secret) if username else None
        self._client = client
        self._timeout = timeout
        self._pause = pause

    async def get(self, path: str, params: Mapping[str, str]) -> tuple[int, bytes]:
        """Send a GET request, and return status and body. It is repeated once after a failure or a short 429.

        Raises:
            SearchFailed: when there is no reply, a limit, or a redirect.
        """
        status, headers, body = await self._once(path, params)
        wait = retry_after(headers.get("Retry-After"))
        if status >= 500 and wait is None:
            wait = FAILURE_PAUSE
        if (status == 429 or status >= 500) and wait is not None and wait <= MAX_RETRY_AFTER:
            await self._pause(wait)
            status, headers, body = await self._once(path, params)
            wait = retry_after(headers.get("Retry-After"))
        if status == 429:
            when = f"Ask again in {wait:.0f} s" if wait is not None else "Ask again later"
            raise self._limited(status, f"{when}. {LIMITER_HINT}")
        if 300 <= status < 400 and self._is_home(headers.get("Location", "")):
            raise self._limited(status, LIMITER_HINT)
        if 300 <= status < 400 and _SIGN_IN.search(headers.get("Location", "")):
            raise self._behind(f"a sign-in at {_origin(headers.get('Location'))}", status)
        if 300 <= status < 400:
            raise SearchFailed(
                f"SearXNG at {self.url} redirects to {_origin(headers.get('Location'))}.",
                hint="Set SEARXNG_URL to the final address.",
            )
        return status, body

    def refused(self, status: int, body: bytes) -> SearchFailed:
        """Return the error for an unusable reply."""
        page = body[:_PAGE_START]
        if gate := next((name for name, marks in _GATES if marks.search(page)), ""):
            return self._behind(gate, status)
        failure, hint = _REFUSALS.get(
            status, ("failed", "Look into its log; it may be starting or overloaded.")
        )
        reply = read_json(body)
        detail = line(reply.get("error"), 200) if isinstance(reply, dict) else ""
        return SearchFailed(
            f"SearXNG at {self.url} {failure} (HTTP {status}{': ' if detail else ''}{detail}).", hint=hint
        )

    async def _once(self, path: str, params: Mapping[str, str]) -> tuple[int, httpx.Headers, bytes]:
        try:
            async with asyncio.timeout(self._timeout):
                try:
                    return await self._exchange(path, params)
                except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                    # The other side may have closed an idle connection, and repeating a search is harmless.
                    return await self._exchange(path, params)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise SearchFailed(
                f"SearXNG at {self.url} did not answer within {self._timeout:g} s.",
                hint="Is it running, and are its engines reachable? OPENQUERY_SEARCH_TIMEOUT allows more.",
            ) from error
        except httpx.HTTPError as error:
            raise SearchFailed(
                f"SearXNG at {self.url} did not answer: {network_failure(error)}.",
                hint="Is it running at this address? Start it, or correct SEARXNG_URL.",
            ) from error
        except Unreadable as error:
            raise SearchFailed(
                f"SearXNG at {self.url} sent a body that cannot be read ({error}).",
                hint="Is this the address of a SearXNG?",
            ) from error

    async def _exchange(self, path: str, params: Mapping[str, str]) -> tuple[int, httpx.Headers, bytes]:
        request = self._client.build_request(
            "GET", self.url + path, params=params, headers=HEADERS, timeout=self._timeout
        )
        response = await self._client.send(request, auth=self._auth, stream=True, follow_redirects=False)
        try:
            return response.status_code, response.headers, await _body(response)
        finally:
            await response.aclose()

    def _limited(self, status: int, hint: str) -> SearchFailed:
        return SearchFailed(f"SearXNG at {self.url} limits requests ({status}).", hint=hint)

    def _behind(self, gate: str, status: int) -> SearchFailed:
        return SearchFailed(
            f"SearXNG at {self.url} is behind {gate} (HTTP {status}).",
            hint="Set SEARXNG_URL to an address that a program can use, or let this computer pass: only its proxy can.",
        )

    def _is_home(self, location: str) -> bool:
        """Check that a redirect leads to the instance's start page. A limiter sends it to suspected bots."""
        return location in {f"{urlsplit(self.url).path}/", f"{self.url}/"}


async def _body(response: httpx.Response) -> bytes:
    """Read and unpack the body under a limit. A whole chunk would be unpacked by httpx before it can be counted."""
    unpacker = Decompressor(response.headers.get("Content-Encoding", ""), MAX_BYTES)
    async for chunk in response.aiter_raw():
        unpacker.feed(chunk)
    return bytes(unpacker.body)


def _address(url: str) -> httpx.URL:
    """Parse the address as people write it. It may end in /search."""
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
    """Describe a redirect's target without its private parts."""
    try:
        parts = urlsplit(location or "")
    except ValueError:
        return "an unreadable address"
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else "another path"


class SearxNG:
    """A `Search` port over one instance. `timeout` is in seconds and holds for each request as a whole.

    The client must be made for operator endpoints. No redirect is followed. `pause` waits for a Retry-After. `configs`
    caches the instances' configurations for all adapters that share it.

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
        configs: Instances | None = None,
    ) -> None:
        self._requests = SearxngRequests(
            url, client=client, username=username, password=password, timeout=timeout, pause=pause
        )
        self.url = self._requests.url
        self._configs = configs or Instances()

    @property
    def identity(self) -> str:
        """The address without credentials, for cache keys."""
        return f"searxng {self.url}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Return at most `knobs.results` rows with different addresses.

        No more pages than needed are requested. Direct answers and infoboxes of the first page with an address are
        first. If an infobox has several addresses, the others are last. A later page that fails is named in
        `unresponsive_engines`, and the earlier rows are kept. `unknown_engines` has the engines and categories of the
        knobs that the instance lacks, because it ignores them without a message.
        """
        rows: dict[str, Result] = {}
        beside = DirectAnswers()
        unresponsive: dict[str, str] = {}
        for page in range(1, MAX_PAGES + 1):
            try:
                reply = await self._page(query, knobs, page)
            except SearchFailed as error:
                if page == 1:
                    self._configs.failures[self.url] = error
                    raise
                unresponsive[f"page {page}"] = error.message
                break
            self._configs.failures.pop(self.url, None)
            if page == 1:
                beside = DirectAnswers.parse(reply, query)
                rows |= {canonical_url(row.url): row for row in beside.first}
            before = len(rows)
            for row in results(reply):
                rows.setdefault(canonical_url(row.url), row)
            unresponsive |= unresponsive_engines(reply)
            if len(rows) >= knobs.results or len(rows) == before:
                break
        for row in beside.last:
            rows.setdefault(canonical_url(row.url), row)
        ranked = [replace(row, rank=rank) for rank, row in enumerate(rows.values(), 1)]
        return SearchReply(
            backend="searxng",
            results=tuple(ranked[: knobs.results]),
            unresponsive_engines=tuple(unresponsive.items()),
            answers=beside.answers,
            corrections=beside.corrections,
            suggestions=beside.suggestions,
            unknown_engines=await self._unknown(knobs),
        )

    async def _unknown(self, knobs: SearchKnobs) -> tuple[str, ...]:
        if not (knobs.engines or knobs.categories):
            return ()
        config = await self._configs.get(self.url, self._config)
        return config.unknown_engines(knobs) if config else ()

    async def healthy(self) -> str:
        """Describe the instance in a line.

        No engine is asked, because an empty query is refused earlier. If a limiter counts searches, no search is made.

        Raises:
            SearchFailed: when the instance does not answer, or not in JSON, or a question's latest search failed.
        """
        if failure := self._configs.failures.get(self.url):
            raise SearchFailed(f"The latest search failed: {failure.message}", hint=failure.hint)
        config = await self._config()
        if config and config.limiter:
            return f"SearXNG {config.version} at {self.url}, with its limiter on. {LIMITER_HINT}"
        status, body = await self._requests.get("/search", {"q": "", "format": "json"})
        if status != 400 or not isinstance(read_json(body), dict):
            raise self._requests.refused(status, body)
        if config is None:
            return f"SearXNG at {self.url}, JSON enabled"
        return f"SearXNG {config.version} at {self.url}, JSON enabled, engines: {config.enabled}"

    async def _config(self) -> InstanceConfig | None:
        try:
            async with asyncio.timeout(CONFIG_SECONDS):
                status, body = await self._requests.get("/config", {})
        except (SearchFailed, TimeoutError):
            return None
        return InstanceConfig.parse(body) if status == 200 else None

    async def _page(self, query: str, knobs: SearchKnobs, page: int) -> dict[str, Any]:
        parameters = {
            "q": query,
            "format": "json",
            "pageno": str(page),
            "language": knobs.language,
            "safesearch": _SAFE[knobs.safe_search],
            "time_range": knobs.time_range.value,
            "categories": knobs.categories,
            "engines": knobs.engines,
        }
        status, body = await self._requests.get(
            "/search", {name: value for name, value in parameters.items() if value}
        )
        reply = read_json(body)
        if status != 200 or not isinstance(reply, dict):
            raise self._requests.refused(status, body)
        rows, error = reply.get("results"), line(reply.get("error"), 200)
        if not isinstance(rows, list | dict | None) or (rows is None and error):
            raise SearchFailed(
                f"SearXNG at {self.url} sent no list of results{f': {error}' if error else ''}.",
                hint="Is it up to date? Its log may say more.",
            )
        return reply
