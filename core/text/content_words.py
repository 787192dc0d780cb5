"""The content words of a question, their phrases, and how much of a word a text has."""

import re
from collections.abc import Iterable, Iterator
from functools import cache

from core.text.bm25_index import tokens
from core.text.language import commonest_function_words
from core.text.tokenization import runs, words

PHRASE_WORDS = 4
"""The most words of a phrase. A longer phrase is divided."""
_PHRASE_LIMIT = 60
"""The most characters of a word or phrase that a person would write."""
_AROUND = ".,;:!?…()[]{}<>|\"'“”„‘’«»‹›*_`~=\\¿¡؟،؛。！？、，「」"
"""Characters around a word that do not belong to it."""

_CONTRACTED = re.compile(r"(?<=\w)['’](?:d|m|s|t)\b", re.IGNORECASE)
"""The end of a contraction, such as the s in "what's". Otherwise a single letter has content: "vitamin D"."""

JOINED_WORDS = frozenset(("da", "de", "fi", "nb", "nl", "no", "sv"))
"""Languages that join words, so that a text has parts of a word more often than the word. German was measured."""
_JOINED_PIECE = 4
"""The characters of a piece of a joined word, as for n-grams in retrieval (McNamee and Mayfield, 2004)."""

_FUNCTION_WORDS = {
    "de": "ab aber alle allem allen aller alles also am an andere anderen ans aus bei beim bin bis da dadurch "
    "dafür dagegen daher damit dann daran darauf daraus dass dasselbe davon dazu dein denn des deshalb "
    "dessen dies diese diesem diesen dieser dieses doch dort du durch dürfen einem einen einer eines er "
    "es etwa etwas euch fürs habe haben hat hatte hier hätte ich ihm ihn ihnen ihr ihre ihrem ihren in "
    "ins ja jede jedem jeden jeder jedes kann kannst kein keine keinen können könnte mehr mein meine mich "
    "mir muss müssen müsste nach nichts nie noch nun nur ob oder ohne schon sehr sei sein seine seit sie "
    "sind so soll sollen sollte sollten sonst statt um uns unser unter vom vor war waren warst weil "
    "welchem welchen wenn will wir wobei wollen worden würde zum zur zwar zwischen über",
    "en": "a about after all am an another any aren around at because been before being between both but cannot "
    "could couldn didn doesn doing don each either every few had hadn has hasn haven having he her here "
    "hers him his however i if into isn its itself ll may me might more most much must my neither no none "
    "nor off on one ones only or other others our over own per re shall she should shouldn so some "
    "somebody someone something such than their them then these they those though through under until up "
    "upon us ve very wasn we while will within without won would wouldn you your yours",
}
"""Articles, pronouns, prepositions, conjunctions, auxiliaries and the like, by ISO 639-1 code, in addition to those in
`core.text.language`, which are the commonest of each language."""

_COMMON_WORDS = {
    "de": "beeinflussen beeinflusst berechnen berechnet bitte brauche brauchen braucht dabei darf einfach erst "
    "erste funktionieren funktioniert gab geht genau genug gerne gilt gut hilft immer jetzt lässt mache "
    "machen macht mal oft sogar tun verwenden viel viele vielleicht weiter wenig wieder wieviel wirklich "
    "wohl zuerst zwei überhaupt",
    "en": "affect affected affects again also anything back calculate calculated come comes compute computed "
    "different done down else enough even ever exactly first further gave get gets give given gives go "
    "goes going good got happen happens help helps instead just keep kind know let like long look lot "
    "made make makes making many matter matters maybe mean means need needed needs never now often ok "
    "okay once out please possible propose proposed proposes put rather really recommended right said "
    "same say says see sort still take takes tell thank thanks thing things think too try typical "
    "typically use used useful uses using usual usually want way ways well whether work works wrong yes "
    "yet",
}
"""Other common words of questions, by ISO 639-1 code."""


@cache
def function_words(language: str) -> frozenset[str]:
    """Return case-folded words with a function in a sentence, but no content, by ISO 639-1 code."""
    return commonest_function_words(language) | frozenset(_FUNCTION_WORDS.get(language, "").split())


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return function words and other words that say little of a question's subject, by ISO 639-1 code."""
    return function_words(language) | frozenset(_COMMON_WORDS.get(language, "").split())


def without_function_words(text: str, language: str) -> tuple[str, ...]:
    """Return the distinct words of a text without function words, in order."""
    return _distinct(text, language, function_words(language))


def content_words(text: str, language: str) -> tuple[str, ...]:
    """Return the distinct words of a text without stop words, in order."""
    return _distinct(text, language, stop_words(language))


def _distinct(text: str, language: str, without: frozenset[str]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(word for word in words(_without_contractions(text, language)) if word not in without)
    )


def content_runs(text: str, language: str) -> tuple[str, ...]:
    """Return the distinct words of a text without stop words, in order. Text without spaces is divided at these only."""
    idle = stop_words(language)
    distinct = dict[str, None]()
    for run, size in runs(_without_contractions(text, language)):
        parts = _between(language).split(run) if size and idle else [run]
        shortest = min(size, len(run)) or 1
        distinct.update((part, None) for part in parts if len(part) >= shortest and part not in idle)
    return tuple(distinct)


def _without_contractions(text: str, language: str) -> str:
    return _CONTRACTED.sub("", text) if language == "en" else text


@cache
def _between(language: str) -> re.Pattern[str]:
    longest_first = sorted(stop_words(language), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


def phrases(text: str, language: str) -> Iterator[str]:
    """Yield candidate keywords: unbroken runs of words without stop words, as written.

    Punctuation also ends a run. This is the candidate selection of RAKE (Rose, Engel, Cramer and Cowley 2010).
    """
    run: list[str] = []
    for written in text.split():
        word = written.strip(_AROUND)
        start = written.find(word)
        if start or len(run) == PHRASE_WORDS:
            yield from _joined(run)
            run = []
        has_content = bool(content_words(word, language))
        if has_content:
            run.append(word)
        if not has_content or start + len(word) < len(written):
            yield from _joined(run)
            run = []
    yield from _joined(run)


def _joined(run: Iterable[str]) -> Iterator[str]:
    if 0 < len(phrase := " ".join(run)) <= _PHRASE_LIMIT:
        yield phrase


class WordsOfText:
    """The stems of a text, and what they share with other words."""

    def __init__(self, text: str, language: str, *, joined: bool = False) -> None:
        """Read a text. `joined` also counts the parts of joined words, in languages that have these."""
        self._language = language
        self._joined = joined and language in JOINED_WORDS
        self._stems = frozenset(tokens(text, language))
        self._pieces = self._stems
        if self._joined:
            self._pieces = frozenset(piece for word in words(text) for piece in _pieces(word, _JOINED_PIECE))

    def share_of(self, word: str) -> float:
        """Return how much of a word or run the text has, from 0 to 1.

        A stem is there or not. Of a joined word and of a run without spaces, the characters count that belong to a
        piece which the text has. Pieces across a boundary of words are then needed nowhere.
        """
        stems = tokens(word, self._language)
        present = sum(stem in self._stems for stem in stems)
        if not stems or present == len(stems):
            return float(bool(stems))
        size = max((size for _, size in runs(word)), default=0)
        if not size and self._joined:
            size, stems = _JOINED_PIECE, words(word)
            return sum(self._covered(each, size) for each in stems) / len(stems)
        return self._covered(word, size) if size else present / len(stems)

    def _covered(self, word: str, size: int) -> float:
        covered = [False] * len(word)
        for start, piece in enumerate(_pieces(word, size)):
            if piece in self._pieces:
                covered[start : start + size] = [True] * size
        return sum(covered) / len(word)


def _pieces(word: str, size: int) -> Iterator[str]:
    return (word[start : start + size] for start in range(len(word) - size + 1))
