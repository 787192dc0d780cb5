"""Detect the kind of answer that a question asks for, and sentences that can state it."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from core.text.bm25_index import tokens
from core.text.content_words import content_words, stop_words
from core.text.facts.figures import words_as_digits
from core.text.facts.named_facts import named_facts

_DATE = re.compile(
    r"\bwhen (?:did|was|were|had|has)\b|\bin (?:what|which) year\b|\b(?:what|which) (?:year|date|month|day|century|decade)\b"
    r"|\b(?:wann|quand|cuándo|quando|wanneer) (?:wurden?|waren?|hat|haben|a|ont|est|fue|fueron|se|è|werd)\b"
    r"|\bwelche[mns] (?:jahr|tag|monat|datum)|\bquelle (?:année|date)|\bqué (?:año|fecha)|\bche anno"
    r"|什么时候|何时|哪一?年|いつ|언제",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|tall|high|far|large|deep|wide|heavy)\b"
    r"|\b(?:what|which) (?:percentage|percent|proportion|share|number|amount|fraction)\b"
    r"|\bwie ?viele?\b|\bwie (?:lange?|alt|hoch|weit|groß|tief|breit|schwer)\b|\bcombien\b|\bcuánt[oa]s?\b|\bquant[oiae]\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b(?:how many|wie ?viele|combien d(?:e |['’])|cuánt[oa]s|quant[ie]\b) ?((?:[^\W\d_][\w-]*\s*){1,3})",
    re.IGNORECASE,
)
"""The words after the question word, which begin with what is counted."""
_ANY_COUNT = frozenset(
    ["people", "persons", "times", "personen", "menschen", "mal", "personnes", "fois", "personas", "veces"]
)
"""Counted words that sentences leave out or replace."""
_WAYS = re.compile(
    r"\A\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|should|may|must|will|would)\b", re.IGNORECASE
)
"""The beginning of a question that is answered by yes or no."""
_THING = re.compile(
    r"\b(?:who|whom|whose|what|which)\b|\b(?:wer|wem|wen|wessen|welche[rnms]?)\b|\b(?:qui|quel(?:le)?s?)\b"
    r"|\b(?:quién(?:es)?|cuál(?:es)?|qué)\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"\b(?:why|how|where|warum|wieso|wie|wo|pourquoi|comment|où|por qué|cómo|dónde)\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d\d)(?!\d)")
_AGE = re.compile(
    r"\bcentur(?:y|ies)\b|\bdecades?\b|\d0s\b|\d ?(?:BCE?|AD|CE)\b|\bjahrhundert|\bsiècle|\bsiglo|世纪|世紀",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"\b(?:half|halves|thirds?|quarters?|dozens?|hundreds|thousands|millions|billions|once|twice|single|none|no|several"
    r"|double|doubled|triple|majority|most|until|briefly|every|all"
    r"|halbe?|hälfte|drittel|viertel|dutzend|mehrere|kein\w*|moitié|tiers|quart|douzaine|plusieurs|aucun\w*"
    r"|mitad|tercio|cuarto|docena|vari[oa]s|ningun\w*)\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\d[\d.,]*|[^\W\d_][\w’'-]*")
_BETWEEN = 2
"""The most words between a number and what it counts. A year that counts has none."""


class Kind(Enum):
    """The kind of answer that a question asks for."""

    DATE = auto()
    NUMBER = auto()
    THING = auto()
    """A person or a thing with a name."""
    OPEN = auto()
    """A reason, a way, a place, yes or no, or an unknown kind. Sentences state these in many words."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for."""

    question: str
    kind: Kind
    counted: tuple[frozenset[str], ...] = ()
    """The stems of each word that names what is counted. Empty if any number answers."""
    language: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether a name, thing, number or date answers the question, so that its other words are repeated with it."""
        return self.kind is not Kind.OPEN

    @property
    def can_be_told_apart(self) -> bool:
        """Whether sentences with such an answer differ from others: they have a date or a number."""
        return self.kind in {Kind.DATE, Kind.NUMBER}

    def is_stated_in(self, sentence: str) -> bool:
        """Return whether a sentence has a date or number that can answer. Other kinds cannot be told apart."""
        if self.kind is Kind.DATE:
            return self._has_date(sentence)
        if self.kind is Kind.NUMBER:
            return self._has_number(sentence)
        return True

    def _has_date(self, sentence: str) -> bool:
        years = set(_YEAR.findall(sentence)) - set(_YEAR.findall(self.question))
        return bool(
            years or _AGE.search(sentence) or named_facts(sentence).dates - named_facts(self.question).dates
        )

    def _has_number(self, sentence: str) -> bool:
        known = set(_TOKEN.findall(self.question.casefold()))
        words = [word.rstrip(".,") for word in _TOKEN.findall(words_as_digits(sentence).casefold())]
        places = [
            place
            for place, word in enumerate(words)
            if (word[:1].isdigit() and word not in known) or _AMOUNT.fullmatch(word)
        ]
        if not self.counted:
            return any(not _YEAR.fullmatch(words[place]) for place in places)
        return any(
            stems <= frozenset(tokens(word, self.language))
            for place in places
            for word in words[place : place + 2 + (not _YEAR.fullmatch(words[place])) * _BETWEEN]
            for stems in self.counted
        )


def asked_for(question: str, language: str) -> Asked:
    """Return what a question asks for. `language` is its ISO 639-1 code."""
    if _WAYS.match(question):
        return Asked(question, Kind.OPEN)
    if _DATE.search(question):
        return Asked(question, Kind.DATE)
    if _NUMBER.search(question):
        return Asked(question, Kind.NUMBER, _counted(question, language), language)
    closed = _THING.search(question) and not _OTHERWISE.search(question)
    return Asked(question, Kind.THING if closed else Kind.OPEN)


def _counted(question: str, language: str) -> tuple[frozenset[str], ...]:
    found = _COUNTED.search(question)
    if not found:
        return ()
    noun_phrase: list[str] = []
    for word in found[1].split():
        if word.casefold() in stop_words(language):
            break
        noun_phrase.append(word)
    if _ANY_COUNT & {word.casefold() for word in noun_phrase}:
        return ()
    return tuple(
        frozenset(tokens(word, language)) for word in noun_phrase[:2] if content_words(word, language)
    )
