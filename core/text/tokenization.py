"""Words of texts in any script."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from core.text.scripts import UNSPACED

# Without these, which include marks and scripts without spaces, the standard library finds the words.
_INTRICATE = re.compile("[\u0300-\u036f\u0590-\u1fff\u2c00-\U0010ffff]")
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORDS = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}


def words(text: str) -> list[str]:
    """The words in order, case-folded in form NFKC; in scripts without spaces, pairs of neighbouring characters."""
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    text = unicodedata.normalize("NFKC", text).casefold()
    if not _INTRICATE.search(text):
        return _WORD.findall(text)
    found: list[str] = []
    for match in _any_script().finditer(text):
        run = match.group()
        if match.lastgroup == "unspaced" and len(run) > 1:
            found.extend(run[at : at + 2] for at in range(len(run) - 1))
        else:
            found.append(run)
    return found


@cache
def _any_script() -> Any:
    import regex  # the standard library's \w leaves out the vowel signs of Indic scripts

    return regex.compile(rf"(?P<unspaced>[{UNSPACED}]+)|[\p{{L}}\p{{M}}\p{{N}}--[{UNSPACED}]]+", regex.V1)
