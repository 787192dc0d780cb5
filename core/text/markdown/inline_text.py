"""The displayed text of a Markdown paragraph or cell, with offsets in the source."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.token import Token

from core.text.markdown.tokens import markdown_tokens

_CELL_END = re.compile(r"(?<!\\)\|")
_QUOTE_MARKS = re.compile(r"[\s>]*")


@dataclass(frozen=True, slots=True)
class InlineText:
    """A displayed text.

    `places[i]` is the offset of `text[i]` in the source. `shape` is the text with code as letters, so that no stop in
    code ends a sentence. `emphasized` are the slices of the text in bold or italics.
    """

    text: str
    places: tuple[int, ...]
    shape: str
    emphasized: tuple[tuple[int, int], ...]


def inline_text(token: Token, places: Sequence[int]) -> InlineText:
    """Return the text of an `inline` token. `places` has the offset of each character."""
    walk = _Walk(token.content)
    for child in token.children or ():
        walk.take(child)
    last = len(places) - 1
    return InlineText(
        text="".join(walk.text),
        places=tuple(places[min(place, last)] for place in walk.places)
        if places
        else (0,) * len(walk.places),
        shape="".join(walk.shape),
        emphasized=tuple(walk.emphasized),
    )


def without_marks(text: str) -> str:
    """Return the words of a Markdown text, with each block on its own line."""
    blocks = (
        inline_text(token, ()).text if token.type == "inline" else token.content
        for token in markdown_tokens(text)
        if token.type in ("inline", "fence", "code_block")
    )
    return "\n".join(block.strip() for block in blocks)


def paragraph_places(token: Token, text: str, lines: Sequence[int]) -> list[int]:
    """Return the offset of each character of a paragraph.

    `lines` are the offsets of the lines. The parser only cuts the start of a line (marks of lists and quotes) and white
    space at its end.
    """
    first, last = token.map or (0, 0)
    rows = token.content.split("\n")
    # The parser also drops first lines of white space that it does not take for blank, such as form feeds.
    while last - first > len(rows) and rows[0].strip() not in text[lines[first] : lines[first + 1]]:
        first += 1
    places: list[int] = []
    for row, line in enumerate(rows, first):
        begin, stop = lines[min(row, len(lines) - 2)], lines[min(row + 1, len(lines) - 1)]
        end = begin + len(text[begin:stop].rstrip())
        start = max(end - len(line.strip()), begin)
        indent = len(line) - len(line.lstrip())
        places += (min(start + max(column - indent, 0), end) for column in range(len(line)))
        places.append(end)
    return places[:-1]


def cell_places(cells: Sequence[Token], text: str, start: int, end: int) -> list[list[int]]:
    """Return the offset of each character in table cells. The row is at `start:end` of `text`."""
    begin = start + len(_QUOTE_MARKS.match(text[start:end])[0])  # type: ignore[index]
    stop = begin + len(text[begin:end].rstrip())
    cuts = [begin - 1, *(begin + cut.start() for cut in _CELL_END.finditer(text[begin:stop])), stop]
    if len(cuts) > 2 and cuts[1] == begin:
        del cuts[0]
    cell_offsets = []
    for place, cell in enumerate(cells):
        offset = cuts[place] + 1 if place < len(cuts) - 1 else stop
        offset += len(text[offset:stop]) - len(text[offset:stop].lstrip())
        places = []
        for character in cell.content:
            offset += text[offset : offset + 1] == "\\" and character == "|"
            places.append(min(offset, stop))
            offset += 1
        cell_offsets.append(places)
    return cell_offsets


class _Walk:
    """Locates tokens, which are in the order of `content`."""

    def __init__(self, content: str) -> None:
        self.text: list[str] = []
        self.shape: list[str] = []
        self.places: list[int] = []
        self.emphasized: list[tuple[int, int]] = []
        self._content = content
        self._position = 0
        self._length = 0
        self._open: list[int] = []
        self._links: list[int] = []

    def take(self, token: Token) -> None:
        match token.type:
            case "softbreak" | "hardbreak":
                self._write("\n", self._find("\n"))
            case "text_special":
                start = self._find(token.markup)
                self._write(token.content, start, width=0)
                self._position = start + len(token.markup)
            case "code_inline":
                start = self._find(token.markup) + len(token.markup)
                pad = self._content[start : start + 1] == " " and not token.content.startswith(" ")
                self._write(token.content, start + pad, shape=re.sub(r"\S", "x", token.content))
                self._position += pad + len(token.markup)
            case "strong_open" | "em_open" | "s_open":
                self._position = self._find(token.markup) + len(token.markup)
                self._open.append(self._length)
            case "strong_close" | "em_close" | "s_close":
                self._position = self._find(token.markup) + len(token.markup)
                opening = self._open.pop() if self._open else self._length
                if not self._open and token.type != "s_close":
                    self.emphasized.append((opening, self._length))
            case "link_open":
                self._position = self._find("<" if token.markup == "autolink" else "[") + 1
                self._links.append(self._position)
            case "link_close":
                opening = self._links.pop() if self._links else self._position
                if token.markup == "autolink":
                    self._position = self._content.find(">", opening) + 1 or len(self._content)
                else:
                    self._position = self._after_target()
            case "image":
                self._write(token.content, self._find("![") + 2)
                self._position = self._after_target()
            case _:
                self._write(token.content, self._find(token.content))

    def _write(self, text: str, start: int, *, width: int = 1, shape: str = "") -> None:
        self.text.append(text)
        self.shape.append(shape or text)
        self.places += (start + width * offset for offset in range(len(text)))
        self._length += len(text)
        self._position = start + len(text)

    def _find(self, piece: str) -> int:
        offset = self._content.find(piece, self._position)
        return offset if offset >= 0 else min(self._position, len(self._content))

    def _after_target(self) -> int:
        """Return the offset after `](address "title")`, the end of a link or image."""
        content, end = self._content, len(self._content)
        offset = self._past_space(self._find("](") + 2)
        target = parseLinkDestination(content, offset, end)
        offset = self._past_space(target.pos if target.ok else offset)
        title = parseLinkTitle(content, offset, end)
        offset = self._past_space(title.pos if title.ok else offset)
        return min(offset + 1, end)

    def _past_space(self, offset: int) -> int:
        while offset < len(self._content) and self._content[offset].isspace():
            offset += 1
        return offset
