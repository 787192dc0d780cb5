"""A hint that a page speaks to the model and not to its reader: orders, role marks, smuggled characters.

It finds what careless and ordinary attackers write, and marks it for a person to look at. It is no
filter: nothing is removed because of it, and a page without a mark may still try. What it catches and what
it accuses wrongly is measured in docs/security/injection.md.

Pure, and linear in the length of the text: rules with bounded gaps are tried near their anchors only.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from core.model import Suspicion, SuspicionKind
from core.suspicion_rules import Rule, rules
from core.words import one_line

EDITION = 2
"""Counted up when the rules change, so that articles kept in caches are looked at anew."""
MOST = 20
"""Marks of one page; a page with more than these is no more suspicious."""
LONGEST = 2_000_000
"""Characters that are looked at."""
_EXCERPT = 160
_REACH = 260
"""Characters before and after an anchor in which its rule is tried; no match is longer."""
_MOST_PLACES = 400
"""Places of one rule that are tried."""


def suspicions(text: str, hidden: str = "") -> tuple[Suspicion, ...]:
    """What in `text`, and in what its page hid from the reader, looks like orders to a model.

    Offsets of marks with `hidden` set count in `hidden`, those of others in `text`; marks are sorted by
    them, at most `MOST`. A mark is `strong` unless the words are quoted or talked about, or honest pages
    write them too. Whatever was out of sight is strong.
    """
    seen = _found(text[:LONGEST])
    unseen = (replace(mark, hidden=True, strong=True) for mark in _found(hidden[:LONGEST]))
    return (*unseen, *seen)[:MOST]


def smuggled(text: str) -> str:
    """The runs of invisible characters in `text` that carry words: tag characters, variation selectors.

    Flags such as 🏴󠁧󠁢󠁳󠁣󠁴󠁿 use tag characters honestly and are left aside.
    """
    return "\n".join(text[start:end] for start, end, _ in _smuggled(text))


def spelt(text: str) -> str:
    """`text` with the words that invisible characters carry in their place."""
    for start, end, word in reversed(tuple(_smuggled(text))):
        text = f"{text[:start]}{word}{text[end:]}"
    return text


# --- folding ----------------------------------------------------------------------------------------------

_UNSEEN = re.compile(
    "[\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
_SIGNS = (
    dict.fromkeys("‘’‚‛´", "'")
    | dict.fromkeys("“”„‟«»‹›「」『』＂", '"')
    | dict.fromkeys("‐‑‒–—―", "-")
    | {"…": ".", "•": "*"}
)
# Letters of other scripts that look Latin; folded only inside words that mix scripts.
_LOOKS = str.maketrans(
    "аеіїорсухѕԁһјӏкмтвнгαεικορτυνχςѵԛɡ",
    "aeiiopcyxsdhjlkmtbhraeikoptuvxsvqg",
)
_MIXED = re.compile(r"[a-z][\u0370-\u052f]|[\u0370-\u052f][a-z]")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u052f]")
_WORD = re.compile(r"\w+")
_FEW = 24
"""Characters that are quicker replaced one after the other than looked up for each place."""
_LEET = str.maketrans("0134578@$", "oieastbas")
# The digit first: it is rare, and a pattern is tried only where its first character may be.
_DIGIT_BEFORE = re.compile(r"[0-9@$][a-z]")
_DIGIT_BESIDE = re.compile(r"(?<=[a-z])[0-9@$]|[0-9@$](?=[a-z])")
_LEAST_DIGITS = 3


@dataclass(frozen=True, slots=True)
class _Folded:
    """Text as rules read it. `origin[i]` is the offset of its character i, None when they are the same."""

    text: str
    origin: Sequence[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        if self.origin is None:
            return start, end
        return self.origin[start], self.origin[end - 1] + 1


def _folded(text: str) -> _Folded:
    """Lower case, compatibility forms as plain letters, unseen characters left out, quotes straight."""
    if text.isascii():
        return _Folded(text.lower())
    origin = None
    characters = set(text)
    if _UNSEEN.search("".join(characters)):
        origin = [i for i, character in enumerate(text) if not _UNSEEN.match(character)]
        text = "".join([text[i] for i in origin])
    text = _made_plain(text, characters).lower()
    if _OTHER_SCRIPT.search(text) and _MIXED.search(text):
        text = _WORD.sub(lambda w: w[0].translate(_LOOKS) if _MIXED.search(w[0]) else w[0], text)
    return _Folded(text, origin)


def _made_plain(text: str, characters: set[str]) -> str:
    """The text, which is made of these characters, with each one's plain form in its place."""
    forms = {c: form for c in characters if not c.isascii() and (form := _plain(c)) != c}
    if len(forms) > _FEW or any(form in forms for form in forms.values()):
        return text.translate({ord(c): form for c, form in forms.items()})
    for character, form in forms.items():
        text = text.replace(character, form)
    return text


def _plain(character: str) -> str:
    """One character's compatibility form in lower case, where that is one character too."""
    if sign := _SIGNS.get(character):
        return sign
    form = unicodedata.normalize("NFKC", character).lower()
    return form if len(form) == 1 else character if len(character.lower()) == 1 else "?"


# --- finding ----------------------------------------------------------------------------------------------


def _found(text: str) -> tuple[Suspicion, ...]:
    if not text:
        return ()
    folded = _folded(text)
    marks = [
        *_invisible(text),
        *(
            _mark(text, rule.kind, *folded.span(start, end), strong=not (rule.weak or told))
            for rule, start, end, told in _by_rules(folded.text)
        ),
        *_encoded(text, folded),
    ]
    return _apart(marks)


def _by_rules(folded: str) -> Iterator[tuple[Rule, int, int, bool]]:
    places = _Places(folded)
    for rule in rules():
        for low, high in places.around(rule.anchors):
            for match in rule.pattern.finditer(folded, low, high):
                yield rule, match.start(), match.end(), _told_of(folded, match.start(), match.end())


_SHORT_WORD = "ai"
"""The one anchor that most texts hold inside other words."""
# The letters first, so that the pattern engine can leap from one place that has them to the next.
_AS_A_WORD = re.compile(r"ai\b(?<!\wai)")


class _Places:
    """Where anchors stand in a text. Rules share anchors, and each is looked for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ascii = text.isascii()
        # A word that the text repeats has to be searched only once to tell that an anchor is nowhere.
        self._words = "\n".join(set(text.split(" ")))
        self._known: dict[str, list[int]] = {}

    def around(self, anchors: Iterable[str]) -> Iterator[tuple[int, int]]:
        """Stretches of text around the anchors, in order and apart from each other."""
        low = high = 0
        for place in sorted(place for anchor in anchors for place in self._of(anchor)):
            # After each find a reach was passed over, so a stretch has to cover that too.
            begin, end = max(0, place - _REACH), min(len(self._text), place + 2 * _REACH)
            if begin > high:
                if high:
                    yield low, high
                low = begin
            high = max(high, end)
        if high:
            yield low, high

    def _of(self, anchor: str) -> list[int]:
        if anchor not in self._known:
            places: list[int] = []
            if self._may_hold(anchor):
                find = self._word if anchor == _SHORT_WORD else self._text.find
                found = find(anchor, 0)
                while found >= 0 and len(places) < _MOST_PLACES:
                    places.append(found)
                    found = find(anchor, found + _REACH)
            self._known[anchor] = places
        return self._known[anchor]

    def _may_hold(self, anchor: str) -> bool:
        return _longest_part(anchor) in self._words and (anchor.isascii() or not self._ascii)

    def _word(self, _: str, start: int) -> int:
        found = _AS_A_WORD.search(self._text, start)
        return found.start() if found else -1


@functools.cache
def _longest_part(anchor: str) -> str:
    return max(anchor.split(" "), key=len)


_ABOUT = re.compile(
    r"prompt[- ]?injection|inject(?:ed|ion|ing)|jailbreak|attack|adversar|malicious|hostile|vulnerab|red[- ]?team|exploit"
    r"|such as|phrases? (?:like|such)|for (?:example|instance)|\be\.g\.|\bz\.b\.|par exemple|por ejemplo|guardrail|hijack"
    r"|instruct(?:ed|ing|s)? (?:it|the (?:model|ai|bot|assistant|chatbot))|told (?:it|the (?:model|ai|bot|chatbot))"
    r"|asked (?:it|the (?:model|ai|bot|chatbot|assistant))|researcher|trick(?:ed|s|ing)?\b|prompted"
)


def _told_of(folded: str, start: int, end: int) -> bool:
    """Whether the words at this place are quoted or described rather than said."""
    before = folded[max(0, start - 300) : start]
    paragraph = before[before.rfind("\n\n") + 1 :]
    inside = paragraph.count('"') % 2 == 1 and '"' in folded[end - 1 : end + 300]
    code = before.count("```") % 2 == 1
    single = paragraph.rstrip()[-1:] == "'" and "'" in folded[end - 1 : end + 200]
    return inside or code or single or _ABOUT.search(folded, max(0, start - 250), end + 120) is not None


def _mark(text: str, kind: SuspicionKind, start: int, end: int, *, strong: bool) -> Suspicion:
    return Suspicion(
        kind=kind, start=start, end=end, excerpt=one_line(text[start:end], _EXCERPT), strong=strong
    )


def _apart(marks: list[Suspicion]) -> tuple[Suspicion, ...]:
    """In order, and of those that overlap the strongest and longest."""
    kept: list[Suspicion] = []
    for mark in sorted(marks, key=lambda one: (one.start, -one.end)):
        if kept and mark.start < kept[-1].end:
            last = kept[-1]
            if (mark.strong, mark.end - mark.start) > (last.strong, last.end - last.start):
                kept[-1] = mark
        else:
            kept.append(mark)
    return tuple(kept[:MOST])


# --- what cannot be seen ----------------------------------------------------------------------------------

_TAGS = re.compile("\U0001f3f4?[\U000e0020-\U000e007f]{4,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")
_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff]{16,}")
_OVERRIDE = re.compile("[\u202d\u202e]")


def _invisible(text: str) -> Iterator[Suspicion]:
    if text.isascii() or not _UNSEEN.search("".join(set(text))):
        return
    for start, end, word in _smuggled(text):
        excerpt = one_line(word, _EXCERPT) or f"{end - start} invisible characters in a row"
        yield Suspicion(kind=SuspicionKind.INVISIBLE, start=start, end=end, excerpt=excerpt, strong=True)
    if turned := _OVERRIDE.search(text):
        yield Suspicion(
            kind=SuspicionKind.INVISIBLE,
            start=turned.start(),
            end=turned.end(),
            excerpt="a character that turns the order of letters around",
            strong=False,
        )


def _smuggled(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of characters that carry hidden words, each with what it spells."""
    for run in _TAGS.finditer(text):
        word = "".join(chr(ord(c) - 0xE0000) for c in run[0] if 0xE0020 <= ord(c) <= 0xE007E)
        if not (run[0].startswith("\U0001f3f4") and len(word) <= 6):
            yield *run.span(), word
    for run in _SELECTORS.finditer(text):
        values = (ord(c) - 0xFE00 if ord(c) < 0xFFFF else ord(c) - 0xE0100 + 16 for c in run[0])
        yield *run.span(), _readable(bytes(values))
    for run in _ZERO_WIDTH.finditer(text):
        yield *run.span(), ""


# --- what is written in code ------------------------------------------------------------------------------

_MOST_BLOBS = 60
_BLOB = re.compile(
    r"(?P<hex>(?:[0-9a-fA-F]{2}){20,4000})(?![0-9a-zA-Z+/=])"
    r"|(?P<base32>[A-Z2-7]{32,4000}={0,6})(?![0-9a-zA-Z+/])"
    r"|(?P<base64>[A-Za-z0-9+/_-]{20,4000}={0,2})"
    r"|(?P<binary>(?:[01]{8}[ ,]?){12,2000})"
    r"|(?P<escapes>(?:\\u00[0-9a-fA-F]{2}){12,2000}|(?:\\x[0-9a-fA-F]{2}){12,2000}|(?:%[0-9a-fA-F]{2}){12,2000}|(?:&\#\d{2,3};){12,2000})"
    r"|(?P<spaced>(?:\b[a-zA-Z][ ._-]){11,400}[a-zA-Z]\b)"
)
# Only these two may have white space inside; everything else stands in one long word. What they begin with
# is written out, for that lets the pattern engine pass over all other characters.
_BITS_APART = re.compile(r"[01][01]{7}[ ,]?[01]{8}")
_LETTERS_APART = re.compile(r"[ ._-][a-zA-Z](?:[ ._-][a-zA-Z]){4}[ ._-]")
_LONG = 20
_BACKWARDS = re.compile(
    r"(?:snoitcurtsni|stpmorp?|tpmorp metsys|selur)\b.{0,60}?\b(?:erongi|drag?ersid|tegrof|laever)"
)
_ROT13 = re.compile(r"\b(?:vtaber|qvfertneq|sbetrg)\b.{0,40}?\b(?:vafgehpgvbaf?|ehyrf|cebzcgf?)\b")
_TURNED_LETTERS = ("snoitcurtsni", "tpmorp", "selur", "vafgehpgvba", "cebzcg", "ehyrf")


def _encoded(text: str, folded: _Folded) -> Iterator[Suspicion]:
    """Orders in base64, hexadecimal, escapes, letters set apart, backwards, turned by 13 or in digits."""
    for number, blob in enumerate(_blobs(text)):
        if number == _MOST_BLOBS:
            break
        words = _decoded(blob.lastgroup or "", blob[0])
        if words and next(_by_rules(_folded(words).text), None):
            excerpt = one_line(f"{blob[0][:40]}… spells: {words}", _EXCERPT)
            yield Suspicion(
                kind=SuspicionKind.ENCODED, start=blob.start(), end=blob.end(), excerpt=excerpt, strong=True
            )
    for low, high in _Places(folded.text).around(_TURNED_LETTERS):
        for pattern in (_BACKWARDS, _ROT13):
            for match in pattern.finditer(folded.text, low, high):
                yield _mark(text, SuspicionKind.ENCODED, *folded.span(*match.span()), strong=True)
    yield from _in_digits(text, folded)


def _blobs(text: str) -> Iterator[re.Match[str]]:
    """Stretches that may be code, in order."""
    if _BITS_APART.search(text) or _LETTERS_APART.search(text):
        yield from _BLOB.finditer(text)
        return
    end = 0
    for word in text.split():
        if len(word) >= _LONG:
            start = text.index(word, end)
            end = start + len(word)
            yield from _BLOB.finditer(text, start, end)


def _in_digits(text: str, folded: _Folded) -> Iterator[Suspicion]:
    """Orders with digits for letters: 1gn0r3 4ll pr3v10u5 1n57ruc710n5."""
    if not _digits_gather(folded.text):
        return
    letters = folded.text.translate(_LEET)
    places = _Places(letters)
    for rule in rules():
        if rule.kind not in (SuspicionKind.OVERRIDE, SuspicionKind.SECRETS):
            continue
        for low, high in places.around(rule.anchors):
            for match in rule.pattern.finditer(letters, low, high):
                written = folded.text[match.start() : match.end()]
                if len(_DIGIT_BESIDE.findall(written)) >= _LEAST_DIGITS:
                    yield _mark(text, SuspicionKind.ENCODED, *folded.span(*match.span()), strong=True)


def _digits_gather(text: str) -> bool:
    """Whether as many digits as orders need stand next to letters, within the length of an order."""
    if not any("a" <= text[found.start() - 1] <= "z" for found in _DIGIT_BEFORE.finditer(text, 1)):
        return False
    places = [digit.start() for digit in _DIGIT_BESIDE.finditer(text)]
    return any(
        last - first <= _REACH for first, last in zip(places, places[_LEAST_DIGITS - 1 :], strict=False)
    )


def _decoded(kind: str, blob: str) -> str:
    """What a stretch of code spells, empty when it is no text."""
    try:
        match kind:
            case "hex":
                return _readable(bytes.fromhex(blob))
            case "base32":
                bare = blob.rstrip("=")
                return _readable(base64.b32decode(bare + "=" * (-len(bare) % 8)))
            case "base64":
                bare = blob.rstrip("=")
                return _readable(
                    base64.urlsafe_b64decode(
                        bare.replace("+", "-").replace("/", "_") + "=" * (-len(bare) % 4)
                    )
                )
            case "binary":
                return _readable(bytes(int(bits, 2) for bits in re.findall("[01]{8}", blob)))
            case "escapes":
                numbers = re.findall(r"&#(\d+);", blob)
                codes = (
                    map(int, numbers)
                    if numbers
                    else (int(c, 16) for c in re.findall(r"(?:\\u00|\\x|%)(..)", blob))
                )
                return _readable(bytes(code for code in codes if code < 256))
            case _:
                letters = re.sub(r"[ ._-]", "", blob)
                return re.sub(
                    r"(ignore|disregard|forget|all|previous|prior|above|your|the)", r"\1 ", letters.lower()
                )
    except (ValueError, binascii.Error):
        return ""


def _readable(data: bytes) -> str:
    """ASCII text, or nothing when the bytes are anything else."""
    text = data.decode("ascii", errors="ignore")
    letters = sum(c.isalpha() or c.isspace() for c in text)
    return text if len(text) >= 10 and len(text) >= 0.95 * len(data) and letters >= 0.7 * len(text) else ""
