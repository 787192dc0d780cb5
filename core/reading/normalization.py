"""Text normalization: NFC, no control characters, paragraphs apart by one blank line."""

import re
import unicodedata

MAX_CHARACTERS = 5_000_000
"""After so much text the rest of a document is left out, and the article says so: some 2,500 pages of a book."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_LINE_ENDS = ("\r\n", "\r", "\x85", "\u2028", "\u2029")
_OTHER_SPACE = re.compile(r"[^\S\n ]")
_SPACES = re.compile(r"  +")
_BLANK_LINES = re.compile(r"\n\n\n+")
_WORD = re.compile(r"\w+")
_ROW = re.compile(r"(?:[-•*–] |\d{1,3}[.)] |.* \| |\|)")


def normalize(text: str) -> str:
    """NFC, no control characters or lone surrogates, single spaces, at most one blank line in a row."""
    text = text.replace("\x0c", "\n\n")
    for end in _LINE_ENDS:
        text = text.replace(end, "\n")
    # Most texts have neither kind, and this tells in a third of the time.
    if not text.replace("\n", "").isprintable():
        text = _OTHER_SPACE.sub(" ", _CONTROL.sub("", text))
    text = _SPACES.sub(" ", text).replace(" \n", "\n").replace("\n ", "\n")
    return unicodedata.normalize("NFC", _BLANK_LINES.sub("\n\n", text)).strip()


def text_key(text: str) -> str:
    """The words of a text: what two have in common that differ in white space, marks and letter case only."""
    return " ".join(_WORD.findall(normalize(text))).casefold()


def normalize_code(text: str) -> str:
    """NFC, no control characters or lone surrogates; every space, tab and line stays, but for blank lines around."""
    for end in _LINE_ENDS:
        text = text.replace(end, "\n")
    return unicodedata.normalize("NFC", _CONTROL.sub("", text.replace("\x0c", ""))).rstrip().lstrip("\n")


def left_out(length: int, limit: int = MAX_CHARACTERS) -> str:
    """What an article says of the rest of a text of this length; empty when nothing was left out."""
    return f"only the first {limit:,} characters were read" if length > limit else ""


def clean_line(text: object, limit: int = 300) -> str:
    """A title, a name or a date: cleaned, on one line, at most `limit` characters. Anything but text is empty."""
    if not isinstance(text, str):
        return ""
    return " ".join(normalize(text[: limit * 4]).split())[:limit].strip()


def paragraphs(lines: str) -> str:
    """Text whose every line is a paragraph, as `normalize` text. Rows of a list or a table stay together."""
    parts: list[str] = []
    previous_is_row = False
    for line in filter(None, normalize(lines).split("\n")):
        row = _ROW.match(line) is not None
        if parts:
            parts.append("\n" if row and previous_is_row else "\n\n")
        parts.append(line)
        previous_is_row = row
    return "".join(parts)
