"""robots.txt (RFC 9309): asked once per origin, shared by all pages of that origin, remembered for an hour."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from protego import Protego

from core.adapters.web.safe_url import SafeUrl
from core.model import SkipReason, Unreadable

ROBOTS_LIMIT = 512_000
"""Bytes that are read; the standard asks for at least 500 KiB. Rules beyond are not seen."""

_MOST_ORIGINS = 2_000
_MOST_RULES = 5_000
_REMEMBERED = 3600.0
_FAILURE_REMEMBERED = 60.0
_LINE = re.compile(r"\s*([A-Za-z-]+)\s*:\s*([^#\r\n]*)")
_RULE_FIELDS = frozenset({"allow", "disallow"})

FetchRobots = Callable[[SafeUrl], Awaitable[tuple[int, bytes]]]
"""Status and body of an origin's robots.txt. Raises Unreadable."""


@dataclass(frozen=True, slots=True)
class _Rules:
    until: float
    parsed: Protego | None
    refusal: str = ""


class Robots:
    """Whether a page may be fetched, by its origin's own word.

    A missing file or one that cannot be had allows everything; a server error refuses everything, as the
    standard says, since the site may well have rules that it cannot tell at the moment.
    """

    def __init__(self, fetch: FetchRobots, user_agent: str) -> None:
        self._fetch = fetch
        match = re.match(r"[A-Za-z_-]+", user_agent)
        self._token = match[0] if match else user_agent
        self._known: OrderedDict[str, _Rules] = OrderedDict()
        self._asking: dict[str, asyncio.Task[_Rules]] = {}

    async def check(self, target: SafeUrl, patience: float) -> None:
        """Return when the page may be fetched, having waited at most `patience` seconds for the rules.

        Raises:
            Unreadable: ROBOTS.
        """
        rules = self._known.get(target.origin)
        if rules is None or rules.until < time.monotonic():
            task = self._asking.get(target.origin)
            if task is None:
                task = asyncio.create_task(self._ask(target))
                self._asking[target.origin] = task
                task.add_done_callback(lambda _: self._asking.pop(target.origin, None))
            # Shielded: one page giving up must not take the answer from the others.
            done, _ = await asyncio.wait({task}, timeout=patience)
            if not done:
                return
            rules = task.result()
        if rules.refusal:
            raise Unreadable(SkipReason.ROBOTS, rules.refusal)
        if rules.parsed is not None and not rules.parsed.can_fetch(target.url, self._token):
            raise Unreadable(SkipReason.ROBOTS, "the site asks robots not to fetch this page")

    async def aclose(self) -> None:
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, target: SafeUrl) -> _Rules:
        rules = await self._asked(SafeUrl(target.scheme, target.host, target.port, "/robots.txt"))
        self._known[target.origin] = rules
        self._known.move_to_end(target.origin)
        while len(self._known) > _MOST_ORIGINS:
            self._known.popitem(last=False)
        return rules

    async def _asked(self, robots: SafeUrl) -> _Rules:
        now = time.monotonic()
        try:
            status, body = await self._fetch(robots)
        except Unreadable:
            return _Rules(now + _FAILURE_REMEMBERED, None)
        if status >= 500:
            return _Rules(now + _FAILURE_REMEMBERED, None, f"robots.txt answers HTTP {status}")
        if status >= 400:
            return _Rules(now + _REMEMBERED, None)
        relevant = relevant_rules(body.decode("utf-8", errors="replace"), self._token)
        parsed = await asyncio.to_thread(Protego.parse, relevant) if relevant else None
        return _Rules(now + _REMEMBERED, parsed)


def relevant_rules(text: str, token: str) -> str:
    """The lines of a robots.txt that concern `token` or everybody, at most `_MOST_RULES` of them.

    Protego attaches every rule to every agent of its group, so a hostile file with thousands of both
    would keep it busy for minutes; what concerns others is dropped before it looks.
    """
    kept: list[str] = []
    concerned = in_rules = False
    for line in text.removeprefix("\ufeff").splitlines():
        match = _LINE.match(line)
        field = match[1].lower() if match else ""
        if match and field == "user-agent":
            if in_rules:
                concerned = in_rules = False
            agent = match[2].strip()
            product = re.match(r"[A-Za-z_-]+", agent)
            if agent == "*" or (product and product[0].lower() == token.lower()):
                kept.append(f"User-agent: {'*' if agent == '*' else token}")
                concerned = True
        elif match and field in _RULE_FIELDS:
            in_rules = True
            if concerned:
                kept.append(f"{match[1]}: {match[2].strip()}")
        if len(kept) >= _MOST_RULES:
            break
    return "\n".join(kept)
