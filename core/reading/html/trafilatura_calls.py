"""Calls of trafilatura and of its date finder htmldate, and the two patches of them."""

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
    """The article's text; empty when none is found. `fast` leaves out trafilatura's second opinions."""
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
    """The article's text and its comments, without trafilatura's second opinions; empty when none is found."""
    extraction = _trafilatura().bare_extraction(
        tree, url=url, fast=True, include_comments=True, include_tables=True, with_metadata=False
    )
    return (extraction.text or "", extraction.comments or "") if extraction is not None else ("", "")


def author(tree: lxml.html.HtmlElement) -> str:
    """The names in the byline, by trafilatura's paths; empty when there is none."""
    trafilatura = _trafilatura()
    # trafilatura copies the tree, without the parts that are no bylines: in vain if there are none anywhere.
    if not any(path(tree) for path in trafilatura.xpaths.AUTHOR_XPATHS):
        return ""
    return person((trafilatura.metadata.extract_author(tree) or "").replace("; ", ", "))


def publication_date(tree: lxml.html.HtmlElement, url: str) -> str:
    """The day of publication (ISO 8601) by htmldate, which also reads bylines; empty when it finds none."""
    try:
        return _htmldate().find_date(tree, url=url, extensive_search=True, original_date=True) or ""
    except (ValueError, TypeError, OverflowError, etree.LxmlError):
        return ""


@cache
def _htmldate() -> Any:
    """htmldate without dateparser, its last resort for texts that may be dates.

    dateparser takes a second to start (https://github.com/scrapinghub/dateparser/issues/1051), and twenty
    milliseconds for each text that is no date, for one more date in a hundred pages. htmldate has no option for it;
    `has_date_cue` is what it asks before it calls dateparser.
    """
    import htmldate
    from htmldate import extractors

    extractors.has_date_cue = lambda *_: False
    return htmldate


@cache
def _trafilatura() -> Any:
    """Return trafilatura with faster expressions."""
    import trafilatura.metadata
    import trafilatura.xpaths

    make_paths_faster(*(module for name, module in [*sys.modules.items()] if name.startswith("trafilatura.")))
    # It reports every page that it discards; those reports reach a person as reasons already.
    for logger in ("trafilatura", "htmldate"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return trafilatura
