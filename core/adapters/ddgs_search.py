"""Search without a server of one's own: the ddgs package asks several web engines from this process."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

from core.adapters.searxng_json import SNIPPET_LIMIT, TITLE_LIMIT, line
from core.errors import SearchFailed
from core.knobs import SafeSearch, SearchKnobs, TimeRange
from core.model import Result, SearchReply

_COUNTRIES = {"en": "us", "zh": "cn", "ja": "jp", "ko": "kr", "uk": "ua", "cs": "cz", "da": "dk", "sv": "se"}
"""Where a language is at home when its code is not its country's. ddgs wants country and language."""

_SAFE = {SafeSearch.OFF: "off", SafeSearch.MODERATE: "moderate", SafeSearch.STRICT: "on"}
_SPANS = {TimeRange.DAY: "d", TimeRange.WEEK: "w", TimeRange.MONTH: "m", TimeRange.YEAR: "y"}


class Ddgs:
    """The `Search` port over ddgs. `timeout` is in seconds; `proxy` is an address such as socks5h://host:port.

    Categories and engines are SearXNG's words and are not passed on.
    """

    identity = "ddgs"

    def __init__(self, *, timeout: float = 10.0, proxy: str | None = None) -> None:
        self._timeout = timeout
        self._proxy = proxy

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        # A thread cannot be stopped: after a cancellation it ends by its own timeout, and nobody listens.
        rows = await asyncio.to_thread(self._rows, query, knobs)
        results = tuple(
            Result(
                url=str(row.get("href") or ""),
                title=line(row.get("title"), TITLE_LIMIT),
                snippet=line(row.get("body"), SNIPPET_LIMIT),
                rank=rank,
            )
            for rank, row in enumerate(rows, 1)
        )
        return SearchReply(backend="ddgs", results=results)

    def _rows(self, query: str, knobs: SearchKnobs) -> list[dict[str, Any]]:
        from ddgs import DDGS  # noqa: PLC0415 - heavy
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException  # noqa: PLC0415

        began = time.monotonic()
        try:
            # One client a query: its engines keep state that threads must not share.
            return DDGS(proxy=self._proxy, timeout=math.ceil(self._timeout)).text(
                query,
                region=region(knobs.language),
                safesearch=_SAFE[knobs.safe_search],
                timelimit=_SPANS.get(knobs.time_range),
                max_results=knobs.results,
            )
        except RatelimitException as error:
            raise SearchFailed(
                "The web engines behind ddgs limit requests.",
                hint="Wait a minute, ask fewer queries, or connect a SearXNG with SEARXNG_URL.",
            ) from error
        except TimeoutException as error:
            raise self._late() from error
        except DDGSException as error:
            if "No results found" in str(error):
                # ddgs says the same when its engines were too slow to be heard.
                if time.monotonic() - began >= self._timeout:
                    raise self._late() from error
                return []
            raise SearchFailed(
                f"The web engines behind ddgs cannot be reached ({line(str(error), 160)}).",
                hint="Is there a network? Otherwise choose the demo library, or connect a SearXNG.",
            ) from error

    def _late(self) -> SearchFailed:
        return SearchFailed(
            f"The web engines behind ddgs did not answer within {self._timeout:g} s.",
            hint="Try again, or connect a SearXNG with SEARXNG_URL.",
        )


def region(language: str) -> str:
    """ddgs's region for a language code: de is de-de, de-AT is at-de, zh-CN is cn-zh; all is us-en, its default."""
    if language in {"all", "auto"}:
        return "us-en"
    code, _, country = language.partition("-")
    return f"{(country or _COUNTRIES.get(code, code)).lower()}-{code}"
