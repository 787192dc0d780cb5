"""Words of texts in any script, stemmed by their language, and BM25 over them."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]

_SAMPLE = 40
"""Passages whose words tell the language."""

# Languages that have a stemmer, and the little words by which those in Latin letters are told apart.
_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nl": "dutch", "no": "norwegian", "nb": "norwegian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_FUNCTION_WORDS = {
    "da": "og det er til af på som ikke med den har var blev fra eller også efter",
    "de": "der die das und ist nicht ein eine mit von zu den im auf für sich dem auch als wird werden",
    "en": "the of and to in is that was for with as are by this it from which be have not",
    "es": "el la los las de que y en un una es por con para como del se más fue su",
    "fi": "ja on ei että se oli hän mutta joka ovat myös kun mukaan tai sekä vuonna",
    "fr": "le la les de des et est un une que dans pour par sur au avec qui ne pas du",
    "hu": "a az és hogy nem is egy volt meg ez mint vagy csak már még szerint",
    "id": "yang dan di dengan untuk dari ini pada itu adalah tidak dalam oleh sebagai",
    "it": "il di che la e è un una per non con del della sono si come nel gli dei alla",
    "nl": "de het een en van is niet dat op te voor met zijn aan er ook als bij wordt",
    "no": "og det er til av på som ikke med den har var ble fra eller også etter",
    "pl": "i w na z się nie do jest że to przez oraz od jak po dla za był są",
    "pt": "o a os as de que e em um uma é por com para como do da não se mais foi ao",
    "ro": "și de la în a cu pe nu este un o din care pentru mai sunt fost prin sau",
    "sv": "och det är att på som inte med av för den har var till från eller också efter",
    "vi": "và của là có được cho trong một các không những người với này đã khi từ",
    "tr": "ve bir bu da de için ile olarak olan çok daha gibi en sonra kadar ne",
}
# Without these, which include marks and scripts without spaces, the standard library finds the words.
_INTRICATE = re.compile("[\u0300-\u036f\u0590-\u1fff\u2c00-\U0010ffff]")
_WORD = re.compile(r"[^\W_]+")
_WORDS_ALONE = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_SCRIPTS = {"CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "DEVANAGARI": "hi"}


K1, B = 1.5, 0.75
"""How soon a repeated word stops counting, and how much a long passage has to repeat it for the same score."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of some texts: the stem of each, its text, and how many words each text has."""

    vocabulary: dict[str, int]
    stems: NDArray[np.int32]
    rows: NDArray[np.int32]
    lengths: NDArray[np.int64]
    language: str

    @classmethod
    def of(cls, texts: Sequence[str], language: str = "") -> Lexicon:
        """Read the texts. `language` is an ISO 639-1 code that chooses the stemmer; empty, the words tell."""
        language = language or language_of(texts[:: len(texts) // _SAMPLE + 1])
        number: defaultdict[str, int] = defaultdict(count().__next__)
        numbers, lengths = array("i"), np.empty(len(texts), dtype=np.int64)
        for row, text in enumerate(texts):  # one by one: the words of all texts are ten times the texts
            words = _words(text)
            numbers.extend(map(number.__getitem__, words))
            lengths[row] = len(words)
        vocabulary: dict[str, int] = {}
        of_words = [vocabulary.setdefault(stem, len(vocabulary)) for stem in _stems(list(number), language)]
        stems = np.array(of_words, dtype=np.int32)[np.frombuffer(numbers, dtype=np.int32)]
        rows = np.repeat(np.arange(len(texts), dtype=np.int32), lengths)
        return cls(vocabulary, stems, rows, lengths, language)

    def scores(self, stems: Iterable[str]) -> Scores:
        """BM25 of each text for these stems (Lucene's variant, k1 1.5, b 0.75): float32, 0 and up.

        For each stem that a text holds: ln(1 + (N - n + 0.5) / (n + 0.5)) times
        tf / (tf + k1 (1 - b + b length / mean length)), with N texts of which n hold it (Robertson and
        Zaragoza, 2009; Lucene leaves out the factor k1 + 1, which changes no order).
        """
        if not self.vocabulary:
            return np.zeros(len(self.lengths), dtype=np.float32)
        total = len(self.lengths)
        norm = (K1 * (1 - B + B * self.lengths / self.lengths.mean())).astype(np.float32)
        scores: Scores = np.zeros(total, dtype=np.float32)
        for stem in stems:
            if (number := self.vocabulary.get(stem)) is None:
                continue
            times = np.bincount(self.rows[self.stems == number], minlength=total).astype(np.float32)
            held = np.count_nonzero(times)
            scores += np.float32(log(1 + (total - held + 0.5) / (held + 0.5))) * (times / (times + norm))
        return scores


def tokens(text: str, language: str = "") -> list[str]:
    """Words without case and ending; in scripts without spaces, pairs of neighbouring characters."""
    return _stems(_words(text), language)


def language_of(texts: Iterable[str]) -> str:
    """The ISO 639-1 code of the language that most of the texts seem to be in; empty when nothing tells."""
    seen = Counter(word for text in texts for word in _words(text))
    scripts = Counter[str]()
    for word, times in seen.items():
        scripts[unicodedata.name(word[0], "").split(" ")[0]] += times
    script = scripts.most_common(1)[0][0] if scripts else ""
    if script != "LATIN":
        return _SCRIPTS.get(script, "")
    votes = {code: sum(seen[word] for word in words.split()) for code, words in _FUNCTION_WORDS.items()}
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] else ""


def _words(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_WORDS_ALONE).split()
    text = unicodedata.normalize("NFKC", text).casefold()
    if not _INTRICATE.search(text):
        return _WORD.findall(text)
    words: list[str] = []
    for found in _any_script().finditer(text):
        run = found.group()
        if found.lastgroup == "run_on" and len(run) > 1:
            words.extend(run[at : at + 2] for at in range(len(run) - 1))
        else:
            words.append(run)
    return words


@cache
def _any_script() -> Any:
    import regex  # the standard library's \w leaves out the vowel signs of Indic scripts

    unspaced = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    return regex.compile(rf"(?P<run_on>[{unspaced}]+)|[\p{{L}}\p{{M}}\p{{N}}--[{unspaced}]]+", regex.V1)


def _stems(words: list[str], language: str) -> list[str]:
    if language not in _STEMMERS:
        return words
    import Stemmer

    # A stemmer is cheap to make and not made to be shared by threads.
    stems: list[str] = Stemmer.Stemmer(_STEMMERS[language]).stemWords(words)
    return stems
