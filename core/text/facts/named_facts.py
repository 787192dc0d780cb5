"""Numbers, dates and names of a text, normalised for comparison."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.model import Sentence, Source
from core.text.facts.figures import Figure, figures

MOST_SENTENCES = 300
"""The most sentences of an answer to check for unsupported figures, from the start."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero",
            "february feb februar février febrero",
            "march mar märz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug août agosto",
            "september sep sept septembre septiembre",
            "october oct oktober okt octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember dez décembre diciembre",
        ),
        1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    rf"(?<!\d)(?P<y1>\d{{4}})(?:-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?(?!\d)|[年년]\s?(?P<m4>\d\d?)[月월](?:\s?(?P<d4>\d\d?)[日号號일])?)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s|de\s)?(?P<m2>{_MONTH})\b\.?,?(?:\s(?:de\s)?(?P<y2>\d{{4}}))?"
    rf"|\b(?P<m3>{_MONTH})\b\.?\s(?:(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?(?:,\s|\s(?=\d{{4}})|\b(?!\d)))?(?P<y3>\d{{4}})?",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_][\w’'-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFacts:
    """Facts of a text. `dates` are "2024-05-03", "2024-05" or "05-03"."""

    numbers: frozenset[Figure]
    dates: frozenset[str]
    names: frozenset[str]

    @property
    def stated(self) -> frozenset[str]:
        """The numbers and dates as text."""
        return self.dates | {str(number) for number in self.numbers}


def named_facts(text: str, *, claimed: bool = False) -> NamedFacts:
    """Return the numbers, dates and names of a text. `figures` explains `claimed`.

    A name is a capitalised word inside a sentence, or a word with two capitals anywhere. In German every noun is a
    name.
    """
    dates = frozenset(filter(None, map(_date, _DATE.finditer(text))))
    bare = _DATE.sub(lambda match: " " if _date(match) else match.group(), text)
    return NamedFacts(numbers=figures(bare, claimed=claimed), dates=dates, names=frozenset(_names(bare)))


def claimed_facts(sentence: str) -> NamedFacts:
    """Return the facts of a sentence of an answer."""
    return named_facts(sentence, claimed=True)


def missing_numbers(claim: NamedFacts, source: NamedFacts) -> frozenset[str]:
    """Return the numbers and dates of a claim that are missing in a source, as text.

    A number with another unit, sign or direction (rose, fell) does not match. A more exact date of the source
    ("2024-05-03" for "2024-05") matches, and so does a date for a year alone.
    """
    years = {date[:4] for date in source.dates if len(date) >= 7}
    numbers = {
        str(number)
        for number in claim.numbers
        if number.value not in years and not any(map(number.agrees, source.numbers))
    }
    dates = {
        date
        for date in claim.dates
        if not any(own == date or own.startswith(date) or own.endswith(f"-{date}") for own in source.dates)
    }
    return frozenset(numbers | dates)


def unsupported_numbers(claim: NamedFacts, sources: Sequence[NamedFacts]) -> tuple[str, ...]:
    """Return the numbers and dates of the claim that no source has, sorted."""
    missing = [missing_numbers(claim, source) for source in sources] or [claim.stated]
    return tuple(sorted(frozenset.intersection(*missing)))


@lru_cache(maxsize=64)
def unsupported_figures(
    sentences: tuple[Sentence, ...], sources: tuple[Source, ...]
) -> tuple[tuple[Sentence, tuple[str, ...]], ...]:
    """Return the sentences of an answer with unsupported numbers.

    Up to `MOST_SENTENCES` are read. A sentence is compared with its cited sources, or with all sources if it cites
    none.
    """
    facts = {source.number: source_facts(source) for source in sources}
    unsupported = []
    for sentence in sentences[:MOST_SENTENCES]:
        cited = [facts[number] for number in sentence.cites if number in facts] or list(facts.values())
        if figures := unsupported_numbers(claimed_facts(sentence.text), cited):
            unsupported.append((sentence, figures))
    return tuple(unsupported)


def source_facts(source: Source) -> NamedFacts:
    """Return the numbers, dates and names in a source's passage and title."""
    return named_facts(f"{source.title}\n{source.text}")


def _date(match: re.Match[str]) -> str:
    """Return the known part of a date in ISO form, or "" for other words, such as the verb "may"."""
    parts = match.groupdict()
    year = parts["y1"] or parts["y2"] or parts["y3"]
    day = parts["d1"] or parts["d2"] or parts["d3"] or parts["d4"]
    name = parts["m2"] or parts["m3"]
    digits = parts["m1"] or parts["m4"]
    month = int(digits) if digits else _MONTHS[name.lower()] if name else 0
    if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31) or not (year or day):
        return ""
    if name and name[0].islower() and not year:
        return ""
    return "-".join(
        part for part in (year and str(int(year)), f"{month:02}", f"{int(day):02}" if day else "") if part
    )


def _names(text: str) -> Iterator[str]:
    begins = True
    reached, before = 0, ""
    for match in _NAME.finditer(text):
        between = text[reached : match.start()]
        # A dot after a short word may end an abbreviation, such as a title before a name.
        stops = "!?:\n。！？" if len(before) <= 3 else ".!?:\n。！？"
        begins = begins or any(mark in between for mark in stops)
        word = match.group().removesuffix("’s").removesuffix("'s")
        capitals = sum(character.isupper() for character in word)
        if (word[0].isupper() and not begins) or capitals > 1:
            yield word.casefold()
        begins = False
        reached, before = match.end(), word
