"""Documents from the web through the safe client: single addresses, and those in a sitemap."""

from __future__ import annotations

from urllib.parse import urlsplit

from core.config.knobs import ReadKnobs
from core.model import Document, Extractor, SkipReason, Unreadable
from core.ports import Extract, Fetch
from core.reading.file_types import SITEMAP
from core.reading.sitemap import LISTS

_SECONDS = 60.0
_MOST_MEGABYTES = 50.0
_DEEPEST = 3
"""Levels of nested sitemaps. The protocol has two."""
_MOST_LISTS = 100


async def fetch_document(url: str, web: Fetch, limit: int) -> Document:
    """The body at an address, at most `limit` bytes, robots.txt honoured.

    Raises:
        Unreadable: when it cannot be fetched, with the reason.
    """
    megabytes = max(0.1, min(limit / 1e6, _MOST_MEGABYTES))
    return await web.fetch_any_type(url, ReadKnobs(page_timeout=_SECONDS, max_megabytes=megabytes))


async def sitemap_addresses(
    url: str, web: Fetch, extract: Extract, limit: int
) -> tuple[tuple[str, ...], str]:
    """At most `limit` addresses in a sitemap and the sitemaps nested in it, and what was left out, in words.

    Only addresses on the sitemap's own host are taken, as the protocol demands, so that a sitemap cannot
    direct requests at another site.

    Raises:
        Unreadable: when the sitemap cannot be fetched or parsed. A nested one is only left out.
    """
    found: dict[str, None] = {}
    foreign = broken = read = 0
    todo = [(url, 1)]
    seen = {url}
    while todo and len(found) <= limit and read < _MOST_LISTS:
        address, depth = todo.pop(0)
        read += 1
        try:
            document = await web.fetch_any_type(
                address, ReadKnobs(page_timeout=_SECONDS, max_megabytes=_MOST_MEGABYTES)
            )
            article = await extract(_as_sitemap(document), Extractor.FAST)
        except Unreadable:
            if depth == 1:
                raise
            broken += 1
            continue
        for named in article.text.split("\n"):
            if _host(named) != _host(url):
                foreign += 1
            elif article.extractor != LISTS:
                found[named] = None
            elif named not in seen and depth < _DEEPEST:
                seen.add(named)
                todo.append((named, depth + 1))
    if not found:
        raise Unreadable(SkipReason.EMPTY, "the sitemap names no address on its own host")
    return tuple(found)[:limit], _left_out(len(found) - limit, foreign, broken, len(todo))


def _left_out(more: int, foreign: int, broken: int, unread: int) -> str:
    parts = (
        "addresses beyond the limit (OPENQUERY_INGEST_FILES)" if more > 0 else "",
        f"{foreign:,} addresses on other hosts" if foreign else "",
        f"{broken:,} sitemaps that could not be read" if broken else "",
        f"{unread:,} further sitemaps" if unread else "",
    )
    listed = ", ".join(filter(None, parts))
    return f"left out: {listed}" if listed else ""


def _as_sitemap(document: Document) -> Document:
    return Document(
        url=document.url, status=document.status, media_type=SITEMAP, charset=None, body=document.body
    )


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
