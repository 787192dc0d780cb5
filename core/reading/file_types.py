"""File type detection by first bytes and by name; where the two disagree, the bytes win."""

from __future__ import annotations

from pathlib import PurePosixPath

from core.model import SkipReason, Unreadable
from core.reading.media_types import readable_type
from core.reading.zip_archive import Archive

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODT = "application/vnd.oasis.opendocument.text"
EPUB = "application/epub+zip"
CSV = "text/csv"
ZIP = "application/zip"
PDF = "application/pdf"
SITEMAP = "application/vnd.openquery.sitemap"
"""A list of addresses for robots, plain or packed with gzip: read as one address a line."""

DOCUMENTS = "a PDF, office file (.docx, .odt, .pptx, .xlsx), EPUB, HTML, Markdown, text or CSV file"
"""What can be read, in words."""

_BY_NAME = {
    ".pdf": PDF,
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".csv": CSV,
    ".tsv": CSV,
    ".tab": CSV,
    ".json": "application/json",
    ".xml": "application/xml",
}
_BELIEVED = (
    "text/html",
    "application/xhtml+xml",
    "text/markdown",
    "application/json",
    "application/xml",
    PDF,
)
_OFFICE = {"word/document.xml": DOCX, "ppt/presentation.xml": PPTX, "xl/workbook.xml": XLSX}
_MIMETYPE = "mimetype"
_LISTED_LIMIT = 1_000

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def kind_of(name: str, body: bytes, declared: str = "") -> str:
    """The media type to read a file as. `declared` is what a server said of it, where one did.

    Raises:
        Unreadable: UNSUPPORTED, saying what it is instead; BROKEN when it is locked or a damaged zip; EMPTY.
    """
    if not body.strip(b"\x00 \t\r\n"):
        raise Unreadable(SkipReason.EMPTY, "the file is empty")
    if body.startswith(_ZIP_STARTS):
        return _packed_kind(body)
    if body.startswith(_OLD_OFFICE):
        if _ENCRYPTED in body:
            raise Unreadable(SkipReason.BROKEN, "the office file is locked with a password")
        raise Unreadable(SkipReason.UNSUPPORTED, "an old office file; save it as .docx, .xlsx or .pdf")
    if body.startswith(b"{\\rtf"):
        raise Unreadable(SkipReason.UNSUPPORTED, "a rich text file; save it as .docx or .pdf")
    suffix = PurePosixPath(name.replace("\\", "/").lower()).suffix
    declared_type = _declared(declared) or _BY_NAME.get(suffix, "")
    try:
        detected = readable_type("text/plain" if declared_type == CSV else declared_type, None, body[:1024])
    except Unreadable as why:  # which speaks of what a server sent
        raise Unreadable(why.reason, why.detail.partition(" sent as ")[0]) from why
    return CSV if declared_type == CSV and detected == "text/plain" else detected


def _declared(media_type: str) -> str:
    """What a server said, where that is worth believing: many call everything plain text or just bytes."""
    if media_type in ("text/csv", "text/tab-separated-values"):
        return CSV
    return media_type if media_type in _BELIEVED else ""


def _packed_kind(body: bytes) -> str:
    archive = Archive(body, _LISTED_LIMIT)
    if _MIMETYPE in archive:
        declared = archive.read(_MIMETYPE, _LISTED_LIMIT).decode("ascii", "replace").strip()
        if declared in (EPUB, ODT):
            return declared
        if declared.startswith("application/vnd.oasis.opendocument"):
            raise Unreadable(SkipReason.UNSUPPORTED, "an OpenDocument that is no text; save it as .pdf")
    return next((kind for path, kind in _OFFICE.items() if path in archive), ZIP)
