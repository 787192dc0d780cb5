"""HTML fragments and formatting of durations, sizes and addresses. All values are escaped here."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from core.model.passage_urls import passage_at_url
from core.text.markdown.safe_markdown import escape_html, web_address

DEMO_HOST = "handbook.openquery.example"
"""Host of the demo library's articles, which the Handbook page shows."""


def icon(name: str, extra: str = "") -> str:
    return f'<span class="oq-icon {extra}" aria-hidden="true">{name}</span>'


def status_icon(symbol: str, label: str, classes: str) -> str:
    """An icon with an accessible label and tooltip."""
    text = escape_html(label)
    return f'<span class="{classes}" role="img" aria-label="{text}" title="{text}">{icon(symbol)}</span>'


def chip(text: str, symbol: str = "", tone: str = "") -> str:
    inner = f"{icon(symbol)}{escape_html(text)}" if symbol else escape_html(text)
    return f'<span class="oq-chip {tone}">{inner}</span>'


def kicker(text: str, note: str = "", *swatches: tuple[str, str]) -> str:
    """The heading of a section, with a note beside it; without a text only the note.

    `swatches` explain the marks of a chart: pairs of a class and the words beside the mark.
    """
    heading = f"<h2>{escape_html(text)}</h2>" if text else ""
    after = f"<span>{escape_html(note)}</span>" if note else ""
    marks = "".join(
        f'<span class="mark {name}"><i></i>{escape_html(words)}</span>' for name, words in swatches
    )
    return f'<div class="oq-kicker">{heading}{after}{marks}</div>'


def empty(text: str, symbol: str = "hourglass_empty") -> str:
    return f'<div class="oq-empty">{icon(symbol)}{escape_html(text)}</div>'


def fact(value: str, label: str, hint: str = "", tone: str = "") -> str:
    title = f' title="{escape_html(hint)}"' if hint else ""
    return f'<span class="{tone}"{title}><b>{escape_html(value)}</b> {escape_html(label)}</span>'


def facts(*parts: str) -> str:
    return f'<div class="oq-facts">{"".join(parts)}</div>'


def legend(*entries: tuple[str, str]) -> str:
    """Swatches with their meanings: pairs of a class and the words beside the swatch."""
    inner = "".join(f'<span class="{name}"><i></i>{escape_html(words)}</span>' for name, words in entries)
    return f'<div class="oq-legend">{inner}</div>'


def scale(low: str, high: str) -> str:
    """A scale of colours from `low` to `high`."""
    return (
        f'<div class="oq-scale"><span>{escape_html(low)}</span><i></i><span>{escape_html(high)}</span></div>'
    )


def meter(share: float) -> str:
    """A horizontal bar; `share` is from 0 to 1."""
    return f'<div class="oq-meter"><i style="width:{max(0.0, min(share, 1.0)):.1%}"></i></div>'


def duration(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def size(count: int) -> str:
    """A number of bytes in kB, MB or GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def open_url(url: str, page: int | None = None) -> str:
    """The target of an "Open" link: the page's address, or this app's page for demo articles and library passages.

    Empty when the address is unsafe. `page` is a page number in a paged document.
    """
    if passage_reference := passage_at_url(url):
        return _in_library(*passage_reference)
    safe = web_address(url)
    parts = urlsplit(safe)
    if parts.hostname == DEMO_HOST:
        return f"/handbook?article={quote(parts.path.strip('/'), safe='-')}"
    return f"{safe}#page={page}" if safe and page and not parts.fragment else safe


def display_url(url: str) -> str:
    """An address for display; for a library passage, the name of its collection."""
    passage_reference = passage_at_url(url)
    return f"in the collection {passage_reference[0]}" if passage_reference else url


def _in_library(collection: str, passage: str) -> str:
    return f"/library?collection={quote(collection, safe='')}&passage={quote(passage, safe='')}"


def passage_link(collection: str, passage: str, label: str) -> str:
    """`label` as a link to a passage in its document."""
    target = escape_html(_in_library(collection, passage))
    return f'<a href="{target}" target="_blank" rel="noopener">{escape_html(label)}</a>'


def link_out(url: str, label: str) -> str:
    """`label` as a link that opens in another tab; without a link when the address is unsafe."""
    target = open_url(url)
    if not target:
        return escape_html(label)
    return f'<a href="{escape_html(target)}" target="_blank" rel="noopener noreferrer nofollow">{escape_html(label)}</a>'
