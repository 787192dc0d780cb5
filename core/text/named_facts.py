"""Numbers, dates and names of a text, normalised so that two texts can be compared."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from core.model import Sentence, Source

MOST_SENTENCES = 300
"""The most sentences of an answer whose figures are looked up: the first."""

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
    rf"(?<!\d)(?P<y1>\d{{4}})-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?(?!\d)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s|de\s)?(?P<m2>{_MONTH})\b\.?,?(?:\s(?:de\s)?(?P<y2>\d{{4}}))?"
    rf"|\b(?P<m3>{_MONTH})\b\.?\s(?:(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?(?:,\s|\s(?=\d{{4}})|\b(?!\d)))?(?P<y3>\d{{4}})?",
    re.IGNORECASE,
)
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:[,.\u00a0\u202f ’']\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?)"
    r"(?:\s(?P<scale>thousand|million|billion|trillion)s?\b)?",
    re.IGNORECASE,
)
_COUNTED = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
_WORDS = {word: Decimal(number) for number, word in enumerate(_COUNTED)}
_WORD_NUMBER = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][\w’'-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFacts:
    """`numbers` are plain decimals ("1500000", "3.5"), `dates` "2024-05-03", "2024-05" or "05-03"."""

    numbers: frozenset[str]
    dates: frozenset[str]
    names: frozenset[str]


def named_facts(text: str) -> NamedFacts:
    """The numbers, dates and names of a text.

    "1,500", "1 500" and "1.5 thousand" are one number; "three" is one too, in English, but "one" is a
    pronoun. A name is a word with a capital letter that begins no sentence, or with two of them anywhere;
    in German that is every noun.
    """
    dates = frozenset(_dates(text))
    bare = _DATE.sub(lambda match: " " if _date(match) else match.group(), text)
    return NamedFacts(numbers=frozenset(_numbers(bare)), dates=dates, names=frozenset(_names(bare)))


def claimed_facts(sentence: str) -> NamedFacts:
    """The facts of a sentence of an answer, whose numbers are those in digits.

    In an answer a word such as "two" counts what the answer lists more often than it quotes a source.
    """
    return named_facts(_WORD_NUMBER.sub(" ", sentence))


def missing_numbers(claim: NamedFacts, source: NamedFacts) -> frozenset[str]:
    """The numbers and dates of the claim that the source does not have.

    A date of the source that is more exact ("2024-05-03" for "2024-05"), or a date there for a year alone,
    counts as having it.
    """
    years = {date[:4] for date in source.dates if len(date) >= 7}
    numbers = {number for number in claim.numbers if number not in source.numbers | years}
    dates = {
        date
        for date in claim.dates
        if not any(own == date or own.startswith(date) or own.endswith(f"-{date}") for own in source.dates)
    }
    return frozenset(numbers | dates)


def unsupported_numbers(claim: NamedFacts, sources: Sequence[NamedFacts]) -> tuple[str, ...]:
    """The numbers and dates of the claim that none of the sources has, sorted."""
    missing = claim.numbers | claim.dates
    for source in sources:
        missing &= missing_numbers(claim, source)
    return tuple(sorted(missing))


@lru_cache(maxsize=64)
def unsupported_figures(
    sentences: tuple[Sentence, ...], sources: tuple[Source, ...]
) -> tuple[tuple[Sentence, tuple[str, ...]], ...]:
    """Sentences of an answer with their `unsupported_numbers`, of those that have any, up to `MOST_SENTENCES`.

    A sentence is compared with the sources that it cites; one that cites none, with all of them.
    """
    facts = {source.number: source_facts(source) for source in sources}
    unsupported = []
    for sentence in sentences[:MOST_SENTENCES]:
        cited = [facts[number] for number in sentence.cites if number in facts] or list(facts.values())
        if figures := unsupported_numbers(claimed_facts(sentence.text), cited):
            unsupported.append((sentence, figures))
    return tuple(unsupported)


def source_facts(source: Source) -> NamedFacts:
    """The numbers, dates and names of a source: of its passage and of its title."""
    return named_facts(f"{source.title}\n{source.text}")


def _dates(text: str) -> Iterator[str]:
    for match in _DATE.finditer(text):
        if date := _date(match):
            yield date


def _date(match: re.Match[str]) -> str:
    """ISO form of what is known; empty when it is no date, such as the verb "may"."""
    parts = match.groupdict()
    year = parts["y1"] or parts["y2"] or parts["y3"]
    day = parts["d1"] or parts["d2"] or parts["d3"]
    name = parts["m2"] or parts["m3"]
    month = int(parts["m1"]) if parts["m1"] else _MONTHS[name.lower()] if name else 0
    if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31) or not (year or day):
        return ""
    if name and name[0].islower() and not year:
        return ""
    return "-".join(part for part in (year, f"{month:02}", f"{int(day):02}" if day else "") if part)


def _numbers(text: str) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        value = _decimal(match["digits"])
        if value is not None:
            scale = _SCALES[match["scale"].lower()] if match["scale"] else 0
            yield _plain_decimal(value.scaleb(scale))
    for match in _WORD_NUMBER.finditer(text):
        if (word := match.group().lower()) != "one":
            yield _plain_decimal(_WORDS[word])


def _decimal(digits: str) -> Decimal | None:
    """A comma or dot before exactly three digits groups them; any other one is the decimal mark."""
    grouped = re.fullmatch(r"(\d{1,3}(?:[,.\u00a0\u202f ’']\d{3})+)([.,]\d+)?", digits)
    if grouped and not (grouped[1].count(".") == 1 and grouped[1].startswith("0")):
        digits = re.sub(r"\D", "", grouped[1]) + (grouped[2] or "").replace(",", ".")
    try:
        return Decimal(digits.replace(",", "."))
    except InvalidOperation:
        return None


def _plain_decimal(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _names(text: str) -> Iterator[str]:
    begins = True
    reached, before = 0, ""
    for match in _NAME.finditer(text):
        between = text[reached : match.start()]
        # A dot after a short word is that of an abbreviation, such as a title before a name.
        stops = "!?:\n。！？" if len(before) <= 3 else ".!?:\n。！？"
        begins = begins or any(mark in between for mark in stops)
        word = match.group().removesuffix("’s").removesuffix("'s")
        capitals = sum(character.isupper() for character in word)
        if (word[0].isupper() and not begins) or capitals > 1:
            yield word.casefold()
        begins = False
        reached, before = match.end(), word
