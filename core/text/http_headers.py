"""Numbers, dates and hosts in HTTP headers (RFC 9110): `Retry-After`, `Age`, `Content-Length`, `Expires`, `Host`."""

import ipaddress
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"(\d{1,18})\d*(\.\d{1,9})?\d*", re.ASCII)
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::(\d{1,5}))?")


def header_number(header: str | None) -> float | None:
    """The header as a number from 0 up, below 1e18; None when it is absent or no number."""
    match = _NUMBER.fullmatch((header or "").strip())
    return float(f"{match[1]}{match[2] or ''}") if match else None


def header_date(header: str | None) -> float | None:
    """The header's date in seconds since the epoch; None when it is absent or no date. Without a zone it is UTC."""
    try:
        date = parsedate_to_datetime(header or "")
        return date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def retry_after(header: str | None) -> float | None:
    """Seconds from now that a `Retry-After` header asks to wait, from 0 up, given as a number or as a date.

    None when the header is absent or neither of these.
    """
    seconds = header_number(header)
    if seconds is not None:
        return seconds
    date = header_date(header)
    return None if date is None else max(0.0, date - time.time())


def host_and_port(header: str) -> tuple[str, str]:
    """The name or address in a `Host` header, in lower case and its shortest spelling, and the port as it is given.

    An address of IPv4 in one of IPv6 is the former. Both are empty when the header is malformed.
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
    """Whether an address, or a name as `host_and_port` gives it, is this machine's own in every network."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
