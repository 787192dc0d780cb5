"""Character decoding: by byte order mark, declared charset, or detection, in this order."""

import codecs
import unicodedata

import regex as re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
"""The beginning of UTF-16 markup without a byte order mark (XML 1.0, appendix F)."""
_HEAD = 4096
"""The number of bytes to search for a page's charset. The standard says 1024, but some pages exceed that."""

_SAMPLE = 100_000
"""The number of bytes for detection."""

_META = re.compile(rb"""<meta[^>]{0,300}?charset\s*+=\s*+["']?\s*+([a-zA-Z0-9_:.-]{2,40})""", re.IGNORECASE)
_XML = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*+=\s*+["']([a-zA-Z0-9_:.-]{2,40})["']""", re.IGNORECASE)

_AS_BROWSERS_READ = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
    "cp950": "big5hkscs", "euc_jis_2004": "euc_jp", "euc_jisx0213": "euc_jp", "shift_jis_2004": "cp932",
    "shift_jisx0213": "cp932",
}  # fmt: skip
"""Supersets that labels mean in practice (WHATWG Encoding Standard)."""

_ALLOWED = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"}
    | {f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
    | {
        f"cp{page}"
        for page in (437, 850, 852, 855, 866, 874, 932, 949, 1125, 1250, 1251, 1252, 1253, 1254, 1255)
    }
    | {"cp1256", "cp1257", "cp1258", "koi8-r", "koi8-u", "mac-cyrillic", "mac-roman", "mac-greek", "kz1048"}
    | {"gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "iso2022_kr", "hz", "johab"}
)
"""Codecs that only turn bytes into text.

Python has others (zlib, rot13, unicode_escape, idna) that raise unexpected errors or unpack, so an untrusted label is
looked up here before `decode`.
"""

_STANDARD = {"cp932": "shift_jis", "cp949": "euc_kr", "big5hkscs": "big5"}
_ESCAPED = re.compile(rb"[\x00-\x7f]*?\x1b(\$\)C|\$[@B]|\([BJ])")
"""Seven-bit encodings of Korean and Japanese: ASCII with escape sequences."""

_LIKE_CP1252 = frozenset(
    {"cp1250", "cp1254", "cp1257", "cp1258", "iso8859-2", "iso8859-10", "iso8859-13", "iso8859-16"}
)
"""Codecs in Latin letters that are easily detected in place of cp1252, which is far more common."""
_COMPARED = 3_000
"""The characters by which two codecs are compared."""

_OWN_NAMES = {
    "x-sjis": "cp932", "x-euc-jp": "euc_jp", "x-gbk": "gb18030", "x-x-big5": "big5hkscs", "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic", "utf8": "utf-8", "iso-8859-8-i": "iso8859-8", "unicode": "utf-16-le",
    "ks_c_5601-1987": "cp949", "windows-949": "cp949", "x-windows-949": "cp949",
}  # fmt: skip


def decode(body: bytes, charset: str | None = None) -> str:
    """Decode a body without NULs and undecodable bytes. Never raises.

    `charset` is the header's label. A label counts if the bytes decode with it, since wrong labels are more common than
    damage. UTF-8 with a few characters beyond ASCII comes before any label, since other encodings hardly ever look like
    it. Undecodable bytes become U+FFFD. NULs are removed because parsers stop at them.
    """
    return _decoded(body, charset).replace("\x00", "")


def _decoded(body: bytes, charset: str | None) -> str:
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(codec, errors="replace")
    for beginning, codec in _UNMARKED:
        if body.startswith(beginning):
            return body.decode(codec, errors="replace")
    if codec := unmarked_utf16(body):
        return body.decode(codec, errors="replace")
    as_utf8 = _strictly(body, "utf-8")
    if as_utf8 is not None and len(body) - len(as_utf8) > 2:
        return as_utf8
    labels = [codec for codec in (codec_for(charset), _named_inside(body)) if codec]
    if b"\x1b" in body and (escaped := _ESCAPED.match(body)):
        labels.append("iso2022_kr" if escaped[1] == b"$)C" else "iso2022_jp")
    for codec in labels:
        text = _strictly(body, codec)
        if text is not None:
            return text
    if as_utf8 is not None:
        return as_utf8
    best = labels[0] if labels else None
    if best is None or not _nearly(body, best):
        best = _detected(body) or best or "cp1252"
    return _strictly(body, best) or body.decode(best, errors="replace")


def unmarked_utf16(body: bytes) -> str:
    """Return the byte order of UTF-16 without a mark, or "". Most of its characters are ASCII, with a NUL each."""
    sample = body[:_HEAD]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if not even and odd * 4 > len(sample):
        return "utf-16-le"
    return "utf-16-be" if not odd and even * 4 > len(sample) else ""


def codec_for(label: str | None) -> str | None:
    """Return Python's codec for an untrusted charset label, or None if unknown."""
    if not label:
        return None
    label = label.strip().strip("\"'").lower()
    if not re.fullmatch(r"[a-z0-9][a-z0-9_:.+-]{1,39}", label):
        return None
    try:
        name = codecs.lookup(_OWN_NAMES.get(label, label)).name
    except (LookupError, ValueError):
        return None
    name = _AS_BROWSERS_READ.get(name, name)
    return name if name in _ALLOWED else None


def _named_inside(body: bytes) -> str | None:
    """Return the page's own charset, corrected if impossible: a label read as ASCII is not UTF-16."""
    head = body[:_HEAD]
    match = _XML.search(head) or _META.search(head)
    codec = codec_for(match[1].decode("ascii")) if match else None
    return "utf-8" if codec and codec.startswith(("utf-16", "utf-32")) else codec


def _strictly(body: bytes, codec: str) -> str | None:
    """Return the text if every byte fits, or None.

    The standard's table comes before its superset: they differ in dashes.
    """
    for name in filter(None, (_STANDARD.get(codec), codec)):
        try:
            text = body.decode(name)
        except UnicodeError:
            continue
        return text if codec == "utf-8" or _plausible(text) else None
    return None


def _plausible(text: str) -> bool:
    """Return whether text has few control characters. Single-byte codecs accept any byte."""
    sample = text[:20_000]
    odd = sum(
        1
        for char in sample
        if unicodedata.category(char) in ("Cc", "Co", "Cn") and char not in "\t\n\r\f\x1a"
    )
    return odd * 50 <= len(sample)


def _nearly(body: bytes, codec: str) -> bool:
    """Return whether so few bytes do not fit that the label is right and the page slightly damaged."""
    text = body.decode(codec, errors="replace")
    return text.count("\ufffd") * 200 <= len(text) and _plausible(text)


def _detected(body: bytes) -> str | None:
    from charset_normalizer import from_bytes

    sample = body[:_SAMPLE]
    best = from_bytes(sample).best()
    codec = codec_for(best.encoding) if best else None
    if codec == "gb18030" and _is_japanese(sample):
        return "euc_jp"
    if codec == "cp932" and _is_half_width(sample):
        return max(("koi8-r", "cp1251", "cp866"), key=lambda name: _likelihood(sample, name))
    if codec in _LIKE_CP1252 and _reads_better(sample, "cp1252", codec):
        return "cp1252"
    return codec


def _reads_better(sample: bytes, codec: str, other: str) -> bool:
    """Return whether a text in Latin letters is at least as surely in some language with `codec` as with `other`.

    Few letters differ between these codecs, too few for detection by bytes.
    """
    return _likelihood(sample, codec) >= _likelihood(sample, other)


def _likelihood(sample: bytes, codec: str) -> float:
    """Return how surely a sample is in some language, decoded with `codec`."""
    from core.text.language_model import probabilities

    text = sample.decode(codec, errors="replace")[:_COMPARED]
    return max(probabilities(text).values(), default=0.0)


def _is_half_width(sample: bytes) -> bool:
    """Return whether a sample would be Japanese in half-width kana, which nobody writes at length.

    Its bytes are the letters of Cyrillic encodings.
    """
    text = sample.decode("cp932", errors="ignore")
    return 2 * sum("\uff61" <= char <= "\uff9f" for char in text) > sum(not char.isascii() for char in text)


def _is_japanese(sample: bytes) -> bool:
    """Return whether a sample is EUC-JP.

    The Chinese encodings share its byte ranges.
    """
    text = sample.decode("euc_jp", errors="ignore")
    kana = sum("\u3041" <= char <= "\u30fe" for char in text)
    return kana * 3 > sum("\u4e00" <= char <= "\u9fff" for char in text) > 0
