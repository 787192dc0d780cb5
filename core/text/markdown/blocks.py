"""Writer of Markdown block tokens: headings, lists, quotes, tables and code."""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from core.text.markdown.citations import short_marks
from core.text.markdown.tokens import LIMIT, markdown_tokens
from core.text.sanitize import pluralize, sanitize

EMPHASIS = {
    f"{kind}_{side}": mark
    for kind, mark in (("strong", "**"), ("em", "*"), ("s", "~~"))
    for side in ("open", "close")
}
"""The mark of each inline token for emphasis."""

_EMPTY = "\u200b"
"""The content of an empty list item or quote."""
_BAR = re.compile(r"(?<!\\)\|")
_LANGUAGE = re.compile(r"[\w+#.-]{1,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStyle:
    """The style of written blocks.

    `inline` writes the tokens of a paragraph, heading or cell as Markdown. `paragraph` keeps the lines of a paragraph
    from starting another block.

    `deeper` is the number of levels that headings are lowered, or None for bold paragraphs. Tables have at most
    `columns` and `rows`, and a line below them states the full size. Code blocks keep their language only with
    `languages`, because some viewers draw diagrams from code.
    """

    inline: Callable[[Sequence[Token]], str]
    paragraph: Callable[[str], str]
    deeper: int | None = 2
    columns: int = 12
    rows: int = 200
    languages: bool = False


def code_span(code: str) -> str:
    """Return an inline code span of literal text."""
    ticks = "`" * (1 + max(map(len, re.findall(r"`+", code)), default=0))
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{pad}{code}{pad}{ticks}" if code else ""


def rewritten(text: str, style: BlockStyle, *, numbers: Container[int] | None) -> str:
    """Rewrite Markdown in a style, without invisible characters.

    Only the first `LIMIT` characters are kept, and a line says so. Citations of sources with these `numbers` are
    shortened first.
    """
    text = visible_text(text)
    tokens = markdown_tokens(text if numbers is None else short_marks(text[:LIMIT], numbers))
    blocks = "\n\n".join(_Blocks(tokens, style).until(""))
    if len(text) <= LIMIT:
        return blocks
    return f"{blocks}\n\n*Cut here: the text is longer than {LIMIT:,} characters.*"


def visible_text(text: str) -> str:
    """Return Markdown without invisible characters, with the same lines."""
    return "\n".join(map(_visible_line, text.splitlines())).strip("\n")


def _visible_line(line: str) -> str:
    """Return a line without invisible characters. Indentation and a hard break have a meaning, so they stay."""
    inner = sanitize(line)
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    return f"{indent}{inner}{'  ' if line.endswith('  ') else ''}" if inner else ""


class _Blocks:
    """Writer of block tokens. Every line starts with the marks of the surrounding blocks."""

    def __init__(self, tokens: Sequence[Token], style: BlockStyle) -> None:
        self._tokens = iter(tokens)
        self._style = style
        self._tight = False
        self._headings: list[int] = []
        """The levels of the latest heading and of the headings above it."""

    def until(self, closing: str) -> Iterator[str]:
        """Yield the blocks before the token `closing`, each without a line end."""
        for token in self._tokens:
            if token.type == closing:
                return
            yield self._block(token)

    def _block(self, token: Token) -> str:
        match token.type:
            case "paragraph_open":
                text = self._style.paragraph(self._inline())
                self._tight = token.hidden
                return text
            case "heading_open":
                return self._heading(int(token.tag[1]))
            case "blockquote_open":
                return _prefixed("\n\n".join(self.until("blockquote_close")) or _EMPTY, "> ", "> ")
            case "bullet_list_open":
                return self._list("bullet_list_close")
            case "ordered_list_open":
                return self._list("ordered_list_close", int(token.attrGet("start") or 1))
            case "fence" | "code_block":
                language = _LANGUAGE.match(token.info) if self._style.languages else None
                return _code_block(token.content, language[0] if language else "text")
            case "hr":
                return "***"
            case "table_open":
                return self._table()
            case _:
                return ""

    def _heading(self, level: int) -> str:
        """Return a heading, one level below its parent heading, so that no level is skipped."""
        text = self._inline()
        if self._style.deeper is None:
            return f"**{bare}**" if (bare := text.strip("*")) else ""
        self._headings = [*(above for above in self._headings if above < level), level]
        depth = len(self._headings) if self._style.deeper else level
        return f"{'#' * min(depth + self._style.deeper, 6)} {text}" if text else ""

    def _inline(self) -> str:
        """Return the text up to the end of a paragraph, heading or cell."""
        token = next(self._tokens)
        next(self._tokens)
        return self._style.inline(token.children or ())

    def _list(self, closing: str, start: int | None = None) -> str:
        items: list[str] = []
        gap = "\n"
        for token in self._tokens:
            if token.type == closing:
                break
            self._tight = False
            blocks = [block for block in self.until("list_item_close") if block]
            gap = "\n" if self._tight else "\n\n"
            mark = "-" if start is None else f"{min(start + len(items), 999_999_999)}."
            items.append(_prefixed(gap.join(blocks) or _EMPTY, f"{mark} ", " " * (len(mark) + 1)))
        return gap.join(items)

    def _table(self) -> str:
        rows: list[list[str]] = [[]]
        for token in self._tokens:
            if token.type == "table_close":
                break
            if token.type in ("th_open", "td_open"):
                rows[-1].append(_BAR.sub(r"\|", self._inline().replace("\n", " ")))
            elif token.type == "tr_close":
                rows.append([])
        rows = [row for row in rows if row] or [[_EMPTY]]
        visible = [row[: self._style.columns] for row in rows[: self._style.rows + 1]]
        lines = ["| " + " | ".join(row) + " |" for row in visible]
        lines.insert(1, "|" + " --- |" * len(visible[0]))
        table = "\n".join(lines)
        if (len(visible), len(visible[0])) == (len(rows), len(rows[0])):
            return table
        size = f"{pluralize(len(rows) - 1, 'row')} and {pluralize(len(rows[0]), 'column')}"
        return f"{table}\n\n*Cut here: the table has {size}.*"


def _prefixed(body: str, first: str, others: str) -> str:
    lines = body.split("\n")
    rest = (others + line if line else others.rstrip() for line in lines[1:])
    return "\n".join([first + lines[0], *rest])


def _code_block(code: str, language: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", code)), default=0))
    return f"{fence}{language}\n{code.rstrip(chr(10))}\n{fence}"
