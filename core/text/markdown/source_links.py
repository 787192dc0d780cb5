"""Citation marks as Markdown links, and a list of sources that closes an answer, for clients that show no annotations."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote

from core.model import Source
from core.model.passage_urls import LIBRARY_HOST
from core.text.markdown.citations import find_citations
from core.text.markdown.file_markdown import file_text
from core.text.markdown.safe_markdown import web_address
from core.text.sanitize import one_line

_HEADING = "**Sources**"
_LINKED_MARK = re.compile(r"\[\[(\d{1,6})\]\]\([^()\s]{0,5000}\)")
_LISTED = re.compile(r"\s*(?:- \[{1,2}\d{1,6}\]{1,2}[^\n]*(?:\n|\Z))+\s*")
# A mark, a row of marks or a code span that further text may still change.
_UNDECIDED = re.compile(
    r"(?:[\[【][^\]】\n]{0,200}[\]】])*(?:[\[【][^\]】\n]{0,200}|[\[【][^\]】\n]{0,200}\]\([^)\n]{0,2000})?"
    r"|\((?:[Ss][^()\n]{0,60})?"
    r"|`{1,2}[^`\n]{0,200}`?"
)
_START = re.compile(r"[\[【(]|(?<!`)`")
_LONGEST = 2_500
"""Characters from the end in which an undecided mark may begin."""


class LinkedMark(NamedTuple):
    """A mark in the text with links, at `start:end`."""

    number: int
    start: int
    end: int


def source_addresses(sources: Iterable[Source]) -> dict[int, str]:
    """Return the addresses of sources by number; "" for one that no browser can open."""
    return {source.number: _target(source.url) for source in sources}


def _target(url: str) -> str:
    address = web_address(url)
    if not address or f"//{LIBRARY_HOST}/" in address:
        return ""
    return re.sub(r"[()<>|`\[\]\"]", lambda character: quote(character[0], safe=""), address)


class LinkedWriter:
    """Text with its citation marks as links, piece by piece; the pieces join to what one write gives.

    `[1]` becomes `[[1]](address)`, and so does any other form of a mark. A piece ends before a mark that is not complete.
    Numbers without a source, and numbers in code, stay as they are.
    """

    def __init__(self) -> None:
        self.marks: list[LinkedMark] = []
        self._text, self._reached, self._length = "", 0, 0

    def write(self, piece: str, addresses: Mapping[int, str]) -> str:
        """Return what can be shown after the next piece of the text."""
        self._text += piece
        return self._linked(self._decided(), addresses)

    def close(self, addresses: Mapping[int, str]) -> str:
        """Return the rest of the text."""
        return self._linked(len(self._text), addresses)

    def _decided(self) -> int:
        """The offset up to which further text changes no mark."""
        start = max(self._reached, len(self._text) - _LONGEST)
        starts = (match.start() for match in _START.finditer(self._text, start))
        return next((at for at in starts if _UNDECIDED.fullmatch(self._text, at)), len(self._text))

    def _linked(self, end: int, addresses: Mapping[int, str]) -> str:
        out: list[str] = []
        segment = self._text[self._reached : end]
        citations = find_citations(self._text, addresses) if _START.search(segment) else ()
        for (start, stop), numbers in groupby(citations, key=lambda mark: (mark.start, mark.end)):
            cited = list(numbers)
            if start < self._reached or stop > end or not any(mark.known for mark in cited):
                continue
            self._add(out, self._text[self._reached : start])
            self._reached = stop
            for mark in cited:
                begins, address = self._length, addresses.get(mark.number, "")
                self._add(out, f"[[{mark.number}]]({address})" if address else f"[{mark.number}]")
                if mark.known:
                    self.marks.append(LinkedMark(mark.number, begins, self._length))
        self._add(out, self._text[self._reached : end])
        self._reached = max(self._reached, end)
        return "".join(out)

    def _add(self, out: list[str], text: str) -> None:
        out.append(text)
        self._length += len(text)


def source_list(sources: Iterable[Source]) -> str:
    """Return a list of sources that closes an answer, or "" without any."""
    listed = list(sources)
    addresses = source_addresses(listed)
    rows = [
        f"- {f'[[{source.number}]]({address})' if (address := addresses[source.number]) else f'[{source.number}]'} "
        f"{file_text(one_line(source.title) or one_line(source.url))}"
        for source in listed
    ]
    return "\n".join(("", "", _HEADING, "", *rows)) if rows else ""


def without_source_links(text: str) -> str:
    """Return an answer without the list of sources at its end, and with its links as `[1]` again."""
    start = text.rfind(f"\n{_HEADING}")
    if start >= 0 and _LISTED.fullmatch(text, start + 1 + len(_HEADING)):
        text = text[:start].rstrip()
    return _LINKED_MARK.sub(r"[\1]", text)
