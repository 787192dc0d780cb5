"""Media types of bodies, by header and by first bytes."""

from __future__ import annotations

import re
from email.message import Message

from core.model import SkipReason, Unreadable

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
"""First bytes that a text may have too: they count where what follows is no text."""
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\x0e\x0f\x1a\x1b"))
_MOST_CONTROLS = 0.02
"""The share of control characters that a text may have, such as a stray NUL; random bytes have a tenth."""
# Possessive, for a comment could else end at any later "-->", and all ways to divide a row of them be tried.
_HTML_START = re.compile(rb"(?is)(?:\s|<!--.*?-->|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body)\b")
_XML_START = re.compile(rb"(?is)\s*<(?:\?xml|rss|feed|rdf:rdf)\b")


def declared_type(content_type: str | None) -> tuple[str, str | None]:
    """Media type in lower case without parameters, and the charset parameter as written."""
    message = Message()
    message["content-type"] = re.sub(r"[^\x20-\x7e]", "", content_type or "")[:200]
    name = (content_type or "").partition(";")[0].strip().lower()
    charset = message.get_param("charset") if content_type else None
    return name, charset if isinstance(charset, str) else None


def refuse_type(declared: str) -> None:
    """Raise for a type that no first byte can redeem, so that its body is never read.

    Raises:
        Unreadable: UNSUPPORTED, naming the type.
    """
    if declared not in _UNSPECIFIC and _named_type(declared) is None:
        raise Unreadable(SkipReason.UNSUPPORTED, declared[:80])


def readable_type(declared: str, charset: str | None, head: bytes) -> str:
    """The type to read the body as, from what the header says and how the body begins.

    Raises:
        Unreadable: UNSUPPORTED, saying what the body is instead.
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
    if not wide and head[:2] not in (b"<\x00", b"\x00<") and _is_binary(head):
        kind = next((kind for magic, kind in _BINARY_MAGIC if head.startswith(magic)), "binary data")
        raise Unreadable(SkipReason.UNSUPPORTED, f"{kind} sent as {declared or 'nothing in particular'}")
    looks_html = _HTML_START.match(head.removeprefix(b"\xef\xbb\xbf")) is not None
    if readable == "application/pdf" and not looks_html:
        raise Unreadable(SkipReason.UNSUPPORTED, "not a PDF, although declared as one")
    if readable in ("application/xhtml+xml", "text/html"):
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
