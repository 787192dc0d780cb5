"""HTTP freshness lifetime for a shared cache (RFC 9111)."""

import re
import time
from collections.abc import Mapping

from core.text.http_headers import header_date, header_number

HEURISTIC_SHARE = 0.1
"""The share of a page's age for which it is fresh if only its last change is known.

RFC 9111, 4.2.2 calls it typical.
"""

HEURISTIC_LIMIT = 24 * 3600.0
UNSAID = 300.0
"""The lifetime in seconds without any header."""

_DIRECTIVE = re.compile(r'([a-z-]+)(?:\s*=\s*"?(\d+)"?)?')
_NEVER = frozenset(("no-store", "no-cache", "private", "must-understand"))


def freshness_lifetime(headers: Mapping[str, str], at_time: float | None = None) -> float:
    """Return how long a 200 reply with these headers is fresh.

    The result is in seconds from `at_time`, and 0 if the reply may not be stored. Follows RFC 9111, sections 4.2 and
    5.2, for a shared cache that does not revalidate. Header names are lower case.
    """
    at_time = time.time() if at_time is None else at_time
    directives = dict(_DIRECTIVE.findall(headers.get("cache-control", "").lower()))
    if _NEVER & directives.keys() or "*" in headers.get("vary", ""):
        return 0.0
    if "authorization" in headers.get("vary", "").lower() or "cookie" in headers.get("vary", "").lower():
        return 0.0
    age = header_number(headers.get("age")) or 0.0
    for directive in ("s-maxage", "max-age"):
        if directives.get(directive):
            return max(0.0, float(directives[directive]) - age)
    date = header_date(headers.get("date")) or at_time
    if "expires" in headers:
        expires = header_date(headers["expires"])
        return max(0.0, expires - date - age) if expires else 0.0
    if changed := header_date(headers.get("last-modified")):
        return max(0.0, min(HEURISTIC_LIMIT, (date - changed) * HEURISTIC_SHARE) - age)
    return max(0.0, UNSAID - age)
