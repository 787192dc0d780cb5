"""The Markdown parser for display, counts and exports, which share its tokens."""

import functools
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

LIMIT = 60_000
"""The most characters of a text to read as Markdown."""

# Long runs of marks mean nothing to a reader, but slow parsers and layouts.
_RUN = re.compile(r"([\[\]()!*_~<>|#`\\$:{}^=+-])\1{24,}")
_LONGEST_RUN = 24
_DEEP_LINE = re.compile(r"^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*){9,}", re.MULTILINE)
_MANY_BRACKETS = re.compile(r"^(?=(?:[^\n\[]*\[){200})[^\n]*$", re.MULTILINE)
_UNCITED_BRACKET = re.compile(r"\[(?!\^?\d{1,4}[\],])")
_INDENT = re.compile(r"^((?:[ \t]*>)*)([ \t]{15,})(?![ \t>])", re.MULTILINE)
_WIDEST_INDENT = 56
"""Columns. Lists nest at every second column, quotes eight times at most."""
_NESTING = 70
"""The deepest nesting of blocks. The parser drops deeper blocks. A list and its item count twice."""
_FILLER = "\u200b"
"""Zero-width space. It replaces removed marks, so that offsets stay the same."""


def markdown_tokens(text: str) -> list[Token]:
    """Return the block tokens of `text`, inline tokens with children, in linear time.

    The syntax is CommonMark with GFM tables and `~~strikethrough~~`. Raw HTML and reference definitions are text.
    `token.map` counts the lines of `text`, ended by `\\n`, `\\r` or both. Only the first `LIMIT` characters are read.
    Lines with nine nested blocks or more, hundreds of brackets, or a very wide indentation lose such marks.
    """
    return _parser().parse(tamed(text[:LIMIT]))


def shortened_runs(text: str, filler: str = "") -> str:
    """Return `text` with at most 24 equal marks together. `filler` replaces each further mark."""
    return _RUN.sub(lambda run: run[1] * _LONGEST_RUN + filler * (len(run[0]) - _LONGEST_RUN), text)


def tamed(text: str) -> str:
    """Return `text` without input that slows parsers. Idempotent."""
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
    # Escapes and entities stay separate tokens, which show how they were written.
    return parser.disable(["reference", "html_block", "html_inline", "text_join"])
