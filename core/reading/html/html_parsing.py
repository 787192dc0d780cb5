"""HTML parsing with limits on size and nesting. Hostile markup would exceed them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import lxml.html
from lxml import etree

from core.model import SkipReason, Unreadable

HTML_LIMIT = 1_500_000
"""Characters of HTML to read. The text after them is cut off."""

MAX_DEPTH = 1_500
"""Levels of nesting. Real pages have dozens, careless pages hundreds. Parsers go quadratic or recurse."""

MAX_ELEMENTS, MAX_NESTING = 30_000, 1_000_000
"""Limits of the accurate extractor: elements, and the sum of their depths.

It takes 70 µs for an element and 1.4 µs for each element around it, so about two seconds. The largest honest
pages have half of these elements.
"""

MAX_NESTING_AT_ALL = 3_000_000
"""The sum of depths above which no extractor is tried.

Unclosed tags around very many elements cause it, because parsers of HTML 5 open them again in each element.
"""

_TAG = re.compile(r"<(/?)([a-z][a-z0-9:-]*)")
_SELF_CLOSING = frozenset({
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option", "p",
    "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
})  # fmt: skip
"""Elements without nested elements, or closed by the next of their kind. Alone they nest nothing."""
_DRAWING = re.compile(r"<svg\b[^<]*(?:<(?!/?svg\b)[^<]*)*</svg\b[^<>]*>")
_TAG_OF_DRAWING = re.compile(
    r"<(/?)(a|circle|clippath|defs|desc|ellipse|g|image|line|lineargradient|marker|mask|path|pattern|polygon|polyline"
    r"|radialgradient|rect|stop|svg|symbol|text|title|tspan|use)"
    r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*\s*(/?)>"""
)
_WITH_HTML = ("desc", "title")
"""Elements of a drawing that may have elements of HTML in them."""
_OPAQUE = re.compile(r"<(!--|script\b|style\b)")
_UNREAD = re.compile(r"<(!--|script\b|style\b|svg\b)")
_CLOSING = {"!--": "-->", "script": "</script", "style": "</style", "svg": "</svg"}
_SHORTEST = {"!--": HTML_LIMIT, "script": 100_000, "style": 100_000, "svg": 0}
"""Characters from which a part is left out of a page beyond the limit. Short scripts may have data of the page."""
_BULK = re.compile(r"""[ \t]{20,}|(?<=[\s-])srcset\s*=\s*(?:"[^"<>]*"|'[^'<>]*')""")
"""What is left out of a page that is still beyond the limit: wide indentation, and sources of pictures by size."""
_CUSTOM = re.compile(r"</[a-zA-Z][a-zA-Z0-9]*-[\w.-]+\s*>")
_FLOWING = frozenset({
    "a", "b", "button", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "i", "label", "p", "pre", "small", "span", "strong",
})  # fmt: skip
"""Elements within whose lines an unknown element stands."""
_HYPHENED: Any = etree.XPath("descendant::*[contains(name(), '-')]")
_LEAST_HELD = 200
"""Characters in elements of a site's own below which their share of the text is not asked."""
_UNSPOKEN = frozenset({"noscript", "script", "style", "template", "title"})
_PROLOGUE = re.compile(r"^\s*<\?xml[^>]*>")
# lxml's own lookup asks a Python function for the class of every touched element, a tenth of an extraction's
# time. Its special classes for forms and fields are not needed here.
_CLASSES = etree.ElementDefaultClassLookup(
    element=lxml.html.HtmlElement,
    comment=lxml.html.HtmlComment,
    pi=lxml.html.HtmlProcessingInstruction,
    entity=lxml.html.HtmlEntity,
)


@dataclass(frozen=True, slots=True)
class MarkupSize:
    """The parsing cost of a page's tags.

    Parsers and extractors visit elements, and the elements around them.
    """

    elements: int = 0
    depth: int = 0
    nesting: int = 0
    """The sum of the depths of all elements."""

    @property
    def excess(self) -> str:
        """Why the accurate extractor refuses the page, or ""."""
        if self.elements > MAX_ELEMENTS:
            return f"the page has {self.elements:,} elements, more than {MAX_ELEMENTS:,}"
        if self.nesting > MAX_NESTING:
            return "the page has too many elements for how deep they are nested"
        return ""

    @classmethod
    def of(cls, html: str) -> MarkupSize:
        """Return the size of markup, in linear time without a parser.

        It is an upper bound if tags do not match: an end tag closes only the last element of its own name.
        """
        if html.count("<") < MAX_DEPTH:
            return cls()
        lowered = html.lower()
        opened: Counter[str] = Counter()
        elements = depth = deepest = nesting = 0
        markup = _DRAWING.sub(_leaves, _strip_opaque(lowered, lowered, _OPAQUE))
        for closing, name in _TAG.findall(markup):
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
    """Return the HTML, cut at `HTML_LIMIT`, and its size.

    Large scripts, drawings, wide indentation and sources of pictures by size do not count towards the limit.

    Raises:
        Unreadable: BROKEN when its tags are nested too deep to be worth parsing.
    """
    if len(html) > HTML_LIMIT:
        lowered = html.replace("\u0130", "i").lower()  # of all letters, only this one would become two
        html = _strip_opaque(html, lowered, _UNREAD, _SHORTEST)
        html = (_BULK.sub(" ", html) if len(html) > HTML_LIMIT else html)[:HTML_LIMIT]
    size = MarkupSize.of(html)
    if size.depth > MAX_DEPTH:
        raise Unreadable(SkipReason.BROKEN, f"tags nested more than {MAX_DEPTH:,} levels deep")
    if size.nesting > MAX_NESTING_AT_ALL:
        raise Unreadable(
            SkipReason.BROKEN, f"{size.elements:,} elements nested up to {size.depth:,} levels deep"
        )
    return html, size


def _leaves(drawing: re.Match[str]) -> str:
    """Return an empty element for each element of a well-formed drawing, which leaves none of them open.

    Only in drawings do all parsers observe that a tag is its own end tag. Another drawing is returned as it is.
    """
    opened: list[str] = []
    tags = [*_TAG_OF_DRAWING.finditer(drawing[0])]
    for closing, name, ended in (tag.groups() for tag in tags):
        if closing:
            if not opened or opened.pop() != name:
                return drawing[0]
        elif opened[-1:] in ([outer] for outer in _WITH_HTML):
            return drawing[0]
        elif not ended:
            opened.append(name)
        elif not opened:
            return drawing[0]
    is_whole = len(tags) == drawing[0].count("<") and not opened
    return "<br>" * sum(not tag[1] for tag in tags) if is_whole else drawing[0]


def _strip_opaque(
    html: str, lowered: str, parts: re.Pattern[str], shortest: Mapping[str, int] | None = None
) -> str:
    """Return the markup without its `parts`, such as comments, scripts and styles.

    Where `shortest` has a number of characters, shorter parts stay, and so does a part without an end. One pass: a
    pattern with a lazy middle would search to the end of the page for every opening that is never closed.
    """
    pieces: list[str] = []
    offset = 0
    while (opening := parts.search(lowered, offset)) is not None:
        name = opening[1]
        pieces.append(html[offset : opening.start()])
        end = lowered.find(_CLOSING[name], opening.end())
        if end < 0:
            return "".join([*pieces, html[opening.start() :] if shortest else ""])
        offset = end + len(_CLOSING[name])
        if shortest and offset - opening.start() < shortest[name]:
            pieces.append(html[opening.start() : offset])
    return "".join([*pieces, html[offset:]])


def parse_html(html: str, *, as_written: bool = False) -> lxml.html.HtmlElement:
    """Parse a document into a tree without comments.

    Elements that a site defines itself become divisions if they hold most of the text, unless the tree is wanted
    `as_written`.

    Raises:
        Unreadable: BROKEN if the HTML cannot be parsed, EMPTY if the page has no content.
    """
    html = _PROLOGUE.sub("", html)
    parser = lxml.html.HTMLParser(
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,  # the limits here are narrower, and libxml2's own would silently drop deep elements
        collect_ids=False,
    )
    parser.set_element_class_lookup(_CLASSES)
    try:
        tree = lxml.html.document_fromstring(html.encode("utf-8", errors="ignore"), parser=parser)
    except etree.ParserError as error:
        raise Unreadable(SkipReason.EMPTY, "the page has no content") from error
    except (etree.LxmlError, ValueError) as error:
        raise Unreadable(SkipReason.BROKEN, "no HTML that a parser understands") from error
    if not as_written and _CUSTOM.search(html):
        _divide_custom_elements(tree)
    return tree


def _divide_custom_elements(tree: lxml.html.HtmlElement) -> None:
    """Make divisions of elements with a hyphen in their name, if they hold most of the page's text.

    Text may stand beside such an element, which is then a part of a line. Pages with few of them have other paragraphs,
    and the scores of blocks have learned from those.
    """
    own: list[lxml.html.HtmlElement] = _HYPHENED(tree)
    in_own = sum(map(_own_length, own))
    if in_own < _LEAST_HELD:
        return
    elements = (element for element in tree.iter(etree.Element) if element.tag not in _UNSPOKEN)
    if 2 * in_own <= sum(map(_own_length, elements)):
        return
    parents = {element: above for element in own if (above := element.getparent()) is not None}
    with_text = {above for above in set(parents.values()) if above.tag in _FLOWING or _own_length(above)}
    for element, above in parents.items():
        if above not in with_text:
            element.tag = "div"


def _own_length(element: lxml.html.HtmlElement) -> int:
    """Return the characters of text in an element itself, without those of other elements in it."""
    return sum(len(text.strip()) for text in (element.text, *(inner.tail for inner in element)) if text)
