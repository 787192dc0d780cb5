"""Search with the ddgs package, which asks several web engines from this process."""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.adapters.daemon_thread import in_daemon_thread
from core.adapters.network_failure import network_failure
from core.adapters.search.searxng_reply import SNIPPET_LIMIT, TITLE_LIMIT, line
from core.config.knobs import Backend, SafeSearch, SearchKnobs, TimeRange
from core.errors import SearchFailed
from core.model import Result, SearchReply

if TYPE_CHECKING:
    from ddgs.ddgs import DDGS


_REFUSALS = {202: "a captcha", 401: "", 403: "", 418: "", 429: "too many requests", 451: "", 503: ""}
"""Statuses of engines that refuse programs. DuckDuckGo sends 202 with its captcha."""
_CAPTCHA = re.compile(
    r"captcha|anomaly-modal|unusual traffic|are you a (?:human|robot)|not a robot|verify(?:ing)? (?:that )?you are (?:a )?human|"
    r"pardon our interruption|just a moment",
    re.IGNORECASE,
)
_READ = 200_000
"""The first characters of a page, which are searched for a captcha."""
_COUNTRIES = {"en": "us", "zh": "cn", "ja": "jp", "ko": "kr", "uk": "ua", "cs": "cz", "da": "dk", "sv": "se"}
"""The country of a language if it differs from the language's code. ddgs needs country and language."""
_SAFE = {SafeSearch.OFF: "off", SafeSearch.MODERATE: "moderate", SafeSearch.STRICT: "on"}
_SPANS = {TimeRange.DAY: "d", TimeRange.WEEK: "w", TimeRange.MONTH: "m", TimeRange.YEAR: "y"}
_ENGINE_HOSTS = ("duckduckgo.com", "www.bing.com", "search.brave.com")
_CONNECT_SECONDS = 1.5
_PROXY_VARIABLES = ("DDGS_PROXY", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
Rows = list[dict[str, Any]]
REACHABLE_SECONDS = 600.0
UNREACHABLE_SECONDS = 30.0
"""Seconds for which an outcome is stored. A network that recovers should be used soon."""


class EngineReplies:
    """The replies of engines to one query, by their names."""

    def __init__(self) -> None:
        self.answered: set[str] = set()
        self.refused: dict[str, str] = {}
        """Reasons of engines that refuse programs."""
        self.captchas: dict[str, str] = {}
        """Reasons of pages that mention a captcha. They count only if nothing was found."""
        self.failed: dict[str, str] = {}
        """Reasons of engines that were not reached."""

    @property
    def unresponsive(self) -> tuple[tuple[str, str], ...]:
        """The engines that did not search, each with its reason."""
        return tuple(sorted((self.failed | self.refused).items()))

    def add(self, engine: str, status: int, text: str) -> None:
        """Record a reply. Wikipedia and others are asked twice: one successful reply counts."""
        asks = bool(_CAPTCHA.search(text[:_READ]))
        about = "a captcha" if asks else _REFUSALS.get(status, "")
        reason = f"refused ({', '.join(filter(None, (str(status), about)))})"
        if status == 200 and asks:
            self.captchas[engine] = reason
        elif status == 200:
            self.answered.add(engine)
            for reasons in (self.refused, self.captchas, self.failed):
                reasons.pop(engine, None)
        elif engine not in self.answered and status in _REFUSALS:
            self.failed.pop(engine, None)
            self.refused[engine] = reason


def listening_ddgs(replies: EngineReplies, **options: Any) -> DDGS:
    """Create a ddgs client that records replies in `replies`."""
    from ddgs.ddgs import DDGS  # the name in the package is a stand-in until the first call

    class Listening(DDGS):
        def _get_engines(self, category: str, backend: str) -> list[Any]:
            engines: list[Any] = super()._get_engines(category, backend)
            for engine in engines:
                engine.http_client.request = _listening(engine.name, engine.http_client.request, replies)
            return engines

    return Listening(**options)


def _listening(engine: str, request: Any, replies: EngineReplies) -> Any:
    def listen(*args: Any, **kwargs: Any) -> Any:
        try:
            response = request(*args, **kwargs)
        except Exception as error:
            if engine not in replies.answered:
                replies.failed[engine] = network_failure(error)
            raise
        replies.add(engine, int(response.status_code), str(response.text))
        return response

    return listen


class Ddgs:
    """A `Search` port over ddgs. `proxy` is an address such as socks5h://host:port.

    `timeout` is in seconds and holds for a query as a whole. ddgs has a timeout for each engine only, and asks several
    in sequence: each has a third, so that one silent engine leaves time for others. Categories and engines are
    SearXNG's names and are not passed on.
    """

    identity = "ddgs"

    def __init__(self, *, timeout: float = 10.0, proxy: str | None = None, verify: bool | str = True) -> None:
        """Verify TLS with the certificates file `verify`, or not if it is False.

        A file is needed for a proxy that reads TLS.
        """
        self._timeout = timeout
        self._proxy = proxy
        self._verify = verify

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Search with all engines. Raises `SearchFailed`, also if engines refused and none found anything."""
        replies = EngineReplies()
        try:
            async with asyncio.timeout(self._timeout):
                rows = await in_daemon_thread("ddgs", lambda: self._rows(query, knobs, replies))
        except TimeoutError as error:
            raise (self._refused(replies) if replies.refused else self._late()) from error
        results = tuple(
            Result(
                url=str(row.get("href") or ""),
                title=line(row.get("title"), TITLE_LIMIT),
                snippet=line(row.get("body"), SNIPPET_LIMIT),
                rank=rank,
            )
            for rank, row in enumerate(rows, 1)
        )
        return SearchReply(backend="ddgs", results=results, unresponsive_engines=replies.unresponsive)

    def _rows(self, query: str, knobs: SearchKnobs, replies: EngineReplies) -> Rows:
        from ddgs.exceptions import DDGSException, TimeoutException

        each, began = math.ceil(self._timeout / 3), time.monotonic()
        try:
            # One client per query: its engines have state that threads must not share.
            client = listening_ddgs(replies, proxy=self._proxy, timeout=each, verify=self._verify)
            return client.text(
                query,
                region=region(knobs.language),
                safesearch=_SAFE[knobs.safe_search],
                timelimit=_SPANS.get(knobs.time_range),
                max_results=knobs.results,
            )
        except DDGSException as error:
            # ddgs reports the failure of one engine as that of all, and reports no refusal.
            if replies.refused or replies.captchas:
                raise self._refused(replies) from error
            if replies.answered:
                return []
            if isinstance(error, TimeoutException):
                raise self._late() from error
            if "No results found" in str(error):
                # ddgs reports the same when its engines were too slow.
                if time.monotonic() - began >= each:
                    raise self._late() from error
                return []
            cause = next((argument for argument in error.args if isinstance(argument, Exception)), error)
            raise SearchFailed(
                f"The web engines behind ddgs cannot be reached: {network_failure(cause)}.",
                hint="Is there a network? Otherwise choose the demo library, or connect a SearXNG.",
            ) from error

    def _refused(self, replies: EngineReplies) -> SearchFailed:
        engines = ", ".join(
            f"{engine} {reason}" for engine, reason in sorted({**replies.captchas, **replies.refused}.items())
        )
        others = ", and others found nothing" if replies.answered else ""
        return SearchFailed(
            f"The web engines behind ddgs refused the search: {engines}{others}.",
            hint="They limit searches from one address: wait some minutes, ask fewer queries at once, or connect a SearXNG "
            "with SEARXNG_URL.",
        )

    def _late(self) -> SearchFailed:
        return SearchFailed(
            f"The web engines behind ddgs did not answer in time ({self._timeout:g} s).",
            hint="Try again, or connect a SearXNG with SEARXNG_URL.",
        )


def region(language: str) -> str:
    """Convert a language code to ddgs's region.

    de is de-de, de-AT is at-de, zh-CN is cn-zh. all is us-en, its default.
    """
    if language in {"all", "auto"}:
        return "us-en"
    code, _, country = language.partition("-")
    return f"{(country or _COUNTRIES.get(code, code)).lower()}-{code}"


async def engines_reachable(hosts: Sequence[str] = _ENGINE_HOSTS, port: int = 443) -> bool:
    """Check that a public search engine accepts a connection. The check takes at most 1.5 seconds and sends nothing.

    Only a proxy knows what it reaches, so a proxy in the environment counts as reachable.
    """
    if any(os.environ.get(name) for name in _PROXY_VARIABLES):
        return True
    connecting = [asyncio.create_task(_connects(host, port)) for host in hosts]
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            for attempt in asyncio.as_completed(connecting):
                if await attempt:
                    return True
    except TimeoutError:
        pass
    finally:
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
    return False


async def _connects(host: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    return True


class DefaultBackend:
    """Chooses ddgs if a public search engine is reachable, else the demo library.

    The choice needs no query, so it can be shown before the first question, and it is the same for every query of a
    run.
    """

    def __init__(self, reachable: Callable[[], Awaitable[bool]] = engines_reachable) -> None:
        self._reachable = reachable
        self._choosing = asyncio.Lock()
        self._chosen = Backend.DEMO
        self._until = 0.0

    async def choose(self) -> Backend:
        """Return the stored choice, or choose again after a time. Takes at most 1.5 seconds."""
        async with self._choosing:
            if time.monotonic() >= self._until:
                reachable = await self._reachable()
                self._chosen = Backend.DDGS if reachable else Backend.DEMO
                self._until = time.monotonic() + (REACHABLE_SECONDS if reachable else UNREACHABLE_SECONDS)
            return self._chosen
