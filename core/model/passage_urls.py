"""URLs of library passages, so that a run finds and reads them like web pages."""

import re
from urllib.parse import quote, unquote, urlsplit

LIBRARY_HOST = "library.openquery.example"
"""A reserved domain (RFC 2606), which no real page can have."""

_PASSAGE_URL = re.compile(rf"https://{re.escape(LIBRARY_HOST)}/([^/?#]+)/([^/?#]+)")


def passage_url(collection: str, passage: str) -> str:
    """Return the URL of a collection's passage by its id."""
    return f"https://{LIBRARY_HOST}/{quote(collection, safe='')}/{quote(passage, safe='')}"


def document_url(collection: str, source: str) -> str:
    """Return the URL of a document without an address.

    `collection` may be a data set, and `source` the name of a file.
    """
    return f"https://{LIBRARY_HOST}/{quote(collection, safe='')}?source={quote(source, safe='')}"


def passage_at_url(url: str) -> tuple[str, str] | None:
    """Return collection and id in a passage's URL, or None."""
    match = _PASSAGE_URL.fullmatch(url)
    return (unquote(match[1]), unquote(match[2])) if match else None


def collection_at_url(url: str) -> str:
    """Return the collection in a passage's URL, or ""."""
    return (passage_at_url(url) or ("", ""))[0]


def site(url: str) -> str:
    """Return the host without `www.`, or a collection's name.

    A passage's URL gives the name of its collection, and the URL of a document without an address gives its collection
    or data set.
    """
    if reference := passage_at_url(url):
        return f"library: {reference[0]}"
    try:
        address = urlsplit(url)
    except ValueError:
        return ""
    if address.hostname == LIBRARY_HOST:
        return unquote(address.path.strip("/"))
    return (address.hostname or "").removeprefix("www.")
