"""The content words of a question, their phrases, and how much of a word a text has."""

import re
from collections.abc import Iterable, Iterator
from functools import cache

from core.text.bm25_index import tokens
from core.text.language import function_words
from core.text.tokenization import runs, words

PHRASE_WORDS = 4
"""The most words of a phrase. A longer phrase is divided."""
_PHRASE_LIMIT = 60
"""The most characters of a word or phrase that a person would write."""
_AROUND = ".,;:!?…()[]{}<>|\"'“”„‘’«»‹›*_`~=\\¿¡؟،؛。！？、，「」"
"""Characters around a word that do not belong to it."""

JOINED_WORDS = frozenset(("da", "de", "fi", "nb", "nl", "no", "sv"))
"""Languages that join words, so that a text has parts of a word more often than the word. German was measured."""
_JOINED_PIECE = 4
"""The characters of a piece of a joined word, as for n-grams in retrieval (McNamee and Mayfield, 2004)."""

_COMMON_WORDS = {
    "de": "ab aber alle allem allen aller alles als also am an andere anderen ans auch aus beeinflussen "
    "beeinflusst bei beim berechnen berechnet bin bis bitte brauche brauchen braucht da dabei dadurch "
    "dafür dagegen daher damit dann daran darauf daraus darf das dass dasselbe davon dazu dein denn des "
    "deshalb dessen dies diese diesem diesen dieser dieses doch dort du durch dürfen einem einen einer "
    "eines einfach er erst erste es etwa etwas euch funktionieren funktioniert fürs gab geht genau genug "
    "gerne gibt gilt gut habe haben hat hatte hier hilft hätte ihm ihn ihnen ihr ihre ihrem ihren immer "
    "in ins ja jede jedem jeden jeder jedes jetzt kann kannst kein keine keinen können könnte lässt mache "
    "machen macht mal mehr mein meine mich mir muss müssen müsste nach nichts nie noch nun nur ob oder "
    "oft ohne schon sehr sei sein seine seit sie sind so sogar soll sollen sollte sollten sonst statt tun "
    "um uns unser unter verwenden viel viele vielleicht vom vor waren warst weil weiter welchem welchen "
    "wenig wenn wie wieder wieviel will wir wirklich wobei wohl wollen worden würde zu zuerst zum zur "
    "zwar zwei zwischen über überhaupt",
    "en": "a about affect affected affects after again all also am an and another any anything are aren around "
    "at back because been before being between both but calculate calculated can cannot come comes "
    "compute computed could couldn d did didn different do does doesn doing don done down each either "
    "else enough even ever every exactly few first for further gave get gets give given gives go goes "
    "going good got had hadn happen happens has hasn haven having he help helps her here hers him his "
    "however i if in instead into isn it its itself just keep kind know let like ll long look lot m made "
    "make makes making many matter matters may maybe me mean means might more most much must my need "
    "needed needs neither never no none nor now often ok okay on once one ones only or other others our "
    "out over own per please possible propose proposed proposes put rather re really recommended right s "
    "said same say says see shall she should shouldn so some somebody someone something sort still such t "
    "take takes tell than thank thanks their them then there these they thing things think this those "
    "though through too try typical typically under until up upon us use used useful uses using usual "
    "usually ve very want was wasn way ways we well were whether while who whom will with within without "
    "won work works would wouldn wrong yes yet you your yours",
}
"""Common words of questions, in addition to `core.text.language`'s function words, by ISO 639-1 code."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return case-folded words without content, by ISO 639-1 code."""
    return function_words(language) | frozenset(_COMMON_WORDS.get(language, "").split())


def content_words(text: str, language: str) -> tuple[str, ...]:
    """Return the distinct words of a text without stop words, in order."""
    idle = stop_words(language)
    return tuple(dict.fromkeys(word for word in words(text) if word not in idle))


def content_runs(text: str, language: str) -> tuple[str, ...]:
    """Return the distinct words of a text without stop words, in order. Text without spaces is divided at these only."""
    idle = stop_words(language)
    distinct = dict[str, None]()
    for run, size in runs(text):
        parts = _between(language).split(run) if size and idle else [run]
        shortest = min(size, len(run)) or 1
        distinct.update((part, None) for part in parts if len(part) >= shortest and part not in idle)
    return tuple(distinct)


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
