"""Citation marks as Markdown links, with a list of sources after the answer.

For chat clients, most of which show no annotations.
"""

import re
from collections.abc import Iterator, Mapping
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
    """A citation of the source with this number, at `start:end` of the text with links."""

    number: int
    start: int
    end: int


def _target(url: str) -> str:
    """Return the target of a link to a page, or "" if no browser can open it."""
    address = web_address(url)
    if not address or f"//{LIBRARY_HOST}/" in address:
        return ""
    return re.sub(r"[()<>|`\[\]\"]", lambda character: quote(character[0], safe=""), address)


class LinkedWriter:
    """A text with its citation marks as links, written in pieces.

    The joined pieces equal the output of one write.

    `[4]` becomes `[[1]](address)`, and so does any other form of a mark: pages are numbered from 1 in the order in which
    they are cited. Chat clients list the pages of the annotations in this order, and take `[1]` for the first of them
    (Open WebUI 0.12). Marks of the same page side by side are one. A piece ends before a mark that is not complete.
    Numbers without a source, and numbers in code, stay as they are. A piece costs no more the longer the text is.
    """

    def __init__(self) -> None:
        self.marks: list[LinkedMark] = []
        self._pages: dict[str, tuple[int, Source]] = {}
        """By address: the page's number in the text, and its first cited source."""
        self._text, self._reached, self._length = "", 0, 0
        self._line, self._fence, self._after_fence = 0, "", 0

    def write(self, piece: str, sources: Mapping[int, Source]) -> str:
        """Return the next part of the text that cannot change any more."""
        self._text += piece
        return self._linked(self._decided(), sources)

    def close(self, sources: Mapping[int, Source]) -> str:
        """Return the remaining text, and a list of the cited pages if there are any."""
        rest = self._linked(len(self._text), sources)
        rows = [
            f"- {_mark(number, source)} {file_text(one_line(source.title) or one_line(source.url))}"
            for number, source in self._pages.values()
        ]
        return rest + ("\n".join(("", "", _HEADING, "", *rows)) if rows else "")

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

    def _linked(self, end: int, sources: Mapping[int, Source]) -> str:
        out: list[str] = []
        has_start = _START.search(self._text, self._reached, end)
        for start, stop, numbers in self._marks_before(end, sources) if has_start else ():
            self._add(out, self._text[self._reached : start])
            self._reached = stop
            for number in numbers:
                if source := sources.get(number):
                    self._cite(out, source, sources)
                else:
                    self._add(out, f"[{number}]")
        self._add(out, self._text[self._reached : end])
        self._reached = end
        self._read_fences()
        return "".join(out)

    def _cite(self, out: list[str], source: Source, sources: Mapping[int, Source]) -> None:
        last = self.marks[-1] if self.marks else None
        if last and last.end == self._length and sources[last.number].url == source.url:
            return
        number, _ = self._pages.setdefault(source.url, (len(self._pages) + 1, source))
        begins = self._length
        self._add(out, _mark(number, source))
        self.marks.append(LinkedMark(source.number, begins, self._length))

    def _marks_before(
        self, end: int, sources: Mapping[int, Source]
    ) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield the next citing marks, with their numbers."""
        reached, before = self._reached, self._fence and f"{self._fence}\n"
        paragraph = self._text.rfind("\n\n", max(reached - _CONTEXT, 0), reached)
        context = max(reached - _CONTEXT, paragraph, self._after_fence, 0)
        base = (reached if before else context) - len(before)
        citations = find_citations(before + self._text[base + len(before) :], sources, superscripts=False)
        for (start, stop), cited in groupby(citations, key=lambda mark: (base + mark.start, base + mark.end)):
            numbers = tuple(mark.number for mark in cited)
            if start >= reached and stop <= end and any(number in sources for number in numbers):
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


def _mark(number: int, source: Source) -> str:
    """Return a mark with this number, as a link if a browser can open the page of its source."""
    return f"[[{number}]]({address})" if (address := _target(source.url)) else f"[{number}]"


def without_source_links(text: str) -> str:
    """Return an answer without the list of sources at its end, and with its links as `[1]` again."""
    start = text.rfind(f"\n{_HEADING}")
    if start >= 0 and _LISTED.fullmatch(text, start + 1 + len(_HEADING)):
        text = text[:start].rstrip()
    return _LINKED_MARK.sub(r"[\1]", text)
