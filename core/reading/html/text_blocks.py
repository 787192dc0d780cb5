"""The visible text of a tree as blocks, and blocks as text.

Blocks are paragraphs, headings, list items, tables and code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import lxml.html

_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
    "hr", "html", "legend", "li", "main", "nav", "ol", "option", "p", "pre", "section", "select", "summary", "table",
    "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})  # fmt: skip
_SILENT = frozenset({
    "script", "style", "title", "noscript", "template", "textarea", "select", "button", "svg", "iframe",
    "object", "video", "audio", "canvas",
})  # fmt: skip
_WITHIN_CELLS = _BLOCKS - {
    "br",
    "center",
    "div",
    "option",
    "p",
    "select",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "caption",
}
"""Elements that reveal a layout table. Its cells are read like other parts of the page."""
_WITHIN_HEADED_CELLS = frozenset({
    "article", "aside", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main", "nav", "pre", "section",
    "table",
})  # fmt: skip
"""Elements that make a layout table of one with heads. Cells of a data table may have lists."""
_LEAST_LOOSE = 40
"""Characters of a text in no element that make a paragraph of it."""


@dataclass(slots=True)
class Block:
    """A run of text: a paragraph, heading, item, table or code block. Tables and code blocks are whole."""

    element: lxml.html.HtmlElement
    """The closest block element around the text."""
    text: str
    linked: int = 0
    """Characters of it that are links."""


def page_blocks(root: lxml.html.HtmlElement, *, buttons: bool = False) -> list[Block]:
    """Return the blocks in document order. Buttons are included only if requested.

    It takes linear time, without recursion.
    """
    silent, ends = (_SILENT - {"button"}, _BLOCKS | {"button"}) if buttons else (_SILENT, _BLOCKS)
    blocks: list[Block] = []
    owner, linked, in_link = root, 0, 0
    pieces: list[str] = []

    def flush(following: lxml.html.HtmlElement) -> None:
        nonlocal owner, pieces, linked
        if pieces and (text := " ".join("".join(pieces).split())):
            blocks.append(Block(owner, text, min(linked, len(text))))
        owner, pieces, linked = following, [], 0

    stack: list[tuple[lxml.html.HtmlElement, bool]] = [(root, False)]
    while stack:
        element, leaving = stack.pop()
        tag = element.tag if isinstance(element.tag, str) else "script"
        if leaving or tag in silent:
            if tag in ends and element is not root:
                above = element.getparent()
                flush(owner if above is None else (owner if tag == "br" else _block_around(element)))
            in_link -= tag == "a" and leaving
            if element is not root and element.tail:
                pieces.append(element.tail)
                linked += len(element.tail) if in_link else 0
            continue
        whole = ""
        if tag == "pre":
            whole = spoken(element)
        elif tag == "table" and not is_laid_out(element):
            rows = (" | ".join(text for _, text in cells(row) if text) for row in element.iter("tr"))
            whole = "\n".join(filter(None, rows))
        if whole:
            flush(element)
            links = sum(len(" ".join(link.itertext())) for link in element.iter("a"))
            blocks.append(Block(element, whole, min(links, len(whole))))
            flush(_block_around(element))
            if element is not root and element.tail:
                pieces.append(element.tail)
            continue
        if tag in ends:
            flush(owner if tag == "br" else element)
        in_link += tag == "a"
        if element.text:
            pieces.append(element.text)
            linked += len(element.text) if in_link else 0
        stack.append((element, True))
        stack.extend((child, False) for child in reversed(element))
    flush(root)
    return blocks


def wrap_loose_text(root: lxml.html.HtmlElement) -> None:
    """Make paragraphs of text that stands in the body itself.

    Links and emphasis in it stay. Pages by hand have such text, as a first paragraph without a tag, and other extractors
    pass over it.
    """
    body = root.find("body")
    if body is None or not any(map(_is_loose, (body.text, *(child.tail for child in body)))):
        return
    paragraph: lxml.html.HtmlElement | None = None
    if _is_loose(body.text):
        paragraph = body.makeelement("p")
        paragraph.text, body.text = body.text, None
        body.insert(0, paragraph)
    for child in list(body)[paragraph is not None :]:
        if child.tag == "br" or child.tag not in _BLOCKS | _SILENT:
            if paragraph is not None:
                paragraph.append(child)
        elif _is_loose(child.tail):
            paragraph = body.makeelement("p")
            paragraph.text, child.tail = child.tail, None
            child.addnext(paragraph)
        else:
            paragraph = None


def _is_loose(text: str | None) -> bool:
    return text is not None and len(text.strip()) >= _LEAST_LOOSE


def write_blocks(blocks: Iterable[Block]) -> str:
    """Return the blocks as text, one line each. Tables and code have several lines."""
    return "\n".join(f"- {block.text}" if block.element.tag == "li" else block.text for block in blocks)


def block_text(root: lxml.html.HtmlElement) -> str:
    """All visible text of a tree, block by block."""
    return write_blocks(page_blocks(root))


def is_laid_out(table: lxml.html.HtmlElement) -> bool:
    """Whether a table's cells hold parts of a page, as in a layout."""
    headed = next(table.iter("th"), None) is not None
    parts = _WITHIN_HEADED_CELLS if headed else _WITHIN_CELLS
    return any(inner.tag in parts for inner in table.iterdescendants())


def cells(row: lxml.html.HtmlElement) -> Iterator[tuple[lxml.html.HtmlElement, str]]:
    """Yield the cells of a table row, each with its text on one line."""
    return ((cell, " ".join(spoken(cell).split())) for cell in row.iterchildren("td", "th"))


def spoken(element: lxml.html.HtmlElement) -> str:
    """Return an element's visible text, with a line end after each block and break."""
    return "".join(_spoken(element)).strip("\n")


def _spoken(element: lxml.html.HtmlElement) -> Iterable[str]:
    """Yield the texts in an element, with line ends between blocks."""
    stack = [(element, False)]
    while stack:
        inner, leaving = stack.pop()
        tag = inner.tag if isinstance(inner.tag, str) else "script"
        if leaving or tag in _SILENT:
            if tag in _BLOCKS and inner is not element:
                yield "\n"
            if inner is not element and inner.tail:
                yield inner.tail
            continue
        if inner.text:
            yield inner.text
        stack.append((inner, True))
        stack.extend((child, False) for child in reversed(inner))


def _block_around(element: lxml.html.HtmlElement) -> lxml.html.HtmlElement:
    above = element.getparent()
    while above is not None and above.tag not in _BLOCKS and above.getparent() is not None:
        above = above.getparent()
    return element if above is None else above
