"""robots.txt (RFC 9309), fetched once per origin and cached for an hour."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cachetools import TLRUCache
from protego import Protego

from core.adapters.web.safe_url import SafeUrl
from core.model import SkipReason, Unreadable

ROBOTS_LIMIT = 512_000
"""The number of bytes that are read. The standard requires at least 500 KiB. Later rules are ignored."""

_MAX_ORIGINS = 2_000
_MAX_RULES = 5_000
_CACHE_SECONDS = 3600.0
_FAILURE_CACHE_SECONDS = 60.0
_LINE = re.compile(r"\s*([A-Za-z][A-Za-z -]*?)\s*:\s*([^#\r\n]*)")
_SPELLINGS = {"useragent": "user-agent"} | dict.fromkeys(
    ("dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"
)
"""Misspelt fields that Google's parser reads too."""
_RULE_FIELDS = frozenset({"allow", "disallow"})

FetchRobots = Callable[[SafeUrl], Awaitable[tuple[int, bytes]]]
"""Fetch status and body of an origin's robots.txt. Raises `Unreadable`."""


@dataclass(frozen=True, slots=True)
class _Rules:
    until: float
    parsed: Protego | None
    refusal: str = ""


class Robots:
    """The robots.txt rules of all requested origins.

    A file that is missing or unavailable allows everything. A server error refuses everything, as the standard says,
    because the site may have rules that it cannot serve at the moment.
    """

    def __init__(self, fetch: FetchRobots, user_agent: str) -> None:
        self._fetch = fetch
        match = re.match(r"[A-Za-z_-]+", user_agent)
        self._token = match[0] if match else user_agent
        self._cache: TLRUCache[str, _Rules] = TLRUCache(
            _MAX_ORIGINS, ttu=lambda _origin, rules, _now: rules.until, timer=time.monotonic
        )
        self._fetching: dict[str, asyncio.Task[_Rules]] = {}

    async def check(self, target: SafeUrl, timeout: float) -> None:  # noqa: ASYNC109 - after it the page is allowed, not cancelled
        """Check that the page may be fetched.

        The rules are awaited for at most `timeout` seconds. Without rules by then, the page may be fetched.

        Raises:
            Unreadable: ROBOTS.
        """
        rules = self._cache.get(target.origin)
        if rules is None:
            task = self._fetching.get(target.origin)
            if task is None:
                task = asyncio.create_task(self._fetch_rules(target))
                self._fetching[target.origin] = task
                task.add_done_callback(lambda _: self._fetching.pop(target.origin, None))
            # Shielded: if one page gives up, the others still need the rules.
            finished, _ = await asyncio.wait({task}, timeout=timeout)
            if not finished:
                return
            rules = task.result()
        if rules.refusal:
            raise Unreadable(SkipReason.ROBOTS, rules.refusal)
        if rules.parsed is not None and not rules.parsed.can_fetch(target.url, self._token):
            raise Unreadable(SkipReason.ROBOTS, "the site asks robots not to fetch this page")

    async def aclose(self) -> None:
        """Cancel the requests for rules."""
        tasks = list(self._fetching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetch_rules(self, target: SafeUrl) -> _Rules:
        rules = await self._parsed_rules(SafeUrl(target.scheme, target.host, target.port, "/robots.txt"))
        self._cache[target.origin] = rules
        return rules

    async def _parsed_rules(self, robots: SafeUrl) -> _Rules:
        current_time = time.monotonic()
        try:
            status, body = await self._fetch(robots)
        except Unreadable:
            return _Rules(current_time + _FAILURE_CACHE_SECONDS, None)
        if status >= 500:
            return _Rules(current_time + _FAILURE_CACHE_SECONDS, None, f"robots.txt answers HTTP {status}")
        if status >= 400:
            return _Rules(current_time + _CACHE_SECONDS, None)
        relevant = relevant_rules(body.decode("utf-8", errors="replace"), self._token)
        parsed = await asyncio.to_thread(Protego.parse, relevant) if relevant else None
        return _Rules(current_time + _CACHE_SECONDS, parsed)


def relevant_rules(text: str, token: str) -> str:
    """Select the robots.txt lines for `token` or everybody.

    At most `_MAX_RULES` are kept. Protego attaches every rule to every agent of its group, so that a hostile file with
    thousands of both would occupy it for minutes. Rules for others are therefore dropped first.
    """
    relevant: list[str] = []
    concerned = in_rules = False
    for line in text.removeprefix("\ufeff").splitlines():
        match = _LINE.match(line)
        field = match[1].lower().replace(" ", "-") if match else ""
        field = _SPELLINGS.get(field, field)
        if match and field == "user-agent":
            if in_rules:
                concerned = in_rules = False
            agent = match[2].strip()
            product = re.match(r"[A-Za-z_-]+", agent)
            if agent == "*" or (product and product[0].lower() == token.lower()):
                relevant.append(f"User-agent: {'*' if agent == '*' else token}")
                concerned = True
        elif match and field in _RULE_FIELDS:
            in_rules = True
            if concerned:
                relevant.append(f"{field.capitalize()}: {match[2].strip()}")
        if len(relevant) >= _MAX_RULES:
            break
    return "\n".join(relevant)
