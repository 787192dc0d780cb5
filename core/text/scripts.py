"""Character ranges of scripts, to stand inside the brackets of a regular expression."""

from __future__ import annotations

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
"""No spaces between words either, but a mark after each syllable, or one character for it."""
