"""Removal of hidden elements from the trees of both HTML parsers, lxml and resiliparse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from itertools import islice
from typing import Any

import lxml.html
from lxml import etree

from core.reading.html.hidden_text import remove_hidden
from core.reading.html.inline_styles import Colour, Declarations, background, colour, declarations, may_hide

_STYLE = re.compile(r"""style\s*=\s*(?:"([^"]{3,2000})"|'([^']{3,2000})'|([^\s"'>]{3,2000}))""")
_TAG = re.compile(r"<[^<>]*>")
_SIMPLE = re.compile(r"[\w :;#%.,()!/+-]*", re.ASCII)
_MAX_SELECTORS = 40
_BGCOLOR = re.compile(r"""bgcolor\s*=\s*["']?([#\w]{3,20})""")
_SELECTORS = ("[hidden]", "template", "noscript", "dialog", "font[color]")
_CANDIDATES: Any = etree.XPath(
    "descendant-or-self::*[@style or @hidden or self::template or self::noscript or self::dialog or self::font]"
)
_PAPERS: Any = etree.XPath("descendant-or-self::*/@bgcolor", smart_strings=False)


@dataclass(frozen=True, slots=True)
class LxmlNode:
    element: lxml.html.HtmlElement

    @property
    def tag(self) -> str:
        return str(self.element.tag)

    def attribute(self, name: str) -> str | None:
        value = self.element.get(name)
        return None if value is None else str(value)

    def parent(self) -> LxmlNode | None:
        above = self.element.getparent()
        return None if above is None else LxmlNode(above)

    def descendants(self) -> Iterator[LxmlNode]:
        return (LxmlNode(inner) for inner in self.element.iterdescendants())

    def text_length(self) -> int:
        return text_length(self.element)

    def text(self) -> str:
        """Its words, scripts and styles aside; empty when an element around it is gone already."""
        pieces = (text for inner in self.element.iter() for text in _own_text(inner, self.element))
        return " ".join(" ".join(pieces).split())

    def remove(self) -> None:
        if self.element.getparent() is not None:
            self.element.drop_tree()


@dataclass(frozen=True, slots=True)
class ResiliparseNode:
    element: Any

    @property
    def tag(self) -> str:
        return str(self.element.tag)

    def attribute(self, name: str) -> str | None:
        value = self.element.getattr(name)
        return None if value is None else str(value)

    def parent(self) -> ResiliparseNode | None:
        above = self.element.parent_element
        return None if above is None else ResiliparseNode(above)

    def descendants(self) -> Iterator[ResiliparseNode]:
        from resiliparse.parse.html import NodeType

        # One after the other: a list of all takes as long as all of them, and the first is often enough.
        inside = islice(iter(self.element), 1, None)
        return (ResiliparseNode(inner) for inner in inside if inner.type == NodeType.ELEMENT)

    def text_length(self) -> int:
        return len(self.element.text)

    def text(self) -> str:
        text = self.element.text
        if self.tag == "template":  # its content is a document of its own, to which there is no other way
            text = unescape(_TAG.sub(" ", self.element.html))
        return " ".join(text.split())

    def remove(self) -> None:
        self.element.decompose()


def text_length(element: lxml.html.HtmlElement) -> int:
    """Characters of text inside, scripts and styles aside, white space folded."""
    pieces = (text for inner in element.iter() for text in _own_text(inner, element))
    return sum(len(" ".join(piece.split())) for piece in pieces)


def _own_text(inner: lxml.html.HtmlElement, outer: lxml.html.HtmlElement) -> Iterator[str]:
    """The text that begins the inner element and, inside the outer one, the text after it."""
    if inner.tag not in ("script", "style", "title"):
        yield from filter(None, (inner.text, inner.tail) if inner is not outer else (inner.text,))


def remove_hidden_lxml(tree: lxml.html.HtmlElement) -> str:
    """Remove hidden elements from an lxml tree, and return their text."""
    candidates: list[lxml.html.HtmlElement] = _CANDIDATES(tree)
    styles = {element.get("style", "") for element in candidates}
    backgrounds = _backgrounds(map(declarations, styles), set(_PAPERS(tree)))
    return remove_hidden(map(LxmlNode, candidates), lambda: text_length(tree), backgrounds)


def remove_hidden_resiliparse(tree: Any, html: str) -> str:
    """Remove hidden elements from a resiliparse tree, and return their text. `html` is what it was parsed from.

    Its elements are slow to touch from Python, so styles are looked at in the markup first, and only
    elements with a telling one are selected.
    """
    if tree.body is None:
        return ""
    lowered = html.lower()
    raw = {double or single or bare for double, single, bare in _STYLE.findall(lowered)}
    styles = {style: declarations(unescape(style)) for style in raw}
    telling = sorted(style for style, declared in styles.items() if may_hide(declared))
    selectors = [f'[style="{style}" i]' for style in telling if _SIMPLE.fullmatch(style)]
    if len(selectors) < len(telling) or len(selectors) > _MAX_SELECTORS:
        selectors = ["[style]"]
    found = _all(tree.body, ", ".join([*_SELECTORS, *selectors]))
    nodes = [ResiliparseNode(element) for element in found]
    backgrounds = _backgrounds(styles.values(), set(_BGCOLOR.findall(lowered)))
    return remove_hidden(nodes, lambda: len(tree.body.text), backgrounds) if nodes else ""


def _all(element: Any, selector: str) -> list[Any]:
    """The elements that match. As a slice: walking the parser's own list item by item is quadratic."""
    found: list[Any] = element.query_selector_all(selector)[:]
    return found


def _backgrounds(styles: Iterable[Declarations], page_backgrounds: Iterable[str]) -> set[Colour]:
    found = {colour(background(style)) for style in styles} | {colour(paper) for paper in page_backgrounds}
    return {paper for paper in found if paper is not None}
