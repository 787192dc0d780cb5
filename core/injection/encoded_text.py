"""Find encoded orders: codes, escapes, spaced letters, reversed text, ROT13, leetspeak.

The codes are base64, base32, hexadecimal and binary.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote_plus

from core.injection.invisible_text import readable
from core.injection.rule_matching import QUOTE_LENGTH, REACH, MatchSpans, match_rules, rules, sign
from core.injection.text_folding import Folded, fold
from core.model import InjectionKind, InjectionSign
from core.text.sanitize import one_line

_MAX_BLOBS = 60
_BLOB = re.compile(
    r"(?P<hex>(?:[0-9a-fA-F]{2}){20,4000})(?![0-9a-zA-Z+/=])"
    r"|(?P<base32>[A-Z2-7]{32,4000}={0,6})(?![0-9a-zA-Z+/])"
    r"|(?P<base64>[A-Za-z0-9+/_-]{20,4000}={0,2})"
    r"|(?P<binary>(?:[01]{8}[ ,]?){12,2000})"
    r"|(?P<escapes>(?:\\u00[0-9a-fA-F]{2}){12,2000}|(?:\\x[0-9a-fA-F]{2}){12,2000}|(?:%[0-9a-fA-F]{2}){12,2000}|(?:&\#\d{2,3};){12,2000})"
    r"|(?P<spaced>(?:\b[a-zA-Z][ ._-]){11,400}[a-zA-Z]\b)"
)
# Only these two may contain white space. All others are one long word. Their beginnings are written out, which lets the
# pattern engine skip all other characters.
_BITS_APART = re.compile(r"[01][01]{7}[ ,]?[01]{8}")
_LETTERS_APART = re.compile(r"[ ._-][a-zA-Z](?:[ ._-][a-zA-Z]){4}[ ._-]")
_LONG = 20
_PERCENT = re.compile("%[0-9a-fA-F]{2}")
_LEAST_PERCENT, _APART = 2, 60
"""The fewest escapes of a stretch that is decoded, and the most characters between two of them."""
_BACKWARDS = re.compile(
    r"(?:snoitcurtsni|stpmorp?|tpmorp metsys|selur)\b.{0,60}?\b(?:erongi|drag?ersid|tegrof|laever)"
)
_ROT13 = re.compile(r"\b(?:vtaber|qvfertneq|sbetrg)\b.{0,40}?\b(?:vafgehpgvbaf?|ehyrf|cebzcgf?)\b")
_TURNED_LETTERS = ("snoitcurtsni", "tpmorp", "selur", "vafgehpgvba", "cebzcg", "ehyrf")
_LEET = str.maketrans("0134578@$", "oieastbas")
# The digit leads because it is rare, and the engine tries a pattern only at its first character.
_DIGIT_BEFORE = re.compile(r"[0-9@$][a-z]")
_DIGIT_BESIDE = re.compile(r"(?<=[a-z])[0-9@$]|[0-9@$](?=[a-z])")
_LEAST_DIGITS = 3


def find_encoded(text: str, folded: Folded) -> Iterator[InjectionSign]:
    """Yield signs of orders in any of these encodings."""
    for number, blob in enumerate(_blobs(text)):
        if number == _MAX_BLOBS:
            break
        words = _decoded(blob.lastgroup or "", blob[0])
        if _is_order(words):
            quote = one_line(f"{blob[0][:40]}… spells: {words}", QUOTE_LENGTH)
            yield InjectionSign(
                kind=InjectionKind.ENCODED, start=blob.start(), end=blob.end(), quote=quote, strong=True
            )
    for start, end in islice(_escaped(text), _MAX_BLOBS):
        encoded = text[start:end]
        words = unquote_plus(encoded)
        if _is_order(words) and not _is_order(encoded):
            quote = one_line(f"{encoded[:40]}… spells: {words}", QUOTE_LENGTH)
            yield InjectionSign(kind=InjectionKind.ENCODED, start=start, end=end, quote=quote, strong=True)
    for low, high in MatchSpans(folded.text).around(_TURNED_LETTERS):
        for pattern in (_BACKWARDS, _ROT13):
            for match in pattern.finditer(folded.text, low, high):
                yield sign(text, InjectionKind.ENCODED, *folded.span(*match.span()), strong=True)
    yield from _in_leetspeak(text, folded)


def _is_order(words: str) -> bool:
    return next(match_rules(fold(words).text), None) is not None


def _blobs(text: str) -> Iterator[re.Match[str]]:
    """Yield stretches that may be code, in order."""
    if _BITS_APART.search(text) or _LETTERS_APART.search(text):
        yield from _BLOB.finditer(text)
        return
    end = 0
    for word in [word for word in text.split() if len(word) >= _LONG]:
        start = text.index(word, end)
        end = start + len(word)
        yield from _BLOB.finditer(text, start, end)


def _escaped(text: str) -> Iterator[tuple[int, int]]:
    """Yield stretches with percent escapes and the words around them."""
    stretch: list[int] = []
    for place in (*(match.start() for match in _PERCENT.finditer(text)), len(text) + _APART + 1):
        if stretch and place - stretch[-1] > _APART:
            if len(stretch) >= _LEAST_PERCENT:
                yield max(0, stretch[0] - _APART), min(len(text), stretch[-1] + _APART)
            stretch = []
        stretch.append(place)


def _in_leetspeak(text: str, folded: Folded) -> Iterator[InjectionSign]:
    """Yield signs of orders with digits for letters: 1gn0r3 4ll pr3v10u5 1n57ruc710n5."""
    if not _has_leetspeak(folded.text):
        return
    letters = folded.text.translate(_LEET)
    places = MatchSpans(letters)
    for rule in rules():
        if rule.kind not in (InjectionKind.OVERRIDE, InjectionKind.SECRETS):
            continue
        for low, high in places.around(rule.anchors):
            for match in rule.pattern.finditer(letters, low, high):
                encoded = folded.text[match.start() : match.end()]
                if len(_DIGIT_BESIDE.findall(encoded)) >= _LEAST_DIGITS:
                    yield sign(text, InjectionKind.ENCODED, *folded.span(*match.span()), strong=True)


def _has_leetspeak(text: str) -> bool:
    """Whether enough digits for an order are next to letters. They must be within the length of an order."""
    if not any("a" <= text[match.start() - 1] <= "z" for match in _DIGIT_BEFORE.finditer(text, 1)):
        return False
    places = [digit.start() for digit in _DIGIT_BESIDE.finditer(text)]
    return any(
        last - first <= REACH for first, last in zip(places, places[_LEAST_DIGITS - 1 :], strict=False)
    )


def _decoded(kind: str, blob: str) -> str:
    """Decode a stretch of code, or return "" if it is not text."""
    try:
        match kind:
            case "hex":
                return readable(bytes.fromhex(blob))
            case "base32":
                bare = blob.rstrip("=")
                return readable(base64.b32decode(bare + "=" * (-len(bare) % 8)))
            case "base64":
                bare = blob.rstrip("=")
                return readable(
                    base64.urlsafe_b64decode(
                        bare.replace("+", "-").replace("/", "_") + "=" * (-len(bare) % 4)
                    )
                )
            case "binary":
                return readable(bytes(int(bits, 2) for bits in re.findall("[01]{8}", blob)))
            case "escapes":
                numbers = re.findall(r"&#(\d+);", blob)
                codes = (
                    map(int, numbers)
                    if numbers
                    else (int(c, 16) for c in re.findall(r"(?:\\u00|\\x|%)(..)", blob))
                )
                return readable(bytes(code for code in codes if code < 256))
            case _:
                letters = re.sub(r"[ ._-]", "", blob)
                return re.sub(
                    r"(ignore|disregard|forget|all|previous|prior|above|your|the)", r"\1 ", letters.lower()
                )
    except (ValueError, binascii.Error):
        return ""
