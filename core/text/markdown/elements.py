"""Markdown as a tree of inactive elements, for viewers that build pages from values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from markdown_it.token import Token

from core.text.markdown.blocks import visible_text
from core.text.markdown.citations import find_citations, short_marks
from core.text.markdown.tokens import LIMIT, markdown_tokens, shortened_runs

Element = str | dict[str, Any]
"""A text, an element or a citation.

An element is `{"tag": …, "in": […]}` with its content, and `start` for a list. A citation is `{"cite": number}`, with
`"snippet": True` for a source known only by a snippet.
"""

TAGS = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "h3"),
    **{
        tag: tag for tag in ("p", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td")
    },
    **{tag: tag for tag in ("strong", "em", "s")},
}
"""The output tag for each Markdown tag. Other tags are replaced by their content."""


def elements(text: str, numbers: Collection[int] = (), snippets: Collection[int] = ()) -> list[Element]:
    """Return the elements of untrusted Markdown, with citations of sources with `numbers`.

    Raw HTML is text. A link is its words and its address as code, an image its description. Numbers without a source
    are struck through. Only the first `LIMIT` characters are kept, and a paragraph says so.
    """
    visible = visible_text(text)
    read = visible[:LIMIT]
    tree = _tree(markdown_tokens(short_marks(read, numbers) if numbers else read), numbers, snippets)
    if len(visible) > LIMIT:
        tree.append({"tag": "p", "in": [f"Cut here: the text is longer than {LIMIT:,} characters."]})
    return tree


def _tree(tokens: Sequence[Token], numbers: Collection[int], snippets: Collection[int]) -> list[Element]:
    """Return the elements of block or inline tokens.

    Words are joined across tokens, since a mark may span several.
    """
    root: list[Element] = []
    inside = [root]
    words: list[str] = []
    targets: list[str] = []

    def add(*elements: Element) -> None:
        inside[-1].extend(_cited("".join(words), numbers, snippets))
        words.clear()
        inside[-1].extend(elements)

    for token in tokens:
        tag = None if token.hidden else TAGS.get(token.tag)
        match token.type:
            case "text" | "text_special":
                words.append(token.content)
            case "softbreak":
                words.append("\n")
            case "inline":
                add(*_tree(token.children or (), numbers, snippets))
            case "hardbreak" | "hr":
                add({"tag": token.tag, "in": []})
            case "code_inline":
                add({"tag": "code", "in": [token.content]})
            case "fence" | "code_block":
                add({"tag": "pre", "in": [token.content]})
            case "link_open":
                add()
                targets.append(str(token.attrGet("href") or ""))
            case "link_close":
                add(" (", {"tag": "code", "in": [targets.pop()]}, ")")
            case _ if token.nesting == 1:
                element: dict[str, Any] = {"tag": tag, "in": []}
                if start := token.attrGet("start"):
                    element["start"] = int(start)
                add(*([element] if tag else []))
                inside.append(element["in"] if tag else inside[-1])
            case _ if token.nesting == -1:
                add()
                inside.pop()
            case _:
                words.append(token.content)
    add()
    return root


def _cited(text: str, numbers: Collection[int], snippets: Collection[int]) -> Iterator[Element]:
    start = 0
    for mark in find_citations(text, numbers, superscripts=False) if numbers else ():
        if mark.start >= start:
            yield from _text(text[start : mark.start].rstrip(" "))
            start = mark.end
        about = {"snippet": True} if mark.number in snippets else {}
        yield {"cite": mark.number, **about} if mark.known else {"tag": "s", "in": [f" [{mark.number}]"]}
    yield from _text(text[start:])


def _text(text: str) -> Iterator[str]:
    if text:
        yield shortened_runs(text)
