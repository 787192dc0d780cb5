"""Record the replies of ddgs's engines. ddgs itself reports a refusal as "No results found".

It also reports one engine's error as the error of all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from core.adapters.network_failure import network_failure

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
