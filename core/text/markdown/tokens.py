"""The one Markdown parser: what is shown, counted and exported of a text comes from the same tokens."""

import functools
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

LIMIT = 60_000
"""The longest text that is read as Markdown, in characters."""

# Runs of marks have no meaning to a reader; parsers and layouts pay for them more than once.
_RUN = re.compile(r"([\[\]()!*_~<>|#`\\$:{}^=+-])\1{24,}")
_LONGEST_RUN = 24
_DEEP_LINE = re.compile(r"^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*){9,}", re.MULTILINE)
_MANY_BRACKETS = re.compile(r"^(?=(?:[^\n\[]*\[){200})[^\n]*$", re.MULTILINE)
_UNCITED_BRACKET = re.compile(r"\[(?!\^?\d{1,4}[\],])")
_INDENT = re.compile(r"^((?:[ \t]*>)*)([ \t]{15,})(?![ \t>])", re.MULTILINE)
_WIDEST_INDENT = 56
"""Columns. Lists nest at every second one, quotes eight times at most."""
_NESTING = 70
"""Blocks in one another, for which there is room; a parser drops what lies deeper. A list and its item count twice."""
_FILLER = "\u200b"
"""Zero-width space. It takes the place of marks that are left out, so that offsets stay as they are."""


def markdown_tokens(text: str) -> list[Token]:
    """The block tokens of `text`, each inline one with its children, in linear time.

    CommonMark with GFM tables and `~~strikethrough~~`, without raw HTML and reference definitions: these are text.
    `token.map` counts the lines of `text`, which `\\n`, `\\r` or both end. Only the first `LIMIT` characters are
    read. Lines that nest nine blocks or more, those with hundreds of brackets and those with a very wide indentation
    lose such marks.
    """
    return _parser().parse(tamed(text[:LIMIT]))


def shortened_runs(text: str, filler: str = "") -> str:
    """`text` with at most 24 equal marks in a row; `filler` takes the place of each one more."""
    return _RUN.sub(lambda run: run[1] * _LONGEST_RUN + filler * (len(run[0]) - _LONGEST_RUN), text)


def tamed(text: str) -> str:
    """`text` without what parsers are slow at, every other character at its offset. Twice is no more than once."""
    text = shortened_runs(text, " ")
    text = _MANY_BRACKETS.sub(lambda line: _UNCITED_BRACKET.sub("(", line[0]), text)
    text = _INDENT.sub(_narrow_indent, text)
    return _DEEP_LINE.sub(lambda marks: "- " + _FILLER * (len(marks[0]) - 2), text)


def _narrow_indent(match: re.Match[str]) -> str:
    columns = 0
    for offset, character in enumerate(match[2]):
        columns += 4 if character == "\t" else 1
        if columns > _WIDEST_INDENT:
            return match[1] + match[2][:offset] + _FILLER * (len(match[2]) - offset)
    return match[0]


@functools.cache
def _parser() -> MarkdownIt:
    options = {"html": False, "linkify": False, "typographer": False, "maxNesting": _NESTING}
    parser = MarkdownIt("commonmark", options)
    parser.enable(["table", "strikethrough"])
    # Escapes and entities stay tokens of their own, which tell how they were written.
    return parser.disable(["reference", "html_block", "html_inline", "text_join"])
