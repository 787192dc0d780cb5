"""Citation marks as Markdown links, with a list of sources after the answer.

For chat clients, most of which show no annotations.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
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
_START = re.compile(r"[\[【(]")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_TAIL = 300
"""The most characters of a line before an incomplete mark."""
_CONTEXT = 400
"""Characters before a piece in its paragraph that show whether a number is in code or an address."""


class LinkedMark(NamedTuple):
    """A mark in the text with links, at `start:end`."""

    number: int
    start: int
    end: int


def source_addresses(sources: Iterable[Source]) -> dict[int, str]:
    """Return the address of each source by number, or "" if no browser can open it."""
    return {source.number: _target(source.url) for source in sources}


def _target(url: str) -> str:
    address = web_address(url)
    if not address or f"//{LIBRARY_HOST}/" in address:
        return ""
    return re.sub(r"[()<>|`\[\]\"]", lambda character: quote(character[0], safe=""), address)


class LinkedWriter:
    """A text with its citation marks as links, written in pieces.

    The joined pieces equal the output of one write.

    `[1]` becomes `[[1]](address)`, and so does any other form of a mark. A piece ends before a mark that is not complete.
    Numbers without a source, and numbers in code, stay as they are. A piece costs no more the longer the text is.
    """

    def __init__(self) -> None:
        self.marks: list[LinkedMark] = []
        self._text, self._reached, self._length = "", 0, 0
        self._line, self._fence, self._after_fence = 0, "", 0

    def write(self, piece: str, addresses: Mapping[int, str]) -> str:
        """Return the next part of the text that cannot change any more."""
        self._text += piece
        return self._linked(self._decided(), addresses)

    def close(self, addresses: Mapping[int, str]) -> str:
        """Return the remaining text."""
        return self._linked(len(self._text), addresses)

    def _decided(self) -> int:
        """Return the offset before which all marks are final."""
        text, end = self._text, len(self._text)
        line = max(self._reached, end - _TAIL, text.rfind("\n", self._reached) + 1)
        starts = [end]
        for opening, closing in (("[", "]"), ("【", "】"), ("(", ")")):
            opens, closes = text.rfind(opening, line), text.rfind(closing, line)
            may_be_mark = opening != "(" or text[opens + 1 : opens + 2] in ("", "s", "S")
            if opens > closes and may_be_mark:
                starts.append(opens)
        if text.endswith(("]", "】")):
            starts.append(max(text.rfind("[", line), text.rfind("【", line), line))
        target = text.rfind("](", line)
        if target >= 0 and text.find(")", target) < 0:
            starts.append(max(text.rfind("[", line, target), line))
        if text.count("`", line) % 2:
            starts.append(text.index("`", line))
        return min(starts)

    def _linked(self, end: int, addresses: Mapping[int, str]) -> str:
        out: list[str] = []
        has_start = _START.search(self._text, self._reached, end)
        for start, stop, numbers in self._marks_before(end, addresses) if has_start else ():
            self._add(out, self._text[self._reached : start])
            self._reached = stop
            for number in numbers:
                begins, address = self._length, addresses.get(number, "")
                self._add(out, f"[[{number}]]({address})" if address else f"[{number}]")
                if number in addresses:
                    self.marks.append(LinkedMark(number, begins, self._length))
        self._add(out, self._text[self._reached : end])
        self._reached = end
        self._read_fences()
        return "".join(out)

    def _marks_before(
        self, end: int, addresses: Mapping[int, str]
    ) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield the next citing marks, with their numbers."""
        reached, before = self._reached, self._fence and f"{self._fence}\n"
        paragraph = self._text.rfind("\n\n", max(reached - _CONTEXT, 0), reached)
        context = max(reached - _CONTEXT, paragraph, self._after_fence, 0)
        base = (reached if before else context) - len(before)
        citations = find_citations(before + self._text[base + len(before) :], addresses, superscripts=False)
        for (start, stop), cited in groupby(citations, key=lambda mark: (base + mark.start, base + mark.end)):
            numbers = tuple(mark.number for mark in cited)
            if start >= reached and stop <= end and any(number in addresses for number in numbers):
                yield start, stop, numbers

    def _read_fences(self) -> None:
        """Follow fenced code in the complete lines."""
        last = self._text.rfind("\n", self._line, self._reached) + 1
        while self._line < last:
            after = self._text.index("\n", self._line) + 1
            mark = _FENCE.match(self._text, self._line, after)
            if mark and (not self._fence or mark[1].startswith(self._fence)):
                self._fence = "" if self._fence else mark[1]
                self._after_fence = after
            self._line = after

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
