"""URLs of library passages, by which a run finds and reads them as it does web pages."""

import re
from urllib.parse import quote, unquote, urlsplit

LIBRARY_HOST = "library.openquery.example"
"""A reserved domain (RFC 2606), which no real page can have."""

_PASSAGE_URL = re.compile(rf"https://{re.escape(LIBRARY_HOST)}/([^/?#]+)/([^/?#]+)")


def passage_url(collection: str, passage: str) -> str:
    """The URL of the passage with this id in this collection."""
    return f"https://{LIBRARY_HOST}/{quote(collection, safe='')}/{quote(passage, safe='')}"


def document_url(collection: str, source: str) -> str:
    """The URL of a document without an address of its own, by its collection or data set and its source, such as the name
    of its file."""
    return f"https://{LIBRARY_HOST}/{quote(collection, safe='')}?source={quote(source, safe='')}"


def passage_at_url(url: str) -> tuple[str, str] | None:
    """The collection and the id in a passage's URL; None for any other URL."""
    match = _PASSAGE_URL.fullmatch(url)
    return (unquote(match[1]), unquote(match[2])) if match else None


def collection_at_url(url: str) -> str:
    """The collection in a passage's URL; empty for any other URL."""
    return (passage_at_url(url) or ("", ""))[0]


def site(url: str) -> str:
    """The host without `www.`; for a passage's URL, the name of its collection, and for a document without an address of
    its own that of its collection or data set."""
    if reference := passage_at_url(url):
        return f"library: {reference[0]}"
    try:
        address = urlsplit(url)
    except ValueError:
        return ""
    if address.hostname == LIBRARY_HOST:
        return unquote(address.path.strip("/"))
    return (address.hostname or "").removeprefix("www.")
