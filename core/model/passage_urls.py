"""Addresses of passages, so that a collection can be read like a web: search names them, reading follows them."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

LIBRARY_HOST = "library.openquery.example"
"""A reserved name (RFC 2606): nobody can ever own it, so no real page hides behind it."""

_PASSAGE_URL = re.compile(rf"https://{re.escape(LIBRARY_HOST)}/([^/?#]+)/([^/?#]+)")


def passage_url(collection: str, passage: str) -> str:
    return f"https://{LIBRARY_HOST}/{quote(collection, safe='')}/{quote(passage, safe='')}"


def passage_at_url(url: str) -> tuple[str, str] | None:
    """The collection and the id that an address names; None when it is no passage's address."""
    match = _PASSAGE_URL.fullmatch(url)
    return (unquote(match[1]), unquote(match[2])) if match else None


def site(url: str) -> str:
    """The host as a person would say it; of a passage, its collection."""
    if named := passage_at_url(url):
        return f"library: {named[0]}"
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
