"""Search with a SearXNG instance and its JSON API. The address is a person's, never a page's."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
from pydantic import SecretStr

from core.adapters.search.searxng_reply import (
    DirectAnswers,
    InstanceConfig,
    Instances,
    line,
    read_json,
    results,
    unresponsive_engines,
)
from core.adapters.search.searxng_requests import LIMITER_HINT, SearxngRequests
from core.config.knobs import SafeSearch, SearchKnobs
from core.errors import SearchFailed
from core.model import Result, SearchReply
from core.text.urls import canonical_url

MAX_PAGES = 5

CONFIG_SECONDS = 2.0
"""The timeout of an instance's configuration. Searches work without it."""

_SAFE = {SafeSearch.OFF: "0", SafeSearch.MODERATE: "1", SafeSearch.STRICT: "2"}


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
        """Return the instance's configuration, or None without one."""
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
