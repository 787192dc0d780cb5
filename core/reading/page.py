"""An HTML page, cleaned of what a reader does not see, in the two parsers' trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import lxml.html

from core.reading.hidden import remove_hidden

_CANDIDATE_TAGS = frozenset({"template", "noscript", "dialog"})


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
        return (ResiliparseNode(inner) for inner in self.element.query_selector_all("[style]"))

    def text_length(self) -> int:
        return len(self.element.text)

    def remove(self) -> None:
        self.element.decompose()


def text_length(element: lxml.html.HtmlElement) -> int:
    """Characters of text inside, scripts and styles aside, white space folded."""
    pieces = (
        text
        for inner in element.iter()
        if inner.tag not in ("script", "style", "title")
        for text in ((inner.text, inner.tail) if inner is not element else (inner.text,))
        if text
    )
    return sum(len(" ".join(piece.split())) for piece in pieces)


def remove_hidden_lxml(tree: lxml.html.HtmlElement) -> None:
    """Take what is hidden out of lxml's tree."""
    candidates = [
        LxmlNode(element)
        for element in tree.iter()
        if element.tag in _CANDIDATE_TAGS
        or element.get("style")
        or "hidden" in element.attrib
        or element.tag == "font"
    ]
    remove_hidden(candidates, text_length(tree))


def remove_hidden_resiliparse(tree: Any) -> None:
    """Take what is hidden out of resiliparse's tree."""
    if tree.body is None:
        return
    found = tree.body.query_selector_all("[hidden], [style], template, noscript, dialog, font")
    remove_hidden([ResiliparseNode(element) for element in found], len(tree.body.text))
