"""Text normalization: NFC, no control characters or unseen breaks and marks, blank lines between paragraphs."""

import re
import unicodedata

MAX_CHARACTERS = 5_000_000
"""Maximum characters of a document, about 2,500 pages of a book. The article says if text was left out."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_LINE_ENDS = ("\r\n", "\r", "\x85", "\u2028", "\u2029")
_SOFT_HYPHEN = re.compile("\u00ad+(?: *\n(?=\\w))?")
"""A permitted break of a word, with the line end if the word is broken there."""
_UNSEEN = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
    "|(?<![\u0e00-\u109f\u1780-\u17ff\u200b-\u200d\u2060-\u2064])\u200b(?![\u0e00-\u109f\u1780-\u17ff\u200b-\u200d\u2060-\u2064])"
)
"""Marks of writing direction, and a permitted break of a word, which Thai and its neighbours have between words.

A row of such characters may carry words and stays.
"""
_OTHER_SPACE = re.compile(r"[^\S\n ]")
_SPACES = re.compile(r"  +")
_BLANK_LINES = re.compile(r"\n\n\n+")
_WORD = re.compile(r"\w+")
_ROW = re.compile(r"(?:[-•*–] |\d{1,3}[.)] |.* \| |\|)")


def normalize(text: str) -> str:
    """Normalize text: NFC, no control characters, unseen breaks and marks or lone surrogates, single spaces.

    At most one blank line in a row.
    """
    text = text.replace("\x0c", "\n\n")
    for end in _LINE_ENDS:
        text = text.replace(end, "\n")
    # Most texts have neither kind, and this check takes a third of the time.
    if not text.replace("\n", "").isprintable():
        text = _SOFT_HYPHEN.sub("", _OTHER_SPACE.sub(" ", _UNSEEN.sub("", _CONTROL.sub("", text))))
    text = _SPACES.sub(" ", text).replace(" \n", "\n").replace("\n ", "\n")
    return unicodedata.normalize("NFC", _BLANK_LINES.sub("\n\n", text)).strip()


def text_key(text: str) -> str:
    """Return the words of a text, to compare texts. White space, marks and letter case do not count."""
    return " ".join(_WORD.findall(normalize(text))).casefold()


def normalize_code(text: str) -> str:
    """Normalize code: NFC, no control characters or lone surrogates.

    Spaces, tabs and lines stay, except for blank lines around the code.
    """
    for end in _LINE_ENDS:
        text = text.replace(end, "\n")
    return unicodedata.normalize("NFC", _CONTROL.sub("", text.replace("\x0c", ""))).rstrip().lstrip("\n")


_PLACEHOLDER = re.compile(
    r"\(?(?:untitled|unnamed|unknown|unspecified|anonymous|no title|(?:untitled |new )?(?:document|presentation|spreadsheet)"
    r"|(?:powerpoint|word) (?:presentation|document)|slide|book)[\s_-]*[0-9]*\)?",
    re.IGNORECASE,
)
"""Titles and authors by ReportLab, Office and others."""
_PROGRAM = re.compile(r"^Microsoft (?:Word|Excel|PowerPoint) - ")
"""What a printer driver of Office writes before the name of the file."""


def left_out(length: int, limit: int = MAX_CHARACTERS) -> str:
    """Return the notice that text was left out, or ""."""
    return f"only the first {limit:,} characters were read" if length > limit else ""


def clean_line(text: object, limit: int = 300) -> str:
    """Return a title, name or date on one clean line.

    It has at most `limit` characters. Anything but text gives "".
    """
    if not isinstance(text, str):
        return ""
    return " ".join(normalize(text[: limit * 4]).split())[:limit].strip()


def declared_name(text: object) -> str:
    """Return a declared title or author on one clean line, or "" for what a program writes where nobody wrote one."""
    name = _PROGRAM.sub("", clean_line(text))
    return "" if _PLACEHOLDER.fullmatch(name) else name


def paragraphs(lines: str) -> str:
    """Normalize text, with each line as a paragraph. Rows of a list or a table stay together."""
    parts: list[str] = []
    previous_is_row = False
    for line in filter(None, normalize(lines).split("\n")):
        row = _ROW.match(line) is not None
        if parts:
            parts.append("\n" if row and previous_is_row else "\n\n")
        parts.append(line)
        previous_is_row = row
    return "".join(parts)
