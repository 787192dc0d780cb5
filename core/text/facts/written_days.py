"""Days that are written in a text, such as `3 March 2024`, `03.03.2024` or `2024年3月3日`."""

from __future__ import annotations

import re
from datetime import date

_FIRST_YEAR = 1995
"""Year before which no web page was published."""
_MONTHS = {
    1: "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari januári stycznia ledna января oca ocak",
    2: "february feb februar feber février févr fév fevrier febrero febbraio fevereiro fev februari lutego února февраля şubat",
    3: "march mar märz mär mars marzo março maart mrt marca března марта mart maret",
    4: "april apr avril avr abril abr aprile kwietnia dubna апреля nisan",
    5: "may mai mayo maggio mag maio mei maj maja května мая mayıs",
    6: "june jun juni juin junio giugno giu junho czerwca června июня haziran",
    7: "july jul juli juillet juil julio luglio lug julho lipca července июля temmuz",
    8: "august aug août aout agosto ago augustus augusti sierpnia srpna августа ağustos agustus",
    9: "september sep sept septembre septiembre setembro settembre set września září сентября eylül",
    10: "october oct oktober okt octobre octubre outubro out ottobre ott października října октября ekim",
    11: "november nov novembre noviembre novembro listopada listopadu ноября kasım",
    12: "december dec dezember dez décembre déc decembre diciembre dic dicembre dezembro desember des grudnia prosince декабря aralık",
}  # fmt: skip
"""Names of the months in some languages, in the form used beside a day."""
_MONTH = {name: month for month, names in _MONTHS.items() for name in names.split()}
_YEAR = "(?:199[5-9]|20[0-9]{2})"
_END = r"(?=[T ]\d\d:\d\d|[.,;]?(?:\s|$)|[)\]|–—•·,;:\"'»”’](?!\d))"
"""What follows a number: a time, or no sign that continues it."""
_NUMERIC = re.compile(
    rf"(?<![\w./:#+-])(?:(?P<year>{_YEAR})(?P<sign>[-/.])\s?(?P<month>\d\d?)(?P=sign)\s?(?P<day>\d\d?)"
    rf"|(?P<first>\d\d?)(?P<other>[-/.])\s?(?P<second>\d\d?)(?P=other)\s?(?P<last>{_YEAR}|\d\d)){_END}"
)
_CJK = re.compile(rf"({_YEAR})\s?[年년]\s?(\d\d?)\s?[月월]\s?(\d\d?)\s?[日일]")
_NAMED = re.compile(
    rf"(?<![\w./-])(?:(?P<day>\d\d?)(?:\.|\s?(?:st|nd|rd|th|er|º|°))?,?\s+(?:of\s+|de\s+|di\s+)?(?P<name>[^\W\d_]{{3,12}})[.,]?\s+"
    rf"(?:de\s+|del\s+)?(?P<year>{_YEAR})"
    rf"|(?P<first>[^\W\d_]{{3,12}})\.?\s+(?P<second>\d\d?)(?:\s?(?:st|nd|rd|th))?,?\s+(?P<last>{_YEAR}))(?!\d)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?:^|[^\w])(?:v|ver|vers|version|versión|versione|build|firmware|model|modell|modelo|part|item|art|article|no|nr|num"
    r"|number|nummer|numéro|n|№|id|ip|isbn|issn|sku|rfc|doi|tel|phone|fax|contract|invoice|patch|revision)[.:°º#]*\s*#?$",
    re.IGNORECASE,
)
"""Words before a number of another kind than a day."""
_BEFORE = 20
_MONTH_FIRST = frozenset({"en", "en-us", "en_us"})
"""Languages of the United States. Pages of other countries in English name their country."""


def written_day(text: str, language: str = "") -> date | None:
    """Return the first day that is written in a text, or None.

    A month or a year alone is no day, nor is a number of a version or a part. The day comes before the month, unless only
    the other order is one, or the text is in a `language` (a tag of HTML) in which the month comes before a slash.
    """
    days = (
        _numeric(text, month_first=language.lower() in _MONTH_FIRST),
        _cjk(text),
        _named(text),
    )
    return min(filter(None, days), default=(0, None))[1]


def _numeric(text: str, *, month_first: bool) -> tuple[int, date] | None:
    for match in _NUMERIC.finditer(text):
        if _NUMBERED.search(text, max(match.start() - _BEFORE, 0), match.start()):
            continue
        if match["year"]:
            day = _day(int(match["year"]), int(match["month"]), int(match["day"]))
        else:
            year = int(match["last"]) + (2000 if len(match["last"]) == 2 else 0)
            first, second = int(match["first"]), int(match["second"])
            if month_first and match["other"] == "/":
                first, second = second, first
            day = _day(year, second, first) or _day(year, first, second)
        if day is not None:
            return match.start(), day
    return None


def _named(text: str) -> tuple[int, date] | None:
    start = 0
    while (match := _NAMED.search(text, start)) is not None:
        month = _MONTH.get((match["name"] or match["first"]).lower())
        day = month and _day(int(match["year"] or match["last"]), month, int(match["day"] or match["second"]))
        if day:
            return match.start(), day
        start = match.start() + 1
    return None


def _cjk(text: str) -> tuple[int, date] | None:
    match = _CJK.search(text)
    day = match and _day(*map(int, match.groups()))
    return (match.start(), day) if match and day else None


def _day(year: int, month: int, day: int) -> date | None:
    try:
        written = date(year, month, day)
    except ValueError:
        return None
    return written if written.year >= _FIRST_YEAR else None
