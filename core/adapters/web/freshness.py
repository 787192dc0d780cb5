"""How long a fetched page may be used again: the caching rules of HTTP, for a cache that many people share."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping

HEURISTIC_SHARE = 0.1
"""Of a page's age, when it says only when it was last changed: the share that RFC 9111, 4.2.2 names as typical."""

HEURISTIC_LIMIT = 24 * 3600.0
UNSAID = 300.0
"""Seconds when the server says nothing at all."""

_DIRECTIVE = re.compile(r'([a-z-]+)(?:\s*=\s*"?(\d+)"?)?')
_NEVER = frozenset(("no-store", "no-cache", "private", "must-understand"))


def keep_seconds(headers: Mapping[str, str], now: float | None = None) -> float:
    """Seconds from `now` for which a 200 reply with these headers is fresh; 0 when it may not be kept.

    RFC 9111, sections 4.2 and 5.2, for a shared cache that does not revalidate. Header names are lower case.
    """
    now = time.time() if now is None else now
    said = dict(_DIRECTIVE.findall(headers.get("cache-control", "").lower()))
    if _NEVER & said.keys() or "*" in headers.get("vary", ""):
        return 0.0
    if "authorization" in headers.get("vary", "").lower() or "cookie" in headers.get("vary", "").lower():
        return 0.0
    age = _number(headers.get("age"))
    for directive in ("s-maxage", "max-age"):
        if said.get(directive):
            return max(0.0, float(said[directive]) - age)
    date = _moment(headers.get("date")) or now
    if "expires" in headers:
        expires = _moment(headers["expires"])
        return max(0.0, expires - date - age) if expires else 0.0
    if changed := _moment(headers.get("last-modified")):
        return max(0.0, min(HEURISTIC_LIMIT, (date - changed) * HEURISTIC_SHARE) - age)
    return max(0.0, UNSAID - age)


def _number(text: str | None) -> float:
    return float(text[:12]) if text and text.isascii() and text.isdigit() else 0.0


def _moment(text: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, TypeError, OverflowError):
        return None
