"""Media types by header, name and first bytes. The bytes win if they disagree."""

from email.message import Message
from pathlib import PurePosixPath

import regex as re

from core.model import SkipReason, Unreadable
from core.reading.zip_archive import Archive
from core.text.decoding import unmarked_utf16

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODT = "application/vnd.oasis.opendocument.text"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
ODP = "application/vnd.oasis.opendocument.presentation"
DOC = "application/msword"
PPT = "application/vnd.ms-powerpoint"
XLS = "application/vnd.ms-excel"
RTF = "application/rtf"
OPENDOCUMENT = frozenset({ODT, ODS, ODP})
OFFICE_NAMES = {
    DOCX: "docx", PPTX: "pptx", XLSX: "xlsx", XLSB: "xlsb", ODT: "odt", ODS: "ods", ODP: "odp",
    DOC: "doc", PPT: "ppt", XLS: "xls", RTF: "rtf",
}  # fmt: skip
"""Office formats, with the names of their files."""
EPUB = "application/epub+zip"
CSV = "text/csv"
MAIL, MAILBOX = "message/rfc822", "application/mbox"
SAVED_PAGE = "multipart/related"
"""A web page with its parts, as browsers save it (MHTML)."""
HTML = frozenset({"text/html", "application/xhtml+xml"})
ZIP = "application/zip"
PDF = "application/pdf"
SITEMAP = "application/vnd.openquery.sitemap"
"""A list of addresses for robots, plain or packed with gzip. It is read as one address per line."""

DOCUMENTS = "a PDF, office file (.docx, .pptx, .xlsx, .odt, .odp, .ods, .rtf, .doc, .ppt, .xls, .xlsb), EPUB, HTML (.html, .mhtml), Markdown, text, CSV or JSON file, notebook (.ipynb), e-mail (.eml, .mbox) or subtitles (.srt, .vtt)"
"""Readable formats, for messages."""

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
    ".ipynb": "application/json",
    ".xml": "application/xml",
    ".srt": "text/plain",
    ".vtt": "text/plain",
    ".eml": MAIL,
    ".mbox": MAILBOX,
    ".mht": SAVED_PAGE,
    ".mhtml": SAVED_PAGE,
    ".jsonl": "application/json",
    ".ndjson": "application/json",
}
_SHEETS = frozenset({".xls", ".xlsx"})
"""Names of workbooks, by which programs also call tables of text or HTML that a spreadsheet opens."""
_HEAD = 1024
_OF_PAGES = frozenset({".css", ".js", ".mjs", ".cjs"})
"""Style sheets and scripts of web pages."""
_LONGEST_LINES = 110
"""The mean length of the lines of a style sheet or script, in bytes, above which it is minified (GitHub's Linguist)."""
_BELIEVED = (
    "text/html",
    "application/xhtml+xml",
    "text/markdown",
    "application/json",
    "application/xml",
    MAIL,
    MAILBOX,
    SAVED_PAGE,
    PDF,
)
_OFFICE = {
    "word/document.xml": DOCX,
    "ppt/presentation.xml": PPTX,
    "xl/workbook.xml": XLSX,
    "xl/workbook.bin": XLSB,
}
_NUMBERED_WORD = re.compile(r"word/document\d+\.xml")
"""The text of a Word document that a server has stored again."""
_MIMETYPE = "mimetype"
_LISTED_LIMIT = 1_000

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_OUTLOOK = "__substg1.0_".encode("utf-16-le")
"""The beginning of the names of an Outlook message's streams. An attached document has its own besides."""
_STREAMS = {
    name.encode("utf-16-le"): kind
    for name, kind in (
        ("WordDocument", DOC), ("PowerPoint Document", PPT), ("Workbook", XLS), ("Book\0", XLS),
    )
}  # fmt: skip
"""Streams of the old office formats. A document may embed a workbook, so its own comes first."""

_READABLE = {
    "text/html": "text/html",
    "application/xhtml+xml": "application/xhtml+xml",
    "application/pdf": "application/pdf",
    "application/x-pdf": "application/pdf",
    "text/plain": "text/plain",
    "text/markdown": "text/markdown",
    "text/x-markdown": "text/markdown",
    "application/json": "application/json",
    "text/json": "application/json",
    "text/xml": "application/xml",
    "application/xml": "application/xml",
    "text/vtt": "text/plain",
    "text/srt": "text/plain",
    "application/x-subrip": "text/plain",
    MAIL: MAIL,
    MAILBOX: MAILBOX,
    SAVED_PAGE: SAVED_PAGE,
    "application/x-mimearchive": SAVED_PAGE,
    "application/x-ndjson": "application/json",
    "application/jsonl": "application/json",
}
_UNSPECIFIC = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/force-download", "unknown/unknown"}
)
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"RIFF", "audio, video or an image"),
    (b"PK\x03\x04", "a ZIP archive or an office file"),
    (b"\xd0\xcf\x11\xe0", "an old office file"),
    (b"\x1f\x8b", "a gzip file"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"OggS", "audio or video"),
    (b"ID3", "audio"),
    (b"\x1aE\xdf\xa3", "a video"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
)
_BINARY_MAGIC = ((b"MZ", "a program"), (b"BM", "a bitmap image"))
"""First bytes that a text may have too. They count only before binary data."""
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x0e\x0f\x1a\x1b"))
_MOST_CONTROLS = 0.02
"""Share of control characters that a text may have, such as a stray NUL. Random bytes have a tenth."""
# Possessive, for a comment could else end at any later "-->", and all ways to divide a row of them be tried.
_HTML_START = re.compile(rb"(?is)(?:\s|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body)\b")
_FRAGMENT_START = re.compile(
    rb"(?i)(?:<!--.*?-->\s*)*+<\s*(?:table|div|meta|style|title|center|font|p|b)\b", re.DOTALL
)
_SAVED_START = re.compile(rb"(?i)mime-version:")
_XML_START = re.compile(rb"(?is)\s*<(?:\?xml|rss|feed|rdf:rdf)\b")


def kind_of(name: str, body: bytes, declared: str = "") -> str:
    """Return the media type to read a file as.

    `declared` is the type that a server sent, if any.

    Raises:
        Unreadable: UNSUPPORTED with the type found, BROKEN for a locked file or damaged zip, or EMPTY.
    """
    if not body.strip(b"\x00 \t\r\n"):
        raise Unreadable(SkipReason.EMPTY, "the file is empty")
    if body.startswith(_ZIP_STARTS):
        return _packed_kind(body)
    if body.startswith(_OLD_OFFICE):
        if _ENCRYPTED in body:
            raise Unreadable(SkipReason.BROKEN, "the office file is locked with a password")
        kind = next((kind for stream, kind in _STREAMS.items() if stream in body), "")
        if _OUTLOOK in body:
            raise Unreadable(SkipReason.UNSUPPORTED, "a message of Outlook; save it as .eml")
        if not kind:
            raise Unreadable(SkipReason.UNSUPPORTED, "an old office file; save it as .docx, .xlsx or .pdf")
        return kind
    if body.lstrip().startswith(b"{\\rtf"):
        return RTF
    suffix = PurePosixPath(name.replace("\\", "/").lower()).suffix
    if suffix in _OF_PAGES and len(body) > _LONGEST_LINES * len(body.splitlines()):
        raise Unreadable(SkipReason.UNSUPPORTED, "a minified script or style sheet")
    declared_type = _declared(declared) or _BY_NAME.get(suffix, "")
    if not declared_type and suffix in _SHEETS:
        declared_type = _text_of_sheet(body[:_HEAD])
    try:
        detected = readable_type("text/plain" if declared_type == CSV else declared_type, None, body[:1024])
    except Unreadable as why:  # its message is about a server's reply
        raise Unreadable(why.reason, why.detail.partition(" sent as ")[0]) from why
    return CSV if declared_type == CSV and detected == "text/plain" else detected


def _text_of_sheet(head: bytes) -> str:
    """Return the type of a text that is named as a workbook: a page, a saved page, a table, or ""."""
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _SAVED_START.match(head):
        return SAVED_PAGE
    if _FRAGMENT_START.match(head):
        return "text/html"
    line = head.partition(b"\n")[0]
    return CSV if head[:1] != b"<" and any(mark in line for mark in (b"\t", b";", b",")) else ""


def _declared(media_type: str) -> str:
    """Return a server's declared type if credible, or "".

    Many servers call everything plain text or just bytes.
    """
    if media_type in ("text/csv", "text/tab-separated-values"):
        return CSV
    return media_type if media_type in _BELIEVED else ""


def _packed_kind(body: bytes) -> str:
    archive = Archive(body, _LISTED_LIMIT)
    if _MIMETYPE in archive:
        declared = archive.read(_MIMETYPE, _LISTED_LIMIT).decode("ascii", "replace").strip()
        declared = declared.removesuffix("-template")
        if declared == EPUB or declared in OPENDOCUMENT:
            return declared
        if declared.startswith("application/vnd.oasis.opendocument"):
            raise Unreadable(SkipReason.UNSUPPORTED, "an OpenDocument drawing or database; save it as .pdf")
    if kind := next((kind for path, kind in _OFFICE.items() if path in archive), ""):
        return kind
    return DOCX if any(map(_NUMBERED_WORD.fullmatch, archive.names)) else ZIP


def declared_type(content_type: str | None) -> tuple[str, str | None]:
    """Return the lower-case media type and the charset as written. The type has no parameters."""
    message = Message()
    message["content-type"] = re.sub(r"[^\x20-\x7e]", "", content_type or "")[:200]
    name = (content_type or "").partition(";")[0].strip().lower()
    charset = message.get_param("charset") if content_type else None
    return name, charset if isinstance(charset, str) else None


def refuse_type(declared: str) -> None:
    """Raise for a type that is unreadable whatever its first bytes.

    Its body is then never read.

    Raises:
        Unreadable: UNSUPPORTED, naming the type.
    """
    if declared not in _UNSPECIFIC and _named_type(declared) is None:
        raise Unreadable(SkipReason.UNSUPPORTED, declared[:80])


def readable_type(declared: str, charset: str | None, head: bytes) -> str:
    """Return the type to read a body as, from header and first bytes.

    Raises:
        Unreadable: UNSUPPORTED, with the type found.
    """
    readable = _named_type(declared)
    if b"%PDF-" in head[:1024] and (
        readable in (None, "application/pdf") or head.lstrip().startswith(b"%PDF-")
    ):
        return "application/pdf"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            raise Unreadable(SkipReason.UNSUPPORTED, f"{kind} sent as {declared or 'nothing in particular'}")
    wide = head.startswith(_WIDE_BOMS) or (charset or "").lower().startswith(("utf-16", "utf-32", "utf16"))
    wide = wide or _is_wide_text(head)
    if not wide and head[:2] not in (b"<\x00", b"\x00<") and _is_binary(head):
        kind = next((kind for magic, kind in _BINARY_MAGIC if head.startswith(magic)), "binary data")
        raise Unreadable(SkipReason.UNSUPPORTED, f"{kind} sent as {declared or 'nothing in particular'}")
    looks_html = _HTML_START.match(head.removeprefix(b"\xef\xbb\xbf")) is not None
    if readable == "application/pdf" and not looks_html:
        raise Unreadable(SkipReason.UNSUPPORTED, "not a PDF, although declared as one")
    if readable in HTML:
        return readable
    if looks_html and readable != "text/markdown":
        return "text/html"
    if readable is not None:
        return readable
    return _guessed(declared, head)


def _named_type(declared: str) -> str | None:
    if declared.endswith("+json"):
        return "application/json"
    if declared.endswith("+xml") and not declared.startswith("image/"):
        return _READABLE.get(declared, "application/xml")
    return _READABLE.get(declared)


def _is_wide_text(head: bytes) -> bool:
    """Whether a head is text in UTF-16 without a byte order mark."""
    codec = unmarked_utf16(head)
    return (
        bool(codec) and len(head) % 2 == 0 and not _is_binary(head.decode(codec, errors="replace").encode())
    )


def _is_binary(head: bytes) -> bool:
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls > _MOST_CONTROLS * len(head)


def _guessed(declared: str, head: bytes) -> str:
    if _XML_START.match(head.removeprefix(b"\xef\xbb\xbf")):
        return "application/xml"
    text = head[:512].decode("utf-8", errors="ignore")
    if not text.isascii() and len(text.encode()) + 4 < len(head[:512]):
        raise Unreadable(SkipReason.UNSUPPORTED, declared or "no type, and not text")
    if re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]", text):
        raise Unreadable(SkipReason.UNSUPPORTED, declared or "no type, and not text")
    return "application/json" if re.match(r"\s*[\[{]\s*[\"\[{\]}]", text) else "text/plain"
