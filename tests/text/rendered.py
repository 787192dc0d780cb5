"""Markdown as an independent parser reads it, one that allows raw HTML."""

from markdown_it import MarkdownIt
from markdown_it.token import Token

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(text: str) -> list[Token]:
    """Every token of the Markdown, those inside paragraphs too."""
    leaves: list[Token] = []
    for token in READER.parse(text):
        leaves += [token, *(token.children or ())]
    return leaves


def links(text: str) -> list[str]:
    return [str(token.attrGet("href")) for token in tokens(text) if token.type == "link_open"]


def loads_or_runs(text: str) -> set[str]:
    """The kinds of its tokens that a viewer would load or run."""
    return {token.type for token in tokens(text)} & {"html_block", "html_inline", "image"}
