"""The length of a text in words, or in characters for scripts without spaces."""

import re
from dataclasses import dataclass

from core.text.sanitize import plural, pluralize
from core.text.tokenization import TIBETAN, UNSPACED, YI

_UNSPACED = re.compile(f"[{UNSPACED}{TIBETAN}{YI}]")


@dataclass(frozen=True, slots=True)
class TextLength:
    """Count the words of a text and its characters other than white space."""

    words: int
    characters: int
    unspaced: int
    """Characters of scripts without spaces between words."""

    @property
    def in_words(self) -> bool:
        """Whether at most half of the text is in scripts without spaces."""
        return 2 * self.unspaced <= self.characters

    @property
    def count(self) -> int:
        """The number of words or characters."""
        return self.words if self.in_words else self.characters

    @property
    def noun(self) -> str:
        """The counted unit after the number: `words`, or `characters`."""
        return plural(self.count, "word" if self.in_words else "character")

    def __str__(self) -> str:
        return pluralize(self.count, "word" if self.in_words else "character")


def text_length(text: str) -> TextLength:
    """Measure a text in words and characters.

    Chinese, Japanese, Thai and other scripts without spaces are counted in characters.
    """
    words = text.split()
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    return TextLength(len(words), sum(map(len, words)), unspaced)
