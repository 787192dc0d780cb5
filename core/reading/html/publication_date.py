"""The day of publication that a page shows in its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import islice
from typing import Any

import lxml.html
from lxml import etree

from core.text.facts.written_days import written_day

_TEXTS: Any = etree.XPath(
    "|".join(
        f"descendant::{tag}/text()" for tag in ("div", "h2", "h3", "h4", "li", "p", "span", "time", "ul")
    ),
    smart_strings=False,
)
_TIMES: Any = etree.XPath("descendant::abbr[@title]|descendant::time")
_MAX_ELEMENTS = 1_000
_LEAST, _LONGEST = 6, 60
"""Characters of a text with a day, between which it may be read."""
_DIGIT = re.compile(r"\d")


def publication_date(tree: lxml.html.HtmlElement) -> str:
    """Return the day of publication (ISO 8601), or "".

    It is the first day in an element that is named after dates, in the title, or in a `time` element. If there is none, it
    is the oldest day that is most of a short text.
    """
    latest = date.today() + timedelta(days=1)
    language = tree.get("lang") or ""

    def first(texts: Iterable[str]) -> date | None:
        days = (written_day(text, language) for text in texts if _DIGIT.search(text))
        return next((day for day in days if day is not None and day <= latest), None)

    day = (
        first(_marked(tree))
        or first(_opening(element) for element in tree.iter("title", "h1"))
        or first(_times(tree))
    )
    if day is None:
        short = (text.strip() for text in _TEXTS(tree))
        days = (
            written_day(text, language)
            for text in short
            if _LEAST < len(text) < _LONGEST and _DIGIT.search(text)
        )
        day = min((day for day in days if day is not None and day <= latest), default=None)
    return "" if day is None else day.isoformat()


def _marked(tree: lxml.html.HtmlElement) -> Iterator[str]:
    """Yield the texts of elements whose names speak of dates or authors."""
    from htmldate.core import date_candidates

    for element in islice(date_candidates(tree, extensive_search=True), _MAX_ELEMENTS):
        yield _opening(element)
        yield element.get("title", "")


def _times(tree: lxml.html.HtmlElement) -> Iterator[str]:
    for element in islice(_TIMES(tree), _MAX_ELEMENTS):
        yield element.get("datetime") or element.get("title") or _opening(element)


def _opening(element: lxml.html.HtmlElement) -> str:
    """Return the first words of an element, with a blank between its texts."""
    pieces, length = [], 0
    for text in element.itertext():
        if words := text.split():
            pieces += words
            length += sum(map(len, words)) + len(words)
            if length > _LONGEST:
                break
    return " ".join(pieces)[:_LONGEST]
