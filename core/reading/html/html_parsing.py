"""HTML parsing within limits on size and nesting, which hostile markup would exceed."""

from __future__ import annotations

import re
from itertools import accumulate

import lxml.html
from lxml import etree

from core.model import SkipReason, Unreadable

HTML_LIMIT = 1_500_000
"""Characters of HTML that are read; what follows is cut off."""

MAX_DEPTH = 1_500
"""Levels of nesting. Real pages have dozens, careless ones hundreds; parsers go quadratic or recurse."""

_NESTING_TAG = re.compile(
    r"<(/?)(?!(?:area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|param|source|tbody|td|tfoot"
    r"|th|thead|tr|track|wbr)[\s/>])[a-z]",
)
_OPAQUE = re.compile(r"<(!--|script\b|style\b)")
_CLOSING = {"!--": "-->", "script": "</script", "style": "</style"}
_PROLOGUE = re.compile(r"^\s*<\?xml[^>]*>")
# lxml's own lookup asks a Python function for the class of every element that is touched, a tenth of the time
# of an extraction; nothing here needs its special classes for forms and fields.
_CLASSES = etree.ElementDefaultClassLookup(
    element=lxml.html.HtmlElement,
    comment=lxml.html.HtmlComment,
    pi=lxml.html.HtmlProcessingInstruction,
    entity=lxml.html.HtmlEntity,
)


def truncate_html(html: str) -> str:
    """The HTML, cut at `HTML_LIMIT` characters.

    Raises:
        Unreadable: BROKEN when its tags are nested too deep to be worth parsing.
    """
    html = html[:HTML_LIMIT]
    if html.count("<") > MAX_DEPTH:
        steps = (-1 if tag else 1 for tag in _NESTING_TAG.findall(_strip_opaque(html.lower())))
        lowest = highest = 0
        for depth in accumulate(steps):
            lowest = min(lowest, depth)
            highest = max(highest, depth - lowest)
        if highest > MAX_DEPTH:
            raise Unreadable(SkipReason.BROKEN, f"tags nested more than {MAX_DEPTH:,} levels deep")
    return html


def _strip_opaque(html: str) -> str:
    """The markup without comments, scripts and styles, whose text is not made of tags. One pass: a pattern
    with a lazy middle would search to the end of the page for every opening that is never closed."""
    pieces: list[str] = []
    at = 0
    while (opening := _OPAQUE.search(html, at)) is not None:
        pieces.append(html[at : opening.start()])
        end = html.find(_CLOSING[opening[1]], opening.end())
        if end < 0:
            return "".join(pieces)
        at = end + len(_CLOSING[opening[1]])
    return "".join([*pieces, html[at:]])


def parse_html(html: str) -> lxml.html.HtmlElement:
    """The document's tree, without comments.

    Raises:
        Unreadable: BROKEN when no tree comes of it, EMPTY when there is nothing in it.
    """
    html = _PROLOGUE.sub("", html.replace("\x00", ""))
    parser = lxml.html.HTMLParser(
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,  # the limits here are narrower, and libxml2's own would silently drop what is deep
        collect_ids=False,
    )
    parser.set_element_class_lookup(_CLASSES)
    try:
        return lxml.html.document_fromstring(html.encode("utf-8", errors="ignore"), parser=parser)
    except etree.ParserError as error:
        raise Unreadable(SkipReason.EMPTY, "the page has no content") from error
    except (etree.LxmlError, ValueError) as error:
        raise Unreadable(SkipReason.BROKEN, "no HTML that a parser understands") from error
