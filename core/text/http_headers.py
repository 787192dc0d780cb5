"""HTTP headers (RFC 9110): numbers, dates and hosts in them, and the freshness of a reply (RFC 9111)."""

import ipaddress
import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import quote

HEURISTIC_SHARE = 0.1
"""The share of a page's age for which it is fresh if only its last change is known.

RFC 9111, 4.2.2 calls it typical.
"""
HEURISTIC_LIMIT = 24 * 3600.0
UNSAID = 300.0
"""The lifetime in seconds without any header."""
_DIRECTIVE = re.compile(r'([a-z-]+)(?:\s*=\s*"?(\d+)"?)?')
_NEVER = frozenset(("no-store", "no-cache", "private", "must-understand"))
_NUMBER = re.compile(r"(\d{1,18})\d*(\.\d{1,9})?\d*", re.ASCII)
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNIT = r"(ms|milliseconds?|msecs?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)"
_AMOUNT = re.compile(rf"(\d{{1,9}}(?:\.\d{{1,9}})?)\s?{_UNIT}\b", re.ASCII | re.IGNORECASE)
_DURATION = re.compile(
    rf"\d{{1,9}}(?:\.\d{{1,9}})?\s?{_UNIT}(?:[\s,]{{0,2}}(?:and )?\d{{1,9}}(?:\.\d{{1,9}})?\s?{_UNIT}){{0,4}}",
    re.ASCII | re.IGNORECASE,
)
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::(\d{1,5}))?")


def header_number(header: str | None) -> float | None:
    """Return a header as a number from 0 to below 1e18, or None."""
    match = _NUMBER.fullmatch((header or "").strip())
    return float(f"{match[1]}{match[2] or ''}") if match else None


def header_date(header: str | None) -> float | None:
    """Return a header's date since the epoch, or None. The default zone is UTC."""
    try:
        date = parsedate_to_datetime(header or "")
        return date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def duration(text: str) -> float | None:
    """Return the seconds of a duration such as `6m0s`, `350ms` or `1 minute, 30 seconds`, or None."""
    if not _DURATION.fullmatch(text.strip()):
        return None
    return sum(float(number) * _unit_seconds(unit) for number, unit in _AMOUNT.findall(_apart(text)))


def _apart(text: str) -> str:
    """Separate the amounts of a duration by blanks: `6m0s` becomes `6m 0s`."""
    return re.sub(r"(?<=[a-z])(?=\d)", " ", text, flags=re.IGNORECASE)


def _unit_seconds(unit: str) -> float:
    unit = unit.lower()
    return _UNIT_SECONDS["ms" if unit.startswith(("ms", "milli")) else unit[0]]


def retry_after(header: str | None) -> float | None:
    """Return the seconds in a `Retry-After` header, or None.

    The header may be a number, a duration with units, or a date. The result is never negative.
    """
    seconds = header_number(header)
    if seconds is None:
        seconds = duration(header or "")
    if seconds is not None:
        return seconds
    date = header_date(header)
    return None if date is None else max(0.0, date - time.time())


def host_and_port(header: str) -> tuple[str, str]:
    """Return the normalised name or address in a `Host` header, and the port.

    Letters are in lower case, and addresses in their shortest spelling. An IPv4 address inside IPv6 becomes IPv4. Both
    are "" for a malformed header.
    """
    parts = _HOST.fullmatch(header.lower())
    if parts is None:
        return "", ""
    name, port = (parts[1] or parts[2]).rstrip("."), parts[3] or ""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return (name, port) if parts[2] else ("", "")
    return str(getattr(address, "ipv4_mapped", None) or address), port


def is_loopback(name: str) -> bool:
    """Return whether a name from `host_and_port` is this machine's own loopback address."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


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


def attachment(name: str) -> dict[str, str]:
    """Return the header of a file to be saved under a name (RFC 6266).

    Programs such as `curl -OJ` know the older `filename` alone, which is ASCII.
    """
    plain = re.sub(r"[^\w. ~-]", "_", name, flags=re.ASCII)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return {"Content-Disposition": disposition}
