"""Tokenization of texts in any script, and the character ranges of scripts for regular expressions."""

import re
import unicodedata
from functools import cache
from typing import Any

KANA = "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
HAN = "\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9\U00020000-\U0003ffff"
HANGUL = "\u1100-\u11ff\uac00-\ud7af"
SOUTHEAST_ASIAN = (
    "\u0e01-\u0e3a\u0e40-\u0e5b\u0e81-\u0edf\u1000-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f\u1780-\u17dd\u17e0-\u17f9"
)
"""Thai, Lao, Myanmar and Khmer."""

UNSPACED = f"{KANA}{HAN}{SOUTHEAST_ASIAN}"
"""Scripts without spaces between words."""

TIBETAN, YI = "\u0f00-\u0fff", "\ua000-\ua4cf"
"""Scripts without spaces between words, but with a mark after each syllable, or one character for it."""

# Without these marks and scripts, the standard library finds the words.
_INTRICATE = re.compile("[\u0300-\u036f\u0590-\u1fff\u2c00-\U0010ffff]")
_WORD = re.compile(r"[^\W_]+")
_EXPONENT = re.compile(r"(?<=\d)(?=⁻?[⁰¹²³⁴-⁹])|(?<=[^\W\d_]{4})(?=[⁰¹²³⁴-⁹])")
"""The place before an exponent, or a note's number after a word: in form NFKC 10⁶ would be 106, and mill¹ mill1."""
_GROUPS = {"ideographs": 2, "letters": 3}
"""The number of neighbouring characters in a token, by the kind of script."""
_ASCII_WORDS = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}


def words(text: str) -> list[str]:
    """Return the words in order, case-folded in form NFKC.

    A number's exponent and the number of a note are words of their own. In scripts without spaces these are pairs of
    neighbouring characters, in alphabets of Southeast Asia groups of three.
    """
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    tokens: list[str] = []
    for run, group in runs(text):
        size = group or len(run)
        tokens.extend(run[start : start + size] for start in range(max(len(run) - size, 0) + 1))
    return tokens


def runs(text: str) -> list[tuple[str, int]]:
    """Return the words and the unbroken runs of scripts without spaces, as `words` does, before runs are divided.

    Each has the number of neighbouring characters that are a word of a run, or 0 if it is a word.
    """
    text = unicodedata.normalize("NFKC", _EXPONENT.sub(" ", text)).casefold()
    if not _INTRICATE.search(text):
        return [(word, 0) for word in _WORD.findall(text)]
    return [(match.group(), _GROUPS.get(match.lastgroup, 0)) for match in _any_script().finditer(text)]


@cache
def _any_script() -> Any:
    import regex  # the standard library's \w leaves out the vowel signs of Indic scripts

    unspaced = rf"(?P<ideographs>[{KANA}{HAN}]+)|(?P<letters>[{SOUTHEAST_ASIAN}]+)"
    return regex.compile(rf"{unspaced}|[\p{{L}}\p{{M}}\p{{N}}--[{UNSPACED}]]+", regex.V1)
