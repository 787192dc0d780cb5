"""Captions of tables, written as first rows of their tables.

Extractors drop `caption` elements, and take tables and code in a figure for parts of a picture.
"""

from __future__ import annotations

import re

_CAPTION, _FIGURE, _FIGCAPTION, _TABLE = "<caption", "<figure", "<figcaption", "<table"
_CAPTION_END = re.compile(r"</caption\s*>|(?=</?(?:thead|tbody|tfoot|tr|td|th|col|colgroup|table)\b)")
"""The end of a caption, whose end tag may be missing."""
_STRUCTURE = re.compile(r"</?(?:h[1-6]|table|thead|tbody|tfoot|tr|td|th)\b[^<>]*>", re.IGNORECASE)
"""Tags that would make a layout table of the caption's table, or end its row."""
_UNSEEN = re.compile(
    r"\b(?:sr-only|visually-?hidden|screen-reader(?:-text|-only)?|u-hidden|offscreen)\b", re.IGNORECASE
)
"""Classes of texts that only screen readers speak."""
_TAG, _WORD = re.compile("<[^<>]*>"), re.compile(r"\w")


def write_captions(html: str) -> str:
    """Return markup in which captions of tables are rows.

    A figure with tables or preformatted text is no picture, and becomes a division. The caption of its one table is a row
    too. It takes linear time.
    """
    lowered = _lowered(html)
    if _FIGURE in lowered:
        html = _without_figures(html, lowered)
        lowered = _lowered(html)
    return _with_rows(html, lowered) if _CAPTION in lowered else html


def _lowered(html: str) -> str:
    """Return markup in lower case, of equal length. Of all letters, only this one would become two characters."""
    return html.replace("\u0130", "i").lower()


def _with_rows(html: str, lowered: str) -> str:
    """Return markup with a row in place of each `caption` element."""
    pieces, done = [], 0
    while (start := lowered.find(_CAPTION, done)) >= 0:
        opened = lowered.find(">", start)
        end = _CAPTION_END.search(lowered, opened) if opened >= 0 else None
        if end is None:
            break
        attributes, text = html[start + len(_CAPTION) : opened], html[opened + 1 : end.start()]
        pieces += [html[done:start], _row(attributes, text)]
        done = end.end()
    return "".join([*pieces, html[done:]])


def _without_figures(html: str, lowered: str) -> str:
    """Return markup with a division in place of each figure that is no picture."""
    pieces, done = [], 0
    while (first := lowered.find(_FIGURE, done)) >= 0:
        end = lowered.find("</figure", first)
        closed = lowered.find(">", end) + 1
        if end < 0 or not closed:
            break
        start = lowered.rfind(_FIGURE, first, end)
        pieces += [html[done:start], _figure(html[start:closed], lowered[start:closed])]
        done = closed
    return "".join([*pieces, html[done:]])


def _figure(figure: str, lowered: str) -> str:
    """Return a figure with a table or preformatted text as a division, and pictures as they are."""
    tables, has_code = lowered.count(_TABLE), "<pre" in lowered
    if not tables and not has_code:
        return figure
    inside = figure[len(_FIGURE) : lowered.rfind("</figure")]
    if tables != 1 or has_code:
        return f"<div{inside}</div>"
    start = lowered.find(_FIGCAPTION)
    opened, end = lowered.find(">", start), lowered.find("</figcaption", start)
    row = ""
    if 0 <= start < opened < end:
        row = _row(figure[start + len(_FIGCAPTION) : opened], figure[opened + 1 : end])
        closed = lowered.find(">", end) + 1
        inside = figure[len(_FIGURE) : start] + figure[closed : lowered.rfind("</figure")]
    table = inside.find(">", _lowered(inside).find(_TABLE)) + 1
    return f"<div{inside[:table]}{row}{inside[table:]}</div>"


def _row(attributes: str, text: str) -> str:
    """Return a caption as the head of its table, with the attributes that may hide it."""
    if _UNSEEN.search(attributes) or not _WORD.search(_TAG.sub(" ", text)):
        return ""
    return f"<thead><tr{attributes}><td>{_STRUCTURE.sub(' ', text)}</td></tr></thead>"
