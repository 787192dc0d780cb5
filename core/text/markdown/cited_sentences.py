"""The claims of a Markdown text: its displayed sentences, with citations and offsets.

Headings, code blocks, rules, table heads, footnotes and the final list of sources are no claims. A table row is one
claim. Introductions (a short bold phrase before a sentence, a line that ends with a colon) belong to the next claim.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markdown_it.token import Token

from core.model import Citation, Sentence
from core.text.markdown.citations import find_citations, footnotes
from core.text.markdown.inline_text import InlineText, cell_places, inline_text, paragraph_places
from core.text.markdown.tokens import LIMIT, markdown_tokens, tamed
from core.text.sanitize import sanitize
from core.text.sentences import sentences

LEAD_IN = 60
"""The most characters of a bold phrase that introduces the next sentence."""

_GROUPS = ("bullet_list", "ordered_list", "table", "blockquote")
_MARK = "\ue000"
"""Placeholder of a citation mark while a sentence is cleaned. The text's own are removed before."""
_ROW_OF_MARKS = rf"{_MARK}(?:(?:[\s,;&–-]|and)*{_MARK})*"
_SEVERAL_MARKS = re.compile(rf"\(\s*{_ROW_OF_MARKS}\s*\)|{_ROW_OF_MARKS}")
_SPACED_MARKS = re.compile(rf"(?<!\s)\s*(?:{_SEVERAL_MARKS.pattern})")
_REMARK = re.compile(rf"([.!?…。！？؟।][\"”»'’)]*\s*)(\([^().!?…。！？\n{_MARK}]{{1,40}}\)\s*)(?={_MARK})")
"""A remark in parentheses between the end of a sentence and its marks, such as the language of a quotation."""
_TAG = re.compile(
    r"</?(?:br|su[bp]|[biu]|em|strong|mark|small|co(?:\s?:[^<>\n]{0,40})?|(?:cite|citation|ref|source)(?:\s[^<>\n]{0,100})?)\s?/?>|\[cite_start\]",
    re.IGNORECASE,
)
_BULLET = re.compile(r"(?:[-*+•‣▪◦–—]|\d{1,3}[.)])\s+")
_EMPHASIS = "*_~`"
_STOPS = tuple(".!?…。！？؟।")
_COLONS = (":", "：")


def read_sentences(text: str, citations: Sequence[Citation] = ()) -> tuple[Sentence, ...]:
    """Return the claims of `text` with their `citations`.

    Only the first `LIMIT` characters are read. A mark after a full stop, or alone on a line, counts for the sentence
    before it. A list item without citations inherits the citations of the line that introduces the list.
    """
    text = text[:LIMIT]
    reader = _Reader()
    for block in _blocks(text, citations):
        reader.take(block)
    reader.end()
    claims: list[Sentence] = []
    reached = 0
    for draft in reader.found:
        start = reached + len(text[reached : draft.start].rstrip(_EMPHASIS))
        reached = draft.end
        while text[reached : reached + 1] in tuple(_EMPHASIS):
            reached += 1
        claims.append(
            Sentence(start=start, end=reached, cites=tuple(dict.fromkeys(draft.cites)), text=draft.text)
        )
    return tuple(claims)


@dataclass(slots=True)
class _Draft:
    """A sentence that may still grow. `short` means a bold phrase, `point` a typed bullet."""

    start: int
    end: int
    text: str
    cites: list[int]
    short: bool = False
    point: bool = False


# --- blocks of a text -------------------------------------------------------------------------------------


def _blocks(text: str, citations: Sequence[Citation]) -> Iterator[list[_Draft] | _Draft | str]:
    """Yield sentences of paragraphs, table rows, and the names of separating tokens."""
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    text = tamed(_without_footnotes(text))
    lines = [0, *(end.end() for end in re.finditer("\n", text)), len(text)]
    tokens = markdown_tokens(text)
    marks = _all_marks(text, citations)
    cells: list[Token] = []
    for before, token in pairwise([Token("", "", 0), *tokens]):
        if token.type == "inline" and before.type in ("td_open", "th_open"):
            cells.append(token)
        elif token.type == "inline" and (before.type == "paragraph_open" or _is_sentence(before, token)):
            yield _sentences(inline_text(token, paragraph_places(token, text, lines)), citations, marks)
        elif token.type == "tr_open":
            cells = []
        elif token.type == "tr_close" and before.type == "td_close" and cells[0].map:
            start, end = lines[cells[0].map[0]], lines[cells[0].map[0] + 1]
            places = cell_places(cells, text, start, end)
            parts = [inline_text(cell, own) for cell, own in zip(cells, places, strict=True)]
            if row := _row(parts, citations, marks):
                yield row
        else:
            yield token.type


def _all_marks(text: str, citations: Sequence[Citation]) -> list[tuple[int, int]]:
    """Return the offsets of citations and of bracketed numbers without a source.

    These numbers are not facts either.
    """
    cited = list(dict.fromkeys((mark.start, mark.end) for mark in citations))
    marks = list(cited)
    for mark in find_citations(text, None, superscripts=False):
        place = bisect_left(cited, mark.end, key=lambda span: span[0])
        if place == 0 or cited[place - 1][1] <= mark.start:
            marks.append((mark.start, mark.end))
    return sorted(set(marks))


def _without_footnotes(text: str) -> str:
    """Return `text` without footnotes and list of sources."""
    pieces: list[str] = []
    reached = 0
    for start, end in footnotes(text):
        pieces += (text[reached:start], re.sub(r"[^\n]", " ", text[start:end]))
        reached = end
    return "".join((*pieces, text[reached:]))


def _is_sentence(heading: Token, token: Token) -> bool:
    """Return whether an underlined heading is a sentence above a rule, a habit of models."""
    underlined = heading.type == "heading_open" and heading.markup in ("-", "=")
    return underlined and token.content.rstrip(']*_ "”»)0123456789[').endswith(_STOPS)


def _row(
    cells: Sequence[InlineText], citations: Sequence[Citation], marks: Sequence[tuple[int, int]]
) -> _Draft | None:
    parts = [_draft(cell, 0, len(cell.text), citations, marks) for cell in cells if cell.text]
    if not parts:
        return None
    text = "; ".join(part.text for part in parts if part.text)
    cites = [number for part in parts for number in part.cites]
    return _Draft(parts[0].start, parts[-1].end, text, cites)


def _sentences(
    paragraph: InlineText, citations: Sequence[Citation], marks: Sequence[tuple[int, int]]
) -> list[_Draft]:
    pieces: list[str] = []
    reached = 0
    for start, end, _ in _marks_in(paragraph, 0, len(paragraph.text), marks):
        pieces += (paragraph.shape[reached:start].replace(_MARK, " "), _MARK * (end - start))
        reached = end
    shape = "".join((*pieces, paragraph.shape[reached:].replace(_MARK, " ")))
    shape = _REMARK.sub(lambda remark: remark[1] + _MARK * len(remark[2]), shape)
    shape = _SEVERAL_MARKS.sub(_plain_mark, shape)
    return [_draft(paragraph, start, end, citations, marks) for start, end in sentences(shape)]


def _plain_mark(match: re.Match[str]) -> str:
    """Return `[1][1]…` of the same length, because a title in a mark may have stops."""
    whole, rest = divmod(len(match[0]), 3)
    return "[1]" * (whole - 1) + f"[{'1' * (1 + rest)}]" if whole else "x" * rest


def _draft(
    paragraph: InlineText,
    start: int,
    end: int,
    citations: Sequence[Citation],
    marks: Sequence[tuple[int, int]],
) -> _Draft:
    """Return the sentence at `start:end` of a paragraph."""
    pieces: list[str] = []
    cites: list[int] = []
    reached, last = start, paragraph.places[end - 1] + 1
    for mark_start, ended, mark in _marks_in(paragraph, start, end, marks):
        pieces += (paragraph.text[reached:mark_start].replace(_MARK, ""), _MARK)
        reached = ended
        last = max(last, mark[1])
        position = bisect_left(citations, mark[0], key=lambda citation: citation.start)
        while position < len(citations) and citations[position].start == mark[0]:
            cites += [citations[position].number] if citations[position].known else []
            position += 1
    raw = "".join((*pieces, paragraph.text[reached:end].replace(_MARK, "")))
    at_line_start = start == 0 or paragraph.text[start - 1] == "\n"
    bullet = _BULLET.match(raw) if at_line_start else None
    text = _SPACED_MARKS.sub("", raw[bullet.end() :] if bullet else raw)
    text = " ".join(sanitize(_TAG.sub(" ", text)).split())
    short = start == 0 and len(text) <= LEAD_IN and _is_emphasized(paragraph, start, end)
    return _Draft(paragraph.places[start], last, text, cites, short=short, point=bullet is not None)


def _marks_in(
    paragraph: InlineText, start: int, end: int, marks: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield the citation marks in `start:end` of a paragraph.

    Each has its slice there and its offsets in the source.
    """
    if start >= end:
        return
    first, last = paragraph.places[start], paragraph.places[end - 1]
    position = bisect_left(marks, (first, 0))
    position -= (
        position > 0 and marks[position - 1][1] > first
    )  # a mark that is a link begins before its words
    for mark in map(marks.__getitem__, range(position, len(marks))):
        if mark[0] > last:
            return
        mark_start = bisect_left(paragraph.places, mark[0], start, end)
        ended = bisect_left(paragraph.places, mark[1], mark_start, end)
        if mark_start < ended:
            yield mark_start, ended, mark


def _is_emphasized(paragraph: InlineText, start: int, end: int) -> bool:
    """Return whether one bold or italic phrase has all letters of the sentence."""
    letters = [offset for offset in range(start, end) if paragraph.text[offset].isalnum()]
    return bool(letters) and any(
        first <= letters[0] and letters[-1] < ended for first, ended in paragraph.emphasized
    )


def _has_words(draft: _Draft) -> bool:
    return any(map(str.isalnum, draft.text))


# --- what introduces, and what is introduced ---------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Collects claims from blocks in order."""

    found: list[_Draft] = field(default_factory=list)
    _lead: _Draft | None = None
    """Words that introduce the next claim."""
    _inherited: list[list[int]] = field(default_factory=lambda: [[]])
    """The citations of the open lists' introductions, the innermost last."""

    def take(self, block: list[_Draft] | _Draft | str) -> None:
        match block:
            case list():
                for place, draft in enumerate(block):
                    if _has_words(draft):
                        self._sentence(draft, alone=len(block) == 1, last=place == len(block) - 1)
                    else:
                        self._marks(draft)
            case _Draft():
                self._add(block) if _has_words(block) else self._marks(block)
            case str() if block.removesuffix("_open") in _GROUPS:
                cites = self._lead.cites if self._lead else []
                self._introduced()
                self._inherited.append(cites or self._inherited[-1])
            case str() if block.removesuffix("_close") in _GROUPS:
                self.end()
                self._inherited.pop()
            case "fence" | "code_block":
                self._introduced()
            case "heading_open" | "list_item_close" | "hr":
                self.end()
            case _:
                pass

    def end(self) -> None:
        """End a section: a pending introduction becomes a claim."""
        if self._lead:
            self._add(self._lead)
            self._lead = None

    def _sentence(self, draft: _Draft, *, alone: bool, last: bool) -> None:
        if draft.point:
            self._introduced()
        elif self._lead and not self._lead.text.endswith((*_STOPS, *_COLONS)):
            self._lead = None  # a heading of the next sentence, not a part of it
        elif self._lead:
            draft.start, draft.text = self._lead.start, f"{self._lead.text} {draft.text}"
            draft.cites[:0] = self._lead.cites
            self._lead = None
        phrase = draft.short and not draft.cites and (alone or not last)
        if phrase or draft.text.endswith(_COLONS):
            self._lead = draft
        else:
            self._add(draft)

    def _marks(self, draft: _Draft) -> None:
        """Add marks without words to the sentence before them."""
        if draft.cites and (before := self._lead or (self.found[-1] if self.found else None)):
            before.cites += draft.cites
            before.end = draft.end

    def _introduced(self) -> None:
        """End an introduction before a block.

        It is a claim only if it cites a source.
        """
        if self._lead and self._lead.cites:
            self._add(self._lead)
        self._lead = None

    def _add(self, draft: _Draft) -> None:
        draft.cites = draft.cites or list(self._inherited[-1])
        self.found.append(draft)
