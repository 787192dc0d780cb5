"""Sitemaps (sitemaps.org): a site's list of addresses, or of other sitemaps. A feed (RSS, Atom) is one too."""

import zlib
from typing import Any

from core.model import Article, SkipReason, Unreadable
from core.reading.normalization import clean_line
from core.reading.office.safe_xml import local, xml_tree
from core.reading.xml_references import corrected_references

MAX_URLS = 50_000
"""The protocol's limit for one file."""
UNPACKED_LIMIT = 52_428_800
"""And how many bytes it may have."""
LISTS, ADDRESSES = "sitemap of sitemaps", "sitemap"
"""Values of an article's `extractor`: the kind of its addresses."""


def read_sitemap(body: bytes) -> Article:
    """Read a sitemap as one address per line.

    The `extractor` says whether they are pages or sitemaps.

    Raises:
        Unreadable: BROKEN when it is no sitemap, TOO_LARGE when it unpacks to more than the protocol allows.
    """
    body = _unpacked(body).strip().removeprefix(b"\xef\xbb\xbf").lstrip()
    if not body.startswith(b"<"):
        return _article(ADDRESSES, body.decode("utf-8", "replace").split())
    try:
        root = _root(body)
    except Unreadable as why:
        raise Unreadable(why.reason, f"it is no sitemap: {why.detail}") from why
    name = local(root)
    if name in ("rss", "RDF"):
        return _article(ADDRESSES, [_link(entry) for entry in root.iter("{*}item")])
    if name == "feed":
        links = (link for entry in root.iterfind("{*}entry") for link in entry.iterfind("{*}link"))
        return _article(
            ADDRESSES, [link.get("href", "") for link in links if link.get("rel", "alternate") == "alternate"]
        )
    kind = {"urlset": ADDRESSES, "sitemapindex": LISTS}.get(name)
    if kind is None:
        raise Unreadable(SkipReason.BROKEN, "it is no sitemap")
    places = (entry.find("{*}loc") for entry in root)
    return _article(kind, [place.text or "" for place in places if place is not None])


def _link(entry: Any) -> str:
    """Return the address of an RSS item. A link of Atom in it has no text."""
    return next((link.text for link in entry.iterfind("{*}link") if link.text), "")


def _root(body: bytes) -> Any:
    """Parse the XML. Bare ampersands and HTML's names of characters are corrected if it is damaged."""
    try:
        return xml_tree(body)
    except Unreadable:
        corrected = corrected_references(body)
        if corrected == body:
            raise
        return xml_tree(corrected)


def _article(kind: str, addresses: list[str]) -> Article:
    lines = (clean_line(address, 2_000) for address in addresses[:MAX_URLS])
    urls = [line for line in lines if line.startswith(("http://", "https://"))]
    if not urls:
        raise Unreadable(SkipReason.BROKEN, "there are no addresses in the sitemap")
    left_out = "" if len(addresses) <= MAX_URLS else f"only the first {MAX_URLS:,} addresses were read"
    return Article(text="\n".join(dict.fromkeys(urls)), extractor=kind, left_out=left_out)


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    unpacker = zlib.decompressobj(31)
    try:
        text = unpacker.decompress(body, UNPACKED_LIMIT)
    except zlib.error as error:
        raise Unreadable(SkipReason.BROKEN, "the packed sitemap is damaged") from error
    if unpacker.unconsumed_tail:
        raise Unreadable(SkipReason.TOO_LARGE, f"it unpacks to more than {UNPACKED_LIMIT / 1e6:.0f} MB")
    return text
