"""Calls of trafilatura and its date finder htmldate, with two patches."""

import logging
import sys
from functools import cache
from typing import Any

import lxml.html
from lxml import etree

from core.reading.html.faster_xpath import make_paths_faster
from core.reading.html.metadata import person
from core.reading.normalization import paragraphs


def article_text(tree: lxml.html.HtmlElement, url: str, *, fast: bool) -> str:
    """Return the article's text, or "". `fast` leaves out trafilatura's second opinions."""
    extraction = _trafilatura().bare_extraction(
        tree,
        url=url,
        fast=fast,
        favor_precision=True,
        include_comments=False,
        include_tables=True,
    )
    return paragraphs(extraction.text or "") if extraction is not None else ""


def article_and_comments(tree: lxml.html.HtmlElement, url: str) -> tuple[str, str]:
    """Return the article's text and comments, or "". Trafilatura's second opinions are left out."""
    extraction = _trafilatura().bare_extraction(
        tree, url=url, fast=True, include_comments=True, include_tables=True, with_metadata=False
    )
    return (extraction.text or "", extraction.comments or "") if extraction is not None else ("", "")


def author(tree: lxml.html.HtmlElement) -> str:
    """Return the names in the byline, by trafilatura's paths, or ""."""
    trafilatura = _trafilatura()
    # trafilatura copies the tree without the parts that are not bylines, which is useless without any
    # bylines.
    if not any(path(tree) for path in trafilatura.xpaths.AUTHOR_XPATHS):
        return ""
    return person((trafilatura.metadata.extract_author(tree) or "").replace("; ", ", "))


def publication_date(tree: lxml.html.HtmlElement, url: str) -> str:
    """Return the day of publication (ISO 8601) by htmldate, or "". htmldate reads bylines too."""
    try:
        return _htmldate().find_date(tree, url=url, extensive_search=True, original_date=True) or ""
    except (ValueError, TypeError, OverflowError, etree.LxmlError):
        return ""


@cache
def _htmldate() -> Any:
    """Return htmldate without its two last resorts, for which it has no option.

    dateparser takes a second to start (https://github.com/scrapinghub/dateparser/issues/1051), and twenty
    milliseconds for each text that is no date, for one more date in a hundred pages. htmldate calls
    `has_date_cue` before dateparser. `search_page` looks for dates anywhere in the markup, and makes one of a
    copyright notice. It takes two thirds of the time, and more of its dates are wrong than right.
    """
    import htmldate
    from htmldate import core, extractors

    core.search_page = lambda *_: None
    extractors.has_date_cue = lambda *_: False
    return htmldate


@cache
def _trafilatura() -> Any:
    """Return trafilatura with faster expressions."""
    import trafilatura.metadata
    import trafilatura.xpaths

    make_paths_faster(*(module for name, module in [*sys.modules.items()] if name.startswith("trafilatura.")))
    # It reports every page that it discards. A person already sees these reports as reasons.
    for logger in ("trafilatura", "htmldate"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return trafilatura
