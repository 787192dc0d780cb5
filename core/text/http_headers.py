"""Numbers, dates and hosts in HTTP headers (RFC 9110): `Retry-After`, `Age`, `Content-Length`, `Expires`, `Host`."""

import ipaddress
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"(\d{1,18})\d*(\.\d{1,9})?\d*", re.ASCII)
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


def retry_after(header: str | None) -> float | None:
    """Return the seconds in a `Retry-After` header, or None.

    The header may be a number or a date. The result is never negative.
    """
    seconds = header_number(header)
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
