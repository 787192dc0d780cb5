"""Dates, times and durations as their number format shows them, in the notation of spreadsheets.

A date with a year is written as ISO 8601, with the parts that its format shows: `mmm-yy` gives "2026-01". All else is
written as the format says. Formats of numbers are left to the conversion library, in the form that it reads.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[(?P<elapsed>h+|m+|s+)\]'
    r"|\[(?P<condition>[<>=]=?|<>)(?P<limit>-?[\d.]+)\]|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]|(?P<end>;)"
    r"|(?P<half>AM/PM|A/P|上午/下午|午前/午後|오전/오후)|(?P<part>y+|m+|d+|h+|s+|e+|b+|a{3,4})|(?P<era>g+)|\.(?P<places>0{1,9})|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_GENERAL = re.compile(r"\s*general", re.IGNORECASE)
PLAIN_FRACTION = 13, "# #/##"
"""The format of fractions that files name by number, in the form that the conversion library reads."""
_NO_TIME = re.compile(r"[0#?a-z]", re.IGNORECASE)
"""Signs of a format of numbers, and letters that a format of times would quote."""
_UNITS = frozenset("年月日년월일гr")
"""Names of units after a year, month or day."""
_MARKS = " .,/-"
_OF_DAYS = frozenset("YMDW")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_BUILT_IN = {
    14: "m/d/yyyy", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm",
    21: "h:mm:ss", 22: "m/d/yyyy h:mm", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0",
}  # fmt: skip
"""Formats of dates and times that a file names by number. Others differ between languages."""
_LONGEST = 255
"""The most characters of a format, as spreadsheets allow them."""
_DIGIT = re.compile("[0#?]")
_NUMBER_SIGNS = frozenset("0123456789#?.,%+-/()@:$ !&~'{}<>=^")
"""Characters that a format of numbers has unquoted."""
_CONDITION_SIGN = re.compile(r"\[[<>=]")
_CONDITION = re.compile(r"\[[<>]=?0\]")
_BY_SIGN = {
    ("<0", ""): (1, 0), (">=0", ""): (0, 1), (">=0", "<0"): (0, 1), (">0", "<0", ""): (0, 1, 2),
    (">0", "<0"): (0, 1),
}  # fmt: skip
"""The order of sections for numbers by their sign, for conditions that mean the same."""
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.')
_DECIMALS = re.compile(r"\.([0#?]*)")
_EPOCH, _EPOCH_1904 = date(1899, 12, 30), date(1904, 1, 1)
_LEAP_DAY = 60
"""The day number of 29 February 1900, which spreadsheets have and the calendar lacks."""
_LAST_DAY = 2_958_465
_BUILT_IN_NUMBERS = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?",
    13: "# #/##", 49: "@",
}  # fmt: skip
_DAY = 86_400
_EXACT = 9
"""Decimals of a day that count where the format shows no time."""


class _Part(NamedTuple):
    """A piece of a format: the year, month, day, weekday, hour, minute, second, half or fraction, or a text."""

    kind: str
    text: str


_TESTS: dict[str, Callable[[float, float], bool]] = {
    "": lambda value, limit: True,
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
    "=": lambda value, limit: value == limit,
    "==": lambda value, limit: value == limit,
    "<>": lambda value, limit: value != limit,
}


class _Section:
    """The format of one range of values. `parts` is None for a format of numbers."""

    def __init__(self, parts: Sequence[_Part] | None, condition: str, limit: float) -> None:
        self.condition = condition
        self._limit = limit
        self._test = _TESTS[condition]
        kinds = {part.kind for part in parts or ()}
        self.is_timed = bool(kinds - {""})
        self._template = None if parts is None else "".join(_template(parts))
        self._dated = bool(kinds & _OF_DAYS)
        self._whole_days = self._dated and not kinds & {"h", "m", "s", "[h", "[m", "[s"}
        self._places = max((len(part.text) for part in parts or () if part.kind == "."), default=0)
        halves = next((part.text for part in parts or () if part.kind == "half"), "/")
        self._halves = halves.upper().split("/")

    def holds(self, value: float) -> bool:
        """Whether the condition of the section holds for a value."""
        return self._test(value, self._limit)

    def write(self, value: float, *, signed: bool, from_1904: bool) -> str | None:
        """Return the text of a value, or None as `TimeFormat.write` does."""
        if self._template is None or not abs(value) <= _LAST_DAY or (self._dated and value < 0):
            return None
        days, seconds = int(round(abs(value), _EXACT)), 0.0
        if not self._whole_days:
            whole, seconds = divmod(round(abs(value) * _DAY, self._places), _DAY)
            days = int(whole)
        fields = _clock(days, seconds, self._places) | {"half": self._halves[seconds >= _DAY / 2]}
        if self._dated:
            fields |= _calendar(days, from_1904=from_1904)
        text = self._template.format_map(fields)
        return " ".join(text.split()) if self._dated else "-" * (signed and value < 0) + text


class TimeFormat:
    """A number format that shows dates, times or durations."""

    def __init__(self, sections: Sequence[_Section]) -> None:
        self._sections = sections
        self._is_conditional = any(section.condition for section in sections)

    def write(self, value: float, *, from_1904: bool = False) -> str | None:
        """Return the date, time or duration of a number as text.

        None means that the format shows this value as a number, or that no calendar has the day.
        """
        sections = self._sections
        if self._is_conditional:
            section = next((each for each in sections if each.holds(value)), sections[-1])
        elif value < 0 and len(sections) > 1:
            section = sections[1]
        else:
            section = sections[2] if value == 0 and len(sections) > 2 else sections[0]
        return section.write(value, signed=section is sections[0], from_1904=from_1904)


def _clock(days: int, seconds: float, places: int) -> dict[str, object]:
    """Return the fields of a time, and of a duration from its whole hours, minutes or seconds."""
    second = int(seconds)
    total = days * _DAY + second
    hour = second // 3600
    return {
        "h": hour,
        "h12": (hour + 11) % 12 + 1,
        "m": second // 60 % 60,
        "s": second % 60,
        "fraction": f"{seconds % 1:.{places}f}"[1:],
        "hours": total // 3600,
        "minutes": total // 60,
        "seconds": total,
    }


def _calendar(number: int, *, from_1904: bool) -> dict[str, object]:
    """Return the fields of a day. Spreadsheets have a day 0 and 29 February 1900, which do not exist."""
    if not from_1904 and number in (0, _LEAP_DAY):
        year, month, day, weekday = (1900, 2, 29, 2) if number else (1900, 1, 0, 5)
    else:
        epoch = _EPOCH_1904 if from_1904 else _EPOCH + timedelta(days=number < _LEAP_DAY)
        shown = epoch + timedelta(days=number)
        year, month, day, weekday = shown.year, shown.month, shown.day, shown.weekday()
    return {"Y": year, "M": month, "D": day, "month": _MONTHS[month - 1], "weekday": _WEEKDAYS[weekday]}


def day_number(moment: datetime, *, from_1904: bool = False) -> float:
    """Return the number that a cell has for a moment, in days."""
    moment = moment.replace(tzinfo=None)
    epoch = _EPOCH_1904 if from_1904 else _EPOCH
    days = (moment - datetime.combine(epoch, time())) / timedelta(days=1)
    return days if from_1904 or days >= _LEAP_DAY + 1 else days - 1


def _template(parts: Sequence[_Part]) -> Iterator[str]:
    """Yield the parts as a template of fields. The parts of a date with a year become one date as ISO 8601."""
    kinds = {part.kind for part in parts}
    joined = _joined(parts)
    for place, part in enumerate(parts):
        width = len(part.text)
        if place in joined:
            within = {part.kind for part in parts[joined.start : joined.stop]}
            iso = "{Y:04}" + "-{M:02}" * ("M" in within) + "-{D:02}" * ("D" in within)
            yield iso if place == joined.start else ""
        elif part.kind == "":
            text = _beside(part.text) if joined and place in (joined.start - 1, joined.stop) else part.text
            yield text.replace("{", "{{").replace("}", "}}")
        elif part.kind == "h":
            is_padded = width > 1 or ("Y" in kinds and "half" not in kinds)
            yield f"{{{'h12' if 'half' in kinds else 'h'}:0{2 if is_padded else 1}}}"
        elif part.kind == ".":
            yield f"{{fraction:.{width + 1}}}"
        elif part.kind == "half":
            yield "{half}"
        elif part.kind.startswith("["):
            yield f"{{{ {'h': 'hours', 'm': 'minutes', 's': 'seconds'}[part.kind[1]] }:0{min(width, 9)}}}"
        elif part.kind == "W":
            yield "{weekday:.3}" if width == 3 else "{weekday}"
        elif part.kind == "M" and width > 2:
            yield {3: "{month:.3}", 5: "{month:.1}"}.get(width, "{month}")
        else:
            yield f"{{{part.kind}:0{min(width, 2)}}}"


def _joined(parts: Sequence[_Part]) -> range:
    """Return the places of a date with a year, with the texts inside of it. A date without a year has none."""
    places = [place for place, part in enumerate(parts) if part.kind in ("Y", "M", "D")]
    kinds = {parts[place].kind for place in places}
    if "Y" not in kinds or kinds == {"Y", "D"}:
        return range(0)
    inner = range(places[0], places[-1] + 1)
    return inner if all(parts[place].kind in ("", *kinds) for place in inner) else range(0)


def _beside(text: str) -> str:
    """Return a text next to a date: a word stays, and marks and the names of units become a space."""
    words = text.strip(_MARKS)
    return " " if words == "" or words in _UNITS or words.upper() == "T" else text


def time_format(code: str) -> TimeFormat | None:
    """Return the format of dates or times that a code means, or None for any other format."""
    if len(code) > _LONGEST:
        return None
    sections = [_section(tokens) for tokens in _sections(code)]
    return TimeFormat(sections) if any(section.is_timed for section in sections) else None


def cell_formats(codes: dict[int, str], cells: Sequence[int]) -> dict[int, TimeFormat]:
    """Return the formats of dates and times by the style of a cell.

    `codes` are the formats that the file declares, `cells` the number of the format of each style.
    """
    known: dict[int, TimeFormat | None] = {}
    formats: dict[int, TimeFormat] = {}
    for style, number in enumerate(cells):
        if number not in known:
            known[number] = time_format(codes.get(number, _BUILT_IN.get(number, "")))
        if (form := known[number]) is not None:
            formats[style] = form
    return formats


def _sections(code: str) -> list[list[re.Match[str]]]:
    """Return the tokens of each section for numbers. A last section for texts is left out."""
    sections = _all_sections(code)
    for_texts = len(sections) > 1 and any(token["other"] == "@" for token in sections[-1])
    return sections[:-1] if for_texts else sections[:3]


def _all_sections(code: str) -> list[list[re.Match[str]]]:
    sections: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(code):
        if token["end"]:
            sections.append([])
        else:
            sections[-1].append(token)
    return sections


def _section(tokens: Sequence[re.Match[str]]) -> _Section:
    """Return the section of tokens, whose letter m means minutes next to hours or seconds."""
    condition = next((token for token in tokens if token["condition"]), None)
    about = (condition["condition"], _limit(condition["limit"])) if condition else ("", 0.0)
    plain = "".join(token[0] for token in tokens if not token[0].startswith("["))
    units = [token for token in tokens if token["part"] or token["elapsed"]]
    others = "".join(token["other"] or "" for token in tokens)
    if (
        _GENERAL.match(plain)
        or _NO_TIME.search(others)
        or (units and not set(map(_letter, units)) & set("ymdhsa"))
    ):
        return _Section(None, *about)
    parts: list[_Part] = []
    place = -1
    for token in tokens:
        if (text := token["part"]) or token["elapsed"]:
            place += 1
            parts.append(_unit(token, units[place - 1] if place else None, units[place + 1 : place + 2]))
        elif token["half"]:
            parts.append(_Part("half", token["half"]))
        elif token["places"]:
            parts.append(_Part(".", token["places"]) if _after_seconds(parts) else _Part("", token[0]))
        else:
            text = next(filter(None, token.group("quoted", "escaped", "currency", "other")), "")
            if parts and not parts[-1].kind:
                parts[-1] = _Part("", parts[-1].text + text)
            elif text:
                parts.append(_Part("", text))
    return _Section(parts, *about)


def _limit(number: str) -> float:
    try:
        return float(number)
    except ValueError:
        return 0.0


def _after_seconds(parts: Sequence[_Part]) -> bool:
    return bool(parts) and parts[-1].kind in ("s", "[s")


def _unit(token: re.Match[str], before: re.Match[str] | None, after: Sequence[re.Match[str]]) -> _Part:
    """Return the part that the letters of a format mean between the letters before and after them."""
    if token["elapsed"]:
        return _Part(f"[{token['elapsed'][0].lower()}", token["elapsed"])
    text = token["part"].lower()
    beside = (_letter(before) if before else "") == "h" or (_letter(after[0]) if after else "") == "s"
    if text[0] == "m" and beside and len(text) < 3:
        return _Part("m", text)
    if text[0] == "a" or (text[0] == "d" and len(text) > 2):
        return _Part("W", text)
    return _Part({"m": "M", "d": "D", "h": "h", "s": "s"}.get(text[0], "Y"), text)


def _letter(token: re.Match[str]) -> str:
    return (token["part"] or token["elapsed"])[0].lower()


def plain_code(code: str) -> str:
    """Return a format of numbers in the form that the conversion library reads.

    The library drops letters and currency signs without quotes, pads a denominator to its left, and writes the sign
    of a number twice where a section has the condition of being negative.
    """
    if len(code) > _LONGEST:
        return code
    sections = _all_sections(code)
    written = ["".join(_plain(tokens)) for tokens in sections]
    conditions = tuple(_condition(tokens) for tokens in sections)
    if order := _BY_SIGN.get(conditions):
        written = [_CONDITION.sub("", written[place]) for place in order if place < len(written)]
    return ";".join(written)


def _condition(tokens: Sequence[re.Match[str]]) -> str:
    condition = next((token for token in tokens if token["condition"]), None)
    return f"{condition['condition']}{_limit(condition['limit']):g}" if condition else ""


def _plain(tokens: Sequence[re.Match[str]]) -> Iterator[str]:
    """Yield the tokens of a section. Unquoted characters that are no signs of a format of numbers get an escape."""
    units = {_letter(token) for token in tokens if token["part"] or token["elapsed"]}
    if units & set("ymdhs") or not _DIGIT.search("".join(token["other"] or "" for token in tokens)):
        yield from (token[0] for token in tokens)
        return
    below = False
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        text = token[0]
        is_exponent = text in ("E", "e") and following is not None and following[0] in ("+", "-")
        below = below or text == "/"
        unquoted = token["other"] or token["part"] or token["era"]
        if unquoted and not is_exponent and not set(text) <= _NUMBER_SIGNS:
            yield "".join(f"\\{character}" for character in text)
        elif below and text == "?":
            yield "#"
        else:
            yield text


def shown_number(value: str, code: str, *, from_1904: bool = False) -> str:
    """Return a date, time or percentage as its format shows it, and any other value as it is."""
    try:
        number = float(value)
    except ValueError:
        return value
    if (form := time_format(code)) is not None:
        text = form.write(number, from_1904=from_1904)
        return value if text is None else text
    code = _LITERALS.sub("", code).partition(";")[0]
    if "%" in code:
        decimals = _DECIMALS.search(code)
        return f"{number:.{len(decimals[1]) if decimals else 0}%}"
    return value


def struck_code(number: int, code: str | None) -> str | None:
    """Return a format with Markdown marks for struck text, or None for an unknown format."""
    code = code or _BUILT_IN.get(number) or _BUILT_IN_NUMBERS.get(number)
    if code is None or len(code) > _LONGEST // 5 or _CONDITION_SIGN.search(code):
        return None
    sections = ["".join(token[0] for token in tokens) for tokens in _all_sections(code)]
    numbers = [section for section in sections[:3] if "@" not in section] or ["General"]
    first = numbers[0]
    negative = numbers[1] if len(numbers) > 1 else f"-{first}"
    zero = numbers[2] if len(numbers) > 2 else first
    # A date becomes a text, which the section for texts marks.
    mark = "" if time_format(code) else '"~~"'
    marked = [f"{mark}{section}{mark}" if section else "" for section in (first, negative, zero)]
    return ";".join((*marked, '"~~"@"~~"'))
