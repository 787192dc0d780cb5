"""Removal of hidden elements from the trees of lxml and resiliparse."""

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
# Steps to a tag each: libxml2 would test a condition such as self::template for each element, which takes longer.
_CANDIDATES: Any = etree.XPath(
    "descendant-or-self::*[@style or @hidden]|"
    + "|".join(f"descendant-or-self::{tag}" for tag in ("template", "noscript", "dialog", "font"))
)
_PAPERS: Any = etree.XPath("descendant-or-self::*/@bgcolor", smart_strings=False)


@dataclass(frozen=True, slots=True)
class LxmlNode:
    """The `Node` of an lxml tree."""

    element: lxml.html.HtmlElement

    @property
    def tag(self) -> str:
        """Its name, in lower case."""
        return str(self.element.tag)

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute, or None."""
        value = self.element.get(name)
        return None if value is None else str(value)

    def parent(self) -> LxmlNode | None:
        """The element around it."""
        above = self.element.getparent()
        return None if above is None else LxmlNode(above)

    def descendants(self) -> Iterator[LxmlNode]:
        """All elements in it, in document order."""
        return (LxmlNode(inner) for inner in self.element.iterdescendants())

    def text(self) -> str:
        """All text in it, on one line."""
        return _text(self.element)

    def show(self) -> None:
        """Make it an element that extractors take for visible."""
        if self.tag == "noscript":
            self.element.tag = "div"
        for name in ("hidden", "style"):
            self.element.attrib.pop(name, None)

    def remove(self) -> None:
        """Remove the element. The elements inside lose their text."""
        for inner in self.element.iterdescendants():
            inner.text = inner.tail = None
        if self.element.getparent() is not None:
            self.element.drop_tree()


@dataclass(frozen=True, slots=True)
class ResiliparseNode:
    """The `Node` of a resiliparse tree."""

    element: Any

    @property
    def tag(self) -> str:
        """Its name, in lower case."""
        return str(self.element.tag)

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute, or None."""
        value = self.element.getattr(name)
        return None if value is None else str(value)

    def parent(self) -> ResiliparseNode | None:
        """The element around it."""
        above = self.element.parent_element
        return None if above is None else ResiliparseNode(above)

    def descendants(self) -> Iterator[ResiliparseNode]:
        """All elements in it, in document order."""
        from resiliparse.parse.html import NodeType

        # Lazily: a list takes the time of all elements, and the first is often enough.
        inside = islice(iter(self.element), 1, None)
        return (ResiliparseNode(inner) for inner in inside if inner.type == NodeType.ELEMENT)

    def text(self) -> str:
        """All text in it, on one line."""
        text = self.element.text
        if self.tag == "template":  # a template's content is only in its HTML
            text = unescape(_TAG.sub(" ", self.element.html))
        return " ".join(text.split())

    def show(self) -> None:
        """Make the element visible to the extractor."""
        for name in ("hidden", "style"):
            self.element.delattr(name)

    def remove(self) -> None:
        """Remove the element and its content."""
        self.element.decompose()


def _text(element: lxml.html.HtmlElement) -> str:
    return " ".join(" ".join(element.itertext()).split())


def remove_hidden_lxml(tree: lxml.html.HtmlElement) -> str:
    """Remove scripts, styles and hidden elements from an lxml tree. Returns the hidden elements' text."""
    scripted = next(tree.iter("script"), None) is not None
    etree.strip_elements(tree, "script", "style", with_tail=False)
    candidates: list[lxml.html.HtmlElement] = _CANDIDATES(tree)
    styles = {element.get("style", "") for element in candidates}
    backgrounds = _backgrounds(map(declarations, styles), set(_PAPERS(tree)))
    nodes = map(LxmlNode, candidates)
    body = tree.find("body")
    page = tree if body is None else body
    return remove_hidden(nodes, lambda: len(_text(page)), backgrounds, scripted=scripted)


def remove_hidden_resiliparse(tree: Any, html: str) -> str:
    """Remove scripts, styles and hidden elements from a resiliparse tree.

    Returns the hidden elements' text. `html` is the markup of the tree. Access to its elements is slow from
    Python, so styles are first searched in the markup, and only elements with a suspicious style are
    selected.
    """
    if tree.body is None:
        return ""
    lowered = html.lower()
    for element in _select(tree.body, "script, style"):
        element.decompose()
    raw = {double or single or bare for double, single, bare in _STYLE.findall(lowered)}
    styles = {style: declarations(unescape(style)) for style in raw}
    telling = sorted(style for style, declared in styles.items() if may_hide(declared))
    selectors = [f'[style="{style}" i]' for style in telling if _SIMPLE.fullmatch(style)]
    if len(selectors) < len(telling) or len(selectors) > _MAX_SELECTORS:
        selectors = ["[style]"]
    candidates = _select(tree.body, ", ".join([*_SELECTORS, *selectors]))
    nodes = [ResiliparseNode(element) for element in candidates]
    backgrounds = _backgrounds(styles.values(), set(_BGCOLOR.findall(lowered)))
    return remove_hidden(
        nodes, lambda: len(ResiliparseNode(tree.body).text()), backgrounds, scripted="<script" in lowered
    )


def _select(element: Any, selector: str) -> list[Any]:
    """The elements that match. As a slice: walking the parser's own list item by item is quadratic."""
    elements: list[Any] = element.query_selector_all(selector)[:]
    return elements


def _backgrounds(styles: Iterable[Declarations], page_backgrounds: Iterable[str]) -> set[Colour]:
    colours = {colour(background(style)) for style in styles} | {colour(paper) for paper in page_backgrounds}
    return {paper for paper in colours if paper is not None}
