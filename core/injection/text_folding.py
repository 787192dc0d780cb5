"""Normalize text for matching: lower case, compatibility forms, look-alike letters, straight quotes."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

UNSEEN = re.compile(
    "[\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
_SIGNS = (
    dict.fromkeys("‘’‚‛´", "'")
    | dict.fromkeys("“”„‟«»‹›「」『』＂", '"')
    | dict.fromkeys("‐‑‒–—―", "-")
    | {"…": ".", "•": "*"}
)
# Letters of other scripts that look Latin; folded only inside words that mix scripts.
_LOOKALIKES = str.maketrans("аеіїорсухѕԁһјӏкмтвнгαεικορτυνχςѵԛɡ", "aeiiopcyxsdhjlkmtbhraeikoptuvxsvqg")
_MIXED = re.compile(r"[a-z][\u0370-\u052f]|[\u0370-\u052f][a-z]")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u052f]")
_WORD = re.compile(r"\w+")
_FEW_FORMS = 24
"""The most forms to replace one by one. A lookup per character is faster for more."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Normalized text. `origin[i]` is the offset of its character i in the original, None if offsets are equal."""

    text: str
    origin: Sequence[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original offsets of [start, end) of the folded text."""
        if self.origin is None:
            return start, end
        return self.origin[start], self.origin[end - 1] + 1


def fold(text: str) -> Folded:
    """Normalize a text for rule matching.

    Letters become lower case and plain, quotes straight, and unseen characters are removed.
    """
    if text.isascii():
        return Folded(text.lower())
    origin = None
    characters = set(text)
    if UNSEEN.search("".join(characters)):
        origin = [i for i, character in enumerate(text) if not UNSEEN.match(character)]
        text = "".join([text[i] for i in origin])
    text = _replace_forms(text, characters).lower()
    if _OTHER_SCRIPT.search(text) and _MIXED.search(text):
        text = _WORD.sub(lambda w: w[0].translate(_LOOKALIKES) if _MIXED.search(w[0]) else w[0], text)
    return Folded(text, origin)


def _replace_forms(text: str, characters: set[str]) -> str:
    """Replace characters by their plain forms. `characters` are the distinct characters of `text`."""
    forms = {c: form for c in characters if not c.isascii() and (form := _plain_form(c)) != c}
    if len(forms) > _FEW_FORMS or any(form in forms for form in forms.values()):
        return text.translate({ord(c): form for c, form in forms.items()})
    for character, form in forms.items():
        text = text.replace(character, form)
    return text


def _plain_form(character: str) -> str:
    """Return a character's plain form in lower case. The form is a single character."""
    if sign := _SIGNS.get(character):
        return sign
    form = unicodedata.normalize("NFKC", character).lower()
    return form if len(form) == 1 else character if len(character.lower()) == 1 else "?"
