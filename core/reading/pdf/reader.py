"""PDF to text by page, with pdfium."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Set
from itertools import islice
from statistics import median
from typing import Any, NamedTuple

from core.model import Article, SkipReason, Unreadable
from core.reading.normalization import MAX_CHARACTERS, clean_line, declared_name, normalize
from core.reading.pdf.annotations import page_annotations
from core.reading.pdf.columns import in_columns
from core.reading.pdf.paragraph_ends import paragraph_ends, with_paragraph_ends
from core.reading.pdf.raised_text import may_have_levels, with_levels
from core.reading.unread import unread_notice
from core.text.content_words import function_words

_SECONDS = 10.0
"""Seconds after which the remaining pages are left out."""
_MAX_PAGES = 5_000
_MAX_HEADINGS = 5_000
_MAX_OBJECTS = 5_000
"""Objects of a page among which pictures are counted."""
_SCANNED, _WITHOUT_CODES = "scanned page", "page with fonts of unknown characters"
_LOOKED_AT = 20
"""Characters of a page whose codes are looked at."""
_BETWEEN_PAGES = "\n\n"
_SENTENCE_END = re.compile(r"[.!?…:;。！？：；)\]»”\"']\s*$")
_LINE_END = re.compile(r"[\x02\ufffe](?:\r?\n)?|\r\n?")
"""pdfium replaces a hyphen and its line end by one character."""
_LIST_ITEM = re.compile(r"\s*(?:[-•*–·▪◦]|\(?\d{1,3}[.)]|[a-z]\))\s")
_BROKEN = re.compile(r"\w[-\u2010\u00ad]$")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_BROKEN_WORD = re.compile(rf"{_WORD.pattern}(?:[\x02\ufffe\u00ad](?:\r?\n)?|[-\u2010]\r?\n){_WORD.pattern}")
_LAST_WORD = re.compile(rf"{_WORD.pattern}$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_COMPOUNDED = frozenset({"well", "self", "half", "cross"})
"""English words that mostly begin a compound with a hyphen."""
_IN_ONE_WORD = function_words("en") | {
    "some",
    "any",
    "every",
    "over",
    "under",
    "out",
    "more",
    "through",
    "thing",
    "body",
}
"""English words that begin or end a word in one piece, such as "without" and "something"."""
_LEAST = 4
"""The fewest letters of a word that may end a compound. Suffixes are shorter."""
_DATE = re.compile(r"D:((?:19|20)\d\d)(0[1-9]|1[0-2])?(0[1-9]|[12]\d|3[01])?")


def read_pdf(body: bytes) -> Article:
    """Read a PDF's text, with a blank line between pages.

    `page_starts` has the offset of each page.

    Raises:
        Unreadable: BROKEN when it cannot be opened, EMPTY when it has no text layer.
    """
    began = time.monotonic()
    document = open_pdf(body)
    try:
        document.init_forms()
        columns: list[_PageText] = []
        unread: Counter[str] = Counter()
        length = 0
        for number in range(min(len(document), _MAX_PAGES)):
            columns.append(_page_text(document, number, unread))
            length += sum(map(len, columns[-1]))
            if length > MAX_CHARACTERS or time.monotonic() - began > _SECONDS:
                break
        facts = document.get_metadata_dict()
        count, headings = len(document), _headings(document)
        unread["embedded file"] = _attachments(document)
        unread["XFA form"] = _has_xfa_alone(document)
    finally:
        document.close()
    words = _unbroken_words(column.lines for column in columns)
    pages = [
        "\n\n".join(filter(None, (unwrap_lines(column.lines, words), column.beside))) for column in columns
    ]
    if not any(pages):
        unread["picture"] = 0
        detail = unread_notice(unread) or "it may be a scan"
        raise Unreadable(SkipReason.EMPTY, f"the PDF has no text layer; {detail}")
    text, starts = _join_pages(pages)
    day = _DATE.match(facts.get("CreationDate", ""))
    return Article(
        text=text,
        extractor="pdfium",
        title=declared_name(facts.get("Title")),
        author=declared_name(facts.get("Author")),
        date="-".join(part for part in day.groups() if part) if day else "",
        page_starts=starts,
        sections=tuple((starts[page], title) for page, title in headings if page < len(starts)),
        left_out=unread_notice(
            unread,
            "" if count == len(pages) else f"only the first {len(pages):,} of {count:,} pages were read",
        ),
    )


def open_pdf(body: bytes) -> Any:
    """The document, to be closed.

    Raises:
        Unreadable: BROKEN when it is locked or damaged.
    """
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        detail = "the PDF is locked with a password" if locked else "the PDF is damaged"
        raise Unreadable(SkipReason.BROKEN, detail) from error


class _PageText(NamedTuple):
    """The text of a page in lines, and its fields and notes."""

    lines: str = ""
    beside: str = ""


def unwrap_lines(text: str, words: Set[str] = frozenset()) -> str:
    """Join the lines of a printed column into paragraphs.

    A full line that does not end a sentence continues in the next, and so does a broken word. Its hyphen stays if
    `words`, those that the document has within lines, speak for a compound.
    """
    lines = [line.strip() for line in _LINE_END.sub(_broken_word, text).split("\n")]
    widths = sorted(len(line) for line in lines if line)
    if not widths:
        return ""
    full = 0.7 * median(widths[len(widths) // 2 :])
    paragraphs: list[str] = []
    open_end = False
    for line in lines:
        if not line:
            open_end = False
            continue
        is_broken = bool(paragraphs) and line[0].islower() and _BROKEN.search(paragraphs[-1])
        if (open_end and not _LIST_ITEM.match(line)) or is_broken:
            paragraphs[-1] = _join_lines(paragraphs[-1], line, words)
        else:
            paragraphs.append(line)
        open_end = len(line) >= full and not (_SENTENCE_END.search(line) and len(line) < 0.95 * widths[-1])
    return normalize("\n\n".join(paragraphs))


def _broken_word(end: re.Match[str]) -> str:
    return "\n" if end[0].startswith("\r") else "\u00ad\n"


def _join_lines(before: str, line: str, words: Set[str]) -> str:
    if before.endswith("\u00ad") or (line[0].islower() and _BROKEN.search(before)):
        # "24-hour" and "DNA-based" keep their hyphen.
        is_word = line[0].islower() and before[-2:-1].islower() and not _is_compound(before[:-1], line, words)
        return f"{before[:-1]}{'' if is_word else '-'}{line}"
    wide = bool(before) and "\u3000" <= before[-1] <= "\u9fff" and "\u3000" <= line[0] <= "\u9fff"
    return before + ("" if wide else " ") + line


def _is_compound(before: str, line: str, words: Set[str]) -> bool:
    """Return whether the parts of a word broken at a line's end are words of a compound, such as "well-known"."""
    begun, ended = _LAST_WORD.search(before), _FIRST_WORD.match(line)
    if begun is None or ended is None:
        return False
    first, last = begun[0].casefold(), ended[0].casefold()
    if f"{first}-{last}" in words or "-" in first:
        return True
    if f"{first}{last}" in words or len(last) < _LEAST:
        return False
    return first in _COMPOUNDED or ({first, last} <= words and not {first, last} & _IN_ONE_WORD)


def _unbroken_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words of texts in small letters, without those that a line's end breaks."""
    return frozenset(word.casefold() for text in texts for word in _WORD.findall(_BROKEN_WORD.sub(" ", text)))


def _page_text(document: Any, number: int, unread: Counter[str]) -> _PageText:
    """Return the text of one page, its fields and notes, and count what is not text.

    An unreadable page gives no text, because its neighbours may be fine.
    """
    import pypdfium2

    try:
        page = document[number]
        try:
            text_page = page.get_textpage()
            text = ""
            if _is_coded(text_page):
                text = text_page.get_text_range()
                text = _in_reading_order(text, page, text_page)
            else:
                unread[_WITHOUT_CODES] += 1
            _count_pictures(page, text, unread)
            beside = page_annotations(page, text_page, document.formenv, unread)
            return _PageText(text, "\n\n".join(filter(None, beside)))
        finally:
            page.close()
    except pypdfium2.PdfiumError:
        return _PageText()


def _in_reading_order(text: str, page: Any, text_page: Any) -> str:
    """Return the text of a page column by column, with its raised and lowered parts written out."""
    columns, ends = in_columns(text, text_page), paragraph_ends(text, text_page)
    if may_have_levels(page):
        parts = [with_levels(text, text_page, spans) for spans in columns or [[]]]
    else:
        parts = ["\r\n".join(text[start:end].strip() for start, end in spans) for spans in columns] or [text]
    return with_paragraph_ends("\r\n".join(parts), ends)


def _is_coded(text_page: Any) -> bool:
    """Whether most characters of a page have Unicode. A font that maps none gives text that nobody sees."""
    from pypdfium2 import raw

    count = text_page.count_chars()
    looked_at = range(0, count, max(1, count // _LOOKED_AT))
    unmapped = sum(raw.FPDFText_HasUnicodeMapError(text_page, place) == 1 for place in looked_at)
    return bool(unmapped <= len(looked_at) / 2)


def _count_pictures(page: Any, text: str, unread: Counter[str]) -> None:
    from pypdfium2 import raw

    kinds = (
        raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page, place))
        for place in range(min(raw.FPDFPage_CountObjects(page), _MAX_OBJECTS))
    )
    pictures = sum(kind == raw.FPDF_PAGEOBJ_IMAGE for kind in kinds)
    if text:
        unread["picture"] += pictures
    elif pictures:
        unread[_SCANNED] += 1


def _attachments(document: Any) -> int:
    from pypdfium2 import raw

    return max(0, int(raw.FPDFDoc_GetAttachmentCount(document)))


def _has_xfa_alone(document: Any) -> bool:
    """Whether the form is one of Adobe's XML forms, whose pages say that another program is needed."""
    from pypdfium2 import raw

    return bool(document.get_formtype() == raw.FORMTYPE_XFA_FULL)


def _headings(document: Any) -> list[tuple[int, str]]:
    """Return the outline: page numbers with their first heading.

    Pages count from 0. A damaged outline gives an empty list.
    """
    import pypdfium2

    headings: dict[int, str] = {}
    try:
        for mark in islice(document.get_toc(max_depth=3), _MAX_HEADINGS):
            target = mark.get_dest()
            page = target.get_index() if target else None
            if page is not None and (title := clean_line(mark.get_title(), 200)):
                headings.setdefault(page, title)
    except (pypdfium2.PdfiumError, ValueError):
        return []
    return sorted(headings.items())


def _join_pages(pages: list[str]) -> tuple[str, tuple[int, ...]]:
    starts: list[int] = []
    length = 0
    for text in pages:
        starts.append(length)
        length += len(text) + len(_BETWEEN_PAGES)
    return _BETWEEN_PAGES.join(pages), tuple(starts)
