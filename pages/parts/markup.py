"""HTML elements and formatting for the pages. htpy's elements escape every text.

Durations, sizes and addresses are formatted.
"""

from collections.abc import Iterable
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import streamlit as st
from htpy import Element, Node, a, b, div, h1, h2, i, p, span, table, tbody, th, thead, tr

from core.model.passage_urls import LIBRARY_HOST, passage_at_url
from core.text import display
from core.text.markdown.safe_markdown import web_address
from core.text.sanitize import plural

html, duration = display.html, display.duration
DEMO_HOST = "handbook.openquery.example"
"""Host of the demo library's articles, shown on the Handbook page."""


def show(*nodes: Node, width: Literal["stretch", "content"] = "stretch") -> None:
    """Draw elements and texts on the page. Nothing else gives HTML to Streamlit."""
    st.html(html(*nodes), width=width)


def icon(name: str) -> Element:
    """Return a symbol of the icon font, hidden from screen readers."""
    return span(".oq-icon", aria_hidden="true")[name]


def status_icon(symbol: str, label: str, classes: str) -> Element:
    """An icon with an accessible label and tooltip."""
    return span(class_=classes, role="img", aria_label=label, title=label)[icon(symbol)]


def pick_link(kind: str, name: str, *, current: bool = False, **attributes: Any) -> Element:
    """Return a link for `browser.chart_clicks`. `current` marks the open item."""
    is_current = "true" if current else None
    return a(href=f"#pick-{kind}/{quote(name, safe='')}", **attributes, aria_current=is_current)


def chip(text: Node, symbol: str = "", tone: str = "") -> Element:
    """A short text in a rounded box. Words of others in it belong into `bdi`."""
    return span(class_=["oq-chip", tone])[symbol and icon(symbol), text]


def title(text: str, lead: str = "") -> Node:
    """Return the title of a page, with a sentence on its purpose."""
    return h1(".oq-title")[text], lead and p(".oq-lead")[lead]


def numbered(number: int, text: str, note: str = "") -> Element:
    """Return the numbered heading of a form step, with a note."""
    return div(".oq-numbered")[span(".number")[str(number)], h2[text], note and span[note]]


def section_heading(text: str, note: str = "", *swatches: tuple[str, str], hint: str = "") -> Element:
    """Return the heading of a section with a note. Without a text, only the note.

    `swatches` explain the marks of a chart: pairs of a class and its meaning. `hint` explains text and note.
    """
    marks = (span(class_=["mark", name])[i, words] for name, words in swatches)
    return div(".oq-section-heading", title=hint or None)[text and h2[text], note and span[note], marks]


def empty(text: str, symbol: str = "hourglass_empty") -> Element:
    """Return a placeholder for missing content."""
    return div(".oq-empty")[icon(symbol), text]


def show_empty(text: str, symbol: str = "hourglass_empty") -> None:
    """Draw a placeholder with the reason for missing content."""
    show(empty(text, symbol))


def busy(symbol: str, text: str) -> Element:
    """Return a line about work in progress."""
    return div(".oq-tuned.busy")[icon(symbol), span[text]]


def verdict(text: str, tone: str = "") -> Element:
    """A conclusion in a sentence."""
    return p(class_=["oq-verdict", tone])[text]


def region(classes: str, label: str) -> Element:
    """Return a scrollable part of the page. The keyboard scrolls it too."""
    return div(class_=classes, tabindex="0", role="region", aria_label=label)


def data_table(
    label: str,
    head: Iterable[str | Element],
    rows: Iterable[Node],
    classes: str = "oq-settings",
    **of_table: str,
) -> Element:
    """Return a table in a scrollable region.

    `head` has the texts or cells of its head, `of_table` its attributes.
    """
    cells = (th(scope="col")[cell] if isinstance(cell, str) else cell for cell in head)
    return region(classes, label)[table(of_table)[thead[tr[cells]], tbody[rows]]]


def fact(value: str, label: str, hint: str = "", tone: str = "") -> Element:
    """Return a figure with its noun. `hint` is the tooltip."""
    return span(class_=tone, title=hint or None)[b[value], " ", label]


def count(number: int, noun: str, ending: str = "", hint: str = "", tone: str = "") -> Element:
    """Return a number with its noun, singular or plural. `ending` follows the noun."""
    return fact(f"{number:,}", f"{plural(number, noun)}{ending}", hint, tone)


def author(name: str, hint: str = "") -> Element:
    """Return the model or measure at the end of a line of facts."""
    return span(".who", title=hint or None)[name]


def facts(*parts: Node) -> Element:
    """Facts in a line."""
    return div(".oq-facts")[parts]


def legend(*entries: tuple[str, str]) -> Element:
    """Return swatches with their meanings, from pairs of class and words."""
    return div(".oq-legend")[(span(class_=name)[i, words] for name, words in entries)]


def scale(low: str, high: str) -> Element:
    """A scale of colours from `low` to `high`."""
    return div(".oq-scale")[span[low], i, span[high]]


def meter(share: float) -> Element:
    """Return a horizontal bar. `share` is from 0 to 1."""
    return div(".oq-meter")[i(style=f"width:{max(0.0, min(share, 1.0)):.1%}")]


def size(count: int) -> str:
    """A number of bytes in kB, MB or GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def open_url(url: str, page: int | None = None) -> str:
    """Return the target of an "Open" link, or "".

    It is the page's address, or this app's page for demo articles and library passages. It is "" for an
    unsafe address, and for a document without an address. `page` is a page number in a paged document.
    """
    if passage_reference := passage_at_url(url):
        return _in_library(*passage_reference)
    safe = web_address(url)
    parts = urlsplit(safe)
    if parts.hostname == LIBRARY_HOST:
        return ""
    if parts.hostname == DEMO_HOST:
        return f"/handbook?article={quote(parts.path.strip('/'), safe='-')}"
    return f"{safe}#page={page}" if safe and page and not parts.fragment else safe


def display_url(url: str) -> str:
    """Return an address for display. A library passage shows the name of its collection."""
    passage_reference = passage_at_url(url)
    return f"in the collection {passage_reference[0]}" if passage_reference else url


def _in_library(collection: str, passage: str) -> str:
    return f"/library?collection={quote(collection, safe='')}&passage={quote(passage, safe='')}"


def passage_link(collection: str, passage: str, label: str) -> Element:
    """Return `label` as a link to a passage in its document."""
    return a(href=_in_library(collection, passage), target="_blank", rel="noopener")[label]


def link_out(url: str, label: str) -> Node:
    """Return `label` as a link that opens in another tab.

    An unsafe address gives the label without a link.
    """
    target = open_url(url)
    return a(href=target, target="_blank", rel="noopener noreferrer nofollow")[label] if target else label
