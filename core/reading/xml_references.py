"""Correct the references of XML that people and programs write: bare ampersands, and HTML's names of characters."""

import re
from html.entities import html5

_AMPERSAND = re.compile(
    rb"<!\[CDATA\[.*?\]\]>|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)(?P<name>[a-z]{1,30}\d{0,2};)?",
    re.IGNORECASE | re.DOTALL,
)


def corrected_references(xml: bytes) -> bytes:
    """Return XML in which each `&` begins a reference that XML knows.

    CDATA stays as it is, and so does a document that declares entities of its own.
    """
    return xml if b"<!ENTITY" in xml else _AMPERSAND.sub(_escaped, xml)


def _escaped(match: re.Match[bytes]) -> bytes:
    if match[0] != b"&" and not match["name"]:
        return match[0]  # CDATA
    characters = html5.get(match["name"].decode(), "") if match["name"] else ""
    return "".join(f"&#{ord(character)};" for character in characters).encode() or b"&amp;" + match[0][1:]
