"""A BM25 index of stemmed words, and the stemmer."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.text.language import dominant_language
from core.text.tokenization import words

Scores = NDArray[np.float32]

_SAMPLE = 40
"""The number of passages that decide the language."""

# Snowball stemmers by ISO 639-1 code.
_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nl": "dutch", "no": "norwegian", "nb": "norwegian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip

K1, B = 1.5, 0.75
"""How soon a repeated word stops counting, and how strongly length lowers the score."""


@dataclass(frozen=True, slots=True, eq=False)
class Bm25Index:
    """An inverted index of texts.

    It has the number and row of each word, and the length of each text in words.
    """

    vocabulary: dict[str, int]
    stems: NDArray[np.int32]
    """The stem number of every word, in rising order."""
    rows: NDArray[np.int32]
    """The row of every word's text, in the order of `stems`."""
    lengths: NDArray[np.int64]
    language: str

    @classmethod
    def build(cls, texts: Sequence[str], language: str = "") -> Bm25Index:
        """Index the texts. `language` is an ISO 639-1 code for the stemmer, or "" to detect it from the words."""
        language = language or dominant_language(texts[:: len(texts) // _SAMPLE + 1])
        number: defaultdict[str, int] = defaultdict(count().__next__)
        numbers, lengths = array("i"), np.empty(len(texts), dtype=np.int64)
        for row, text in enumerate(texts):  # one by one: the words of all texts are ten times the texts
            text_words = words(text)
            numbers.extend(map(number.__getitem__, text_words))
            lengths[row] = len(text_words)
        vocabulary: dict[str, int] = {}
        of_words = [vocabulary.setdefault(stem, len(vocabulary)) for stem in _stems(list(number), language)]
        stems = np.array(of_words, dtype=np.int32)[np.frombuffer(numbers, dtype=np.int32)]
        rows = np.repeat(np.arange(len(texts), dtype=np.int32), lengths)
        order = np.argsort(stems, kind="stable")
        return cls(vocabulary, stems[order], rows[order], lengths, language)

    def scores(self, stems: Iterable[str]) -> Scores:
        """Return BM25 of each text for these stems (Lucene's variant, k1 1.5, b 0.75).

        The scores are float32, 0 and up. Each stem in a text adds ln(1 + (N - n + 0.5) / (n + 0.5)) times tf / (tf + k1
        (1 - b + b length / mean length)), with N texts of which n have the stem (Robertson and Zaragoza, 2009; Lucene
        omits the factor k1 + 1, which changes no order).
        """
        scores: Scores = np.zeros(len(self.lengths), dtype=np.float32)
        for stem in stems:
            if (number := self.vocabulary.get(stem)) is not None:
                scores += self._weighted(number)
        return scores

    def hashed_words(self, width: int) -> Scores:
        """Return the words of each text as a unit vector, or zero without words.

        The result is float32, shape (texts, width). A stem counts its inverse document frequency times tf / (tf + k1),
        and is hashed into a column with a sign (Weinberger et al., 2009). Stems in a single text are ignored, since
        they cannot match another.
        """
        total = len(self.lengths)
        # The words are sorted by stem, then by row, so equal words are neighbours.
        is_new = (np.diff(self.stems, prepend=-1) != 0) | (np.diff(self.rows, prepend=-1) != 0)
        starts = np.flatnonzero(is_new)
        times = np.diff(starts, append=len(self.stems))
        stems, rows = self.stems[starts], self.rows[starts]
        present = np.bincount(stems, minlength=len(self.vocabulary))
        weights = inverse_document_frequency(present, total)[stems] * (times / (times + K1))
        random = np.random.default_rng(0)
        columns, signs = random.integers(width, size=len(present)), random.choice((-1, 1), len(present))
        hashed: Scores = np.zeros((total, width), dtype=np.float32)
        shared = present[stems] > 1
        np.add.at(hashed, (rows[shared], columns[stems[shared]]), (weights * signs[stems])[shared])
        hashed /= np.maximum(np.sqrt(np.vecdot(hashed, hashed)), 1e-9)[:, None]
        return hashed

    def _weighted(self, number: int) -> Scores:
        total = len(self.lengths)
        norm = (K1 * (1 - B + B * self.lengths / self.lengths.mean())).astype(np.float32)
        times = np.bincount(self._rows_with(number), minlength=total).astype(np.float32)
        present = np.count_nonzero(times)
        weighted: Scores = np.float32(inverse_document_frequency(present, total)) * (times / (times + norm))
        return weighted

    def _rows_with(self, number: int) -> NDArray[np.int32]:
        # With the same type, because NumPy would otherwise convert all stems for each search.
        first, end = np.searchsorted(self.stems, np.array((number, number + 1), dtype=self.stems.dtype))
        return self.rows[first:end]

    def texts_with(self, stems: Iterable[str]) -> NDArray[np.bool_]:
        """Return which texts have all these stems: shape (texts,)."""
        present = np.ones(len(self.lengths), dtype=np.bool_)
        for stem in stems:
            number = self.vocabulary.get(stem, -1)
            present &= np.bincount(self._rows_with(number), minlength=len(present)) > 0
        return present


def inverse_document_frequency(present: Any, total: int) -> Any:
    """Return Lucene's ln(1 + (N - n + 0.5) / (n + 0.5)), which is above 0.

    `present` of `total` texts have the word. An array of numbers gives an array.
    """
    return np.log(1 + (total - present + 0.5) / (present + 0.5))


def tokens(text: str, language: str = "") -> list[str]:
    """Return stemmed words without case.

    In scripts without spaces these are groups of neighbouring characters.
    """
    return _stems(words(text), language)


def _stems(text_words: list[str], language: str) -> list[str]:
    if language not in _STEMMERS:
        return text_words
    import Stemmer

    # A stemmer is cheap to make and not thread-safe.
    stems: list[str] = Stemmer.Stemmer(_STEMMERS[language]).stemWords(text_words)
    return stems
