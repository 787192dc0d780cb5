"""Small pieces of HTML. Every value from outside passes `render.escape_html` on its way in."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from urllib.parse import quote, urlsplit

from core.model.passage_urls import passage_at_url
from core.text.safe_markdown import escape_html, web_address

DEMO_HOST = "handbook.openquery.example"
"""Where the articles of the demo library pretend to be; this app shows them on its Handbook page."""


def icon(name: str, extra: str = "") -> str:
    return f'<span class="oq-icon {extra}" aria-hidden="true">{name}</span>'


def sign(symbol: str, spoken: str, classes: str) -> str:
    """A state as a symbol, said to those who do not see it."""
    told = escape_html(spoken)
    return f'<span class="{classes}" role="img" aria-label="{told}" title="{told}">{icon(symbol)}</span>'


def chip(text: str, symbol: str = "", tone: str = "") -> str:
    inner = f"{icon(symbol)}{escape_html(text)}" if symbol else escape_html(text)
    return f'<span class="oq-chip {tone}">{inner}</span>'


def kicker(text: str, note: str = "") -> str:
    after = f"<span>{escape_html(note)}</span>" if note else ""
    return f'<div class="oq-kicker">{escape_html(text)}{after}</div>'


def empty(text: str, symbol: str = "hourglass_empty") -> str:
    return f'<div class="oq-empty">{icon(symbol)}{escape_html(text)}</div>'


def fact(value: str, label: str, hint: str = "", tone: str = "") -> str:
    title = f' title="{escape_html(hint)}"' if hint else ""
    return f'<span class="{tone}"{title}><b>{escape_html(value)}</b> {escape_html(label)}</span>'


def facts(*parts: str) -> str:
    return f'<div class="oq-facts">{"".join(parts)}</div>'


def meter(share: float) -> str:
    """A bar that is filled from 0 to 1."""
    return f'<div class="oq-meter"><i style="width:{max(0.0, min(share, 1.0)):.1%}"></i></div>'


def duration(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def size(count: int) -> str:
    """Bytes as a person would say them."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def table_key(name: str, listed: Iterable[Hashable]) -> str:
    """The key of a table with a selection, which Streamlit keeps by row number: other rows, another key."""
    return f"{name}_{hash(tuple(listed)):x}"


def way_out(url: str, page: int | None = None) -> str:
    """Where "Open" leads: the page's address, the app's own pages for demo articles and for passages of the
    library, nowhere if unsafe. `page` is the number of a page in a paged document.
    """
    if named := passage_at_url(url):
        return _in_library(*named)
    safe = web_address(url)
    parts = urlsplit(safe)
    if parts.hostname == DEMO_HOST:
        return f"/handbook?article={quote(parts.path.strip('/'), safe='-')}"
    return f"{safe}#page={page}" if safe and page and not parts.fragment else safe


def said(url: str) -> str:
    """An address as a person reads it; of a passage, where it is kept."""
    named = passage_at_url(url)
    return f"in the collection {named[0]}" if named else url


def _in_library(collection: str, passage: str) -> str:
    return f"/library?collection={quote(collection, safe='')}&passage={quote(passage, safe='')}"


def passage_link(collection: str, passage: str, label: str) -> str:
    """`label` as a link to where a passage stands in its document."""
    target = escape_html(_in_library(collection, passage))
    return f'<a href="{target}" target="_blank" rel="noopener">{escape_html(label)}</a>'


def link_out(url: str, label: str) -> str:
    """`label` as a link to another tab, or alone when the address may not be opened."""
    target = way_out(url)
    if not target:
        return escape_html(label)
    return f'<a href="{escape_html(target)}" target="_blank" rel="noopener noreferrer nofollow">{escape_html(label)}</a>'
