"""HTML parsing within limits on size and nesting, which hostile markup would exceed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import lxml.html
from lxml import etree

from core.model import SkipReason, Unreadable

HTML_LIMIT = 1_500_000
"""Characters of HTML that are read; what follows is cut off."""

MAX_DEPTH = 1_500
"""Levels of nesting. Real pages have dozens, careless ones hundreds; parsers go quadratic or recurse."""

MAX_ELEMENTS, MAX_NESTING = 30_000, 1_000_000
"""What the accurate extractor reads at most: elements, and the sum of their depths. It takes 70 µs for an element and
1.4 µs for each element around one, so two seconds or so; the largest honest pages have half of these elements."""

MAX_NESTING_AT_ALL = 3_000_000
"""The sum of depths from which no extractor is tried: unclosed tags around very many elements, which parsers of HTML 5
open again in each of them."""

_TAG = re.compile(r"<(/?)([a-z][a-z0-9:-]*)")
_SELF_CLOSING = frozenset({
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option", "p",
    "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
})  # fmt: skip
"""Elements that hold none, or end where the next of their kind begins: alone they nest nothing."""
_OPAQUE = re.compile(r"<(!--|script\b|style\b)")
_CLOSING = {"!--": "-->", "script": "</script", "style": "</style"}
_MUCH_DATA = 100_000
"""Characters from which a script or a style sheet of a page beyond the limit is left out rather than its text."""
_PROLOGUE = re.compile(r"^\s*<\?xml[^>]*>")
# lxml's own lookup asks a Python function for the class of every element that is touched, a tenth of the time
# of an extraction; nothing here needs its special classes for forms and fields.
_CLASSES = etree.ElementDefaultClassLookup(
    element=lxml.html.HtmlElement,
    comment=lxml.html.HtmlComment,
    pi=lxml.html.HtmlProcessingInstruction,
    entity=lxml.html.HtmlEntity,
)


@dataclass(frozen=True, slots=True)
class MarkupSize:
    """How much work a page's tags are: parsers and extractors look at elements, and at what is around them."""

    elements: int = 0
    depth: int = 0
    nesting: int = 0
    """The sum of the depths of all elements."""

    @property
    def excess(self) -> str:
        """Why the accurate extractor does not read the page, in words; empty: it does."""
        if self.elements > MAX_ELEMENTS:
            return f"the page has {self.elements:,} elements, more than {MAX_ELEMENTS:,}"
        if self.nesting > MAX_NESTING:
            return "the page has too many elements for how deep they are nested"
        return ""

    @classmethod
    def of(cls, html: str) -> MarkupSize:
        """The size, in linear time and without a parser. Where tags do not match it is an upper bound: an end tag
        closes the last element of its own name only."""
        if html.count("<") < MAX_DEPTH:
            return cls()
        lowered = html.lower()
        opened: Counter[str] = Counter()
        elements = depth = deepest = nesting = 0
        for closing, name in _TAG.findall(_strip_opaque(lowered, lowered)):
            if not closing:
                elements += 1
                nesting += depth
            if name in _SELF_CLOSING:
                continue
            if not closing:
                opened[name] += 1
                depth += 1
                deepest = max(deepest, depth)
            elif opened[name]:
                opened[name] -= 1
                depth -= 1
        return cls(elements, deepest, nesting)


def truncate_html(html: str) -> tuple[str, MarkupSize]:
    """The HTML, cut at `HTML_LIMIT` characters of which large scripts take none, and its size.

    Raises:
        Unreadable: BROKEN when its tags are nested too deep to be worth parsing.
    """
    if len(html) > HTML_LIMIT:
        lowered = html.replace("\u0130", "i").lower()  # of all letters, only this one would become two
        html = _strip_opaque(html, lowered, _MUCH_DATA)[:HTML_LIMIT]
    size = MarkupSize.of(html)
    if size.depth > MAX_DEPTH:
        raise Unreadable(SkipReason.BROKEN, f"tags nested more than {MAX_DEPTH:,} levels deep")
    if size.nesting > MAX_NESTING_AT_ALL:
        raise Unreadable(
            SkipReason.BROKEN, f"{size.elements:,} elements nested up to {size.depth:,} levels deep"
        )
    return html, size


def _strip_opaque(html: str, lowered: str, least: int = 0) -> str:
    """The markup without comments, scripts and styles, or without the latter two of `least` characters. One pass: a pattern
    with a lazy middle would search to the end of the page for every opening that is never closed."""
    pieces: list[str] = []
    offset = 0
    while (opening := _OPAQUE.search(lowered, offset)) is not None:
        pieces.append(html[offset : opening.start()])
        end = lowered.find(_CLOSING[opening[1]], opening.end())
        if end < 0:
            return "".join([*pieces, html[opening.start() :] if least else ""])
        offset = end + len(_CLOSING[opening[1]])
        if offset - opening.start() < least or (least and opening[1] == "!--"):
            pieces.append(html[opening.start() : offset])
    return "".join([*pieces, html[offset:]])


def parse_html(html: str) -> lxml.html.HtmlElement:
    """The document's tree, without comments.

    Raises:
        Unreadable: BROKEN when no tree comes of it, EMPTY when there is nothing in it.
    """
    html = _PROLOGUE.sub("", html)
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
