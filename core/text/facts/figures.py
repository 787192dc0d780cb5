"""Numbers of a text in digits and words, with sign, unit and direction.

text2num reads number words of eight languages. This module reads separators between digits, scales after them and
numbers in Han characters.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from core.text.language import dominant_language


def _any(words: Iterator[str] | list[str] | dict[str, str] | dict[str, int]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_WORD_LANGUAGES = frozenset(("da", "de", "en", "es", "fr", "it", "nl", "pt"))
"""Languages whose number words text2num knows."""
_NO_PRONOUN = 2
"""The least number for a word: "one" is a pronoun."""
_NO_COUNT = 13
"""The least number for a word of an answer.

"two" is more often a count of the answer's own list than a quoted number.
"""

_FULL_WIDTH = {
    0xFF01 + place: 0x21 + place for place in range(94) if chr(0xFF01 + place) not in "，：；！？（）"
}
_FULL_WIDTH |= {ord("٫"): ord("."), ord("٬"): ord(","), ord("−"): ord("-"), ord("⁄"): ord("/")}
_DIGITS = {character: value for value, row in enumerate(("〇零", "一壹", "二两兩", "三", "四", "五", "六", "七", "八", "九"))
           for character in row}  # fmt: skip
_TENS = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS = {"万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8, "억": 8, "兆": 12, "조": 12}
_SCALES = {
    word: power
    for power, words in {
        2: "hundred hundert",
        3: "thousand tausend mille mil k",
        5: "lakh lakhs",
        6: "million millions millionen mio mn millón millones milione milioni milhão milhões miljoen",
        7: "crore crores",
        9: "billion billions bn milliarde milliarden mrd milliard milliards miliardo miliardi bilhão bilhões miljard",
        12: "trillion trillions tn billionen billones",
    }.items()
    for word in words.split()
} | _MYRIADS
_UNITS = {
    name: unit
    for unit, names in {
        "$": "$ usd us$ dollar dollars 美元",
        "€": "€ eur euro euros 欧元 歐元",
        "£": "£ gbp pound pounds sterling 英镑 英鎊",
        "yuan": "cny rmb yuan 元 人民币",
        "yen": "jpy yen 日元 円",
        "₹": "₹ inr rupee rupees",
        "%": "% percent prozent pct 퍼센트",
        "points": "pp",
        "km": "km kilometre kilometres kilometer kilometers kilometern kilomètre kilomètres kilómetro kilómetros "
        "chilometro chilometri 公里 千米 キロメートル",
        "m": "metre metres meter meters mètre mètres metro metros metri 米",
        "cm": "cm centimetre centimetres centimeter centimeters 厘米 公分",
        "mm": "mm millimetre millimetres millimeter millimeters 毫米",
        "mi": "mi mile miles meilen 英里",
        "ft": "ft foot feet 英尺",
        "kg": "kg kilogram kilograms kilogramm kilo kilos 公斤 千克",
        "t": "tonne tonnes tons tonnen 吨 噸",
        "°C": "°c celsius 摄氏度",
        "°F": "°f fahrenheit 华氏度",
        "years": "year years jahr jahre jahren ans année années año años anni",
        "months": "month months monat monate monaten mois mes meses mesi 个月",
        "weeks": "week weeks woche wochen semaine semaines semana semanas 周 星期",
        "days": "day days tag tage tagen jour jours día días giorno giorni 天",
        "hours": "hour hours stunde stunden heure heures hora horas 小时 小時 時間",
        "minutes": "minute minutes minuten minuto minutos 分钟",
    }.items()
    for name in names.split()
}
_PREFIXES = ["$", "€", "£", "¥", "₹", "us$", "usd", "eur", "gbp", "jpy"]
_LETTER = "A-Za-zÀ-ɏͰ-ӿ"
"""Letters of alphabets. A digit between them is part of a name, unlike between Han characters."""
_HAN = "".join((*_DIGITS, *_TENS, *_MYRIADS))
_DIGITS_OF_NUMBER = (
    r"\d{1,3}(?:,\d\d)+,\d{3}(?!\d)|\d{1,3}(?:[,.\u00a0\u202f ’']\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
)
"""Pattern of a number in digits, with or without separators, such as 1,50,000 or 1 500 or 1.500,5."""
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)\]-])-|\bminus\s|零下)?(?:(?P<before>{_any(_PREFIXES)})\s?(?P<minus>-)?)?(?<![{_LETTER}\d_.])"
    rf"(?P<digits>{_DIGITS_OF_NUMBER})"
    rf"(?:[\s-]?(?P<scale>{_any(_SCALES)})s?(?![{_LETTER}])|(?P<letter>[mb])(?![{_LETTER}]))?"
    rf"(?:[\s-]?(?P<after>(?:{_any(_UNITS)})|per\scent|pour\scent|por\sciento|percentage\spoints?)(?![{_LETTER}]))?",
    re.IGNORECASE,
)
_IN_HAN = re.compile(rf"(?P<share>百分之)?(?P<han>[{_HAN}]+(?:点[{_HAN}]+)?)(?P<after>{_any([*_UNITS])})?")
_POWER_OF_TEN = re.compile(
    rf"(?<![{_LETTER}\d_.,])(?:(?:(?P<factor>{_DIGITS_OF_NUMBER})\s?[x×·⋅∙*]\s?)?10"
    r"(?:(?P<raised>[⁺⁻]?[⁰¹²³⁴-⁹]{1,3})|(?:\^|\*\*)[({]?(?P<exponent>[+-]?\d{1,3})[)}]?)"
    r"|(?P<mantissa>\d+(?:\.\d+)?)e(?P<e>[+-]?\d{1,3}))(?![\w^]|\.\d)",
    re.IGNORECASE,
)
"""10⁶, 10^6, 10**6, 3 × 10⁵, 1.5e6."""
_LOWERED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_LARGEST_EXPONENT = 30
"""The largest exponent that is written out."""
_HALF = re.compile(rf"\bhalf an?\s(?=(?:{_any(_SCALES)})\b)", re.IGNORECASE)
_FRACTION = re.compile(
    r"(?:(?<![\d.,/])(?P<whole>\d{1,4})(?:[ \u00a0-]?(?=[¼-¾⅐-⅞])|[ \u00a0-](?=[1-9]/)))?"
    r"(?:(?P<sign>[¼-¾⅐-⅞])|(?<![\d/.,])(?P<part>[1-9])/(?P<of>[234568])(?![\d/]|[.,]\d))"
)
"""½, 2½, 1/2, 1 1/2. A longer line of numbers and slashes is a date or a path."""
_HALF_WORDS = re.compile(
    r"\b(?:half|hälfte|halbe[rsnm]?|moitié|demie?|mitad|metà|mezz[oa])\b|一半|半数", re.IGNORECASE
)
_SHARE = re.compile(
    r"\b(?:(?P<part>[1-9]) (?:out )?(?:of|von|sur|de) (?:the )?(?P<of>[2-9]|10)|"
    r"(?P<parts>an?|one|two|three|four|eine?[mns]?|zwei|drei|vier)[ -](?P<name>third|quarter|fifth|drittel|viertel|fünftel)s?)\b",
    re.IGNORECASE,
)
"""A share in words, such as 3 of 4 or two thirds."""
_PARTS = {"two": 2, "three": 3, "four": 4, "zwei": 2, "drei": 3, "vier": 4}
_NAMED_PARTS = {"third": 3, "quarter": 4, "fifth": 5, "drittel": 3, "viertel": 4, "fünftel": 5}
_EXACT = Context(prec=400)
"""Arithmetic of numbers in texts, which may have more digits than 28."""
_SPOKEN_YEAR = re.compile(r"\b(1[1-9]|20) (\d\d)\b")
_FALLS = (
    "fell|falls?|fallen|falling|dropp?(?:s|ed)?|declined?s?|decreased?s?|lost|loses?|loss|shrank|sank|down|reduced|"
    "sanken?|gesunken|fiel(?:en)?|gefallen|Rückgang|baissé|diminué|chuté|baisse|bajó|cayó|disminuyó"
)
_RISES = (
    "rose|rises?|risen|rising|gr[eo]ws?|grown|growth|increased?s?|gain(?:s|ed)?|won|climbed|jumped|up|"
    "stieg(?:en)?|gestiegen|Anstieg|augmenté|progressé|hausse|subió|aumentó|creció"
)
_HAN_FALLS, _HAN_RISES = "下降|下跌|下滑|减少|減少|降低|跌", "上升|上涨|上漲|增长|增長|增加|提高|涨"
_LINKS = r"(?:\s(?:by|of|about|around|nearly|almost|over|some|more\sthan|um|de|d['’]|un|en))*"
_BEFORE = re.compile(
    rf"(?:\b(?:(?P<falls>{_FALLS})|{_RISES}){_LINKS}\s?|(?:(?P<han>{_HAN_FALLS})|{_HAN_RISES})[了到至约約]*)\Z",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"\s(?:(?P<falls>{_FALLS})|{_RISES})\b", re.IGNORECASE)
_NEAR = 40
"""Characters before a number to search for its direction."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit and direction.

    `value` is a plain decimal ("1500000", "-3.5"). `unit` is "" if unknown. `direction` is 1 or -1 if the text says
    that something rose or fell by the number, else 0.
    """

    value: str
    unit: str = ""
    direction: int = 0

    def __str__(self) -> str:
        if self.unit in _PREFIXES:
            return f"-{self.unit}{self.value[1:]}" if self.value[0] == "-" else f"{self.unit}{self.value}"
        return f"{self.value} {self.unit}".rstrip()

    def agrees(self, other: "Figure") -> bool:
        """Return whether both may state one fact. Unknown units and directions match any."""
        if self.unit and other.unit and self.unit != other.unit:
            return False
        if self.value == other.value:
            return self.direction * other.direction >= 0
        return self.value.lstrip("-") == other.value.lstrip("-") and self.direction == other.direction == -1


def figures(text: str, *, claimed: bool = False) -> frozenset[Figure]:
    """Return the numbers of a text. In a `claimed` text, words count from 13 on.

    Smaller number words in an answer are often its own counts. "1,500", "1 500" and "1.5 thousand" are equal, and so
    are "25" and "twenty-five", "3亿" and "300 million".
    """
    text = _HALF.sub("0.5 ", text.translate(_FULL_WIDTH))
    text = _POWER_OF_TEN.sub(
        _written_out, _FRACTION.sub(lambda fraction: _as_decimal(fraction, claimed), text)
    )
    if not claimed:
        text = _SHARE.sub(_with_decimal, _HALF_WORDS.sub(r"\g<0> (0.5)", text))
    least = _NO_COUNT if claimed else _NO_PRONOUN
    in_words = _in_digits(words_as_digits(_NUMBER.sub(" ¤ ", text), least))
    return frozenset(
        (*_in_digits(text), *_in_han(text, least), *(figure for figure in in_words if figure.value != "1"))
    )


def _as_decimal(fraction: re.Match[str], claimed: bool) -> str:
    """Return a fraction as a decimal number, and in a source also as it is written: a claim may have 3 of 4."""
    part, of = fraction["part"], fraction["of"]
    if part and int(part) >= int(of):
        return fraction.group()
    value = unicodedata.numeric(fraction["sign"]) if fraction["sign"] else int(part) / int(of)
    # Four places, because three after a comma could be thousands.
    decimal = f"{int(fraction['whole'] or 0) + value:.4f}"
    return decimal if claimed or not part else f"{fraction.group()} ({decimal})"


def _with_decimal(share: re.Match[str]) -> str:
    """Return a share in words with its value as a decimal number behind it."""
    part = int(share["part"] or _PARTS.get((share["parts"] or "").lower(), 1))
    of = int(share["of"] or _NAMED_PARTS[share["name"].lower()])
    return f"{share.group()} ({part / of:.4f})" if part < of else share.group()


def _written_out(power: re.Match[str]) -> str:
    """Return a power of ten and its factor as one number, such as 300000 for 3 × 10⁵."""
    factor = _decimal(power["factor"] or power["mantissa"] or "1")
    exponent = int((power["raised"] or power["exponent"] or power["e"]).translate(_LOWERED))
    if factor is None or abs(exponent) > _LARGEST_EXPONENT:
        return power.group()
    return _plain_decimal(factor.scaleb(exponent, _EXACT))


def words_as_digits(text: str, least: int = _NO_PRONOUN) -> str:
    """Return a text with its number words from `least` on in digits."""
    from text_to_num import alpha2digit

    language = dominant_language([text])
    read: str = alpha2digit(text, language if language in _WORD_LANGUAGES else "en", threshold=least)
    return _SPOKEN_YEAR.sub(r"\1\2", read)


def _in_digits(text: str) -> Iterator[Figure]:
    for match in _NUMBER.finditer(text):
        value = _decimal(match["digits"])
        if value is None:
            continue
        before, letter = (match["before"] or "").strip().lower(), (match["letter"] or "").lower()
        scale = (
            _SCALES[match["scale"].lower()]
            if match["scale"]
            else {"m": 6, "b": 9}.get(letter, 0) * bool(before)
        )
        after = re.sub(r"\s", " ", (match["after"] or "").lower())
        unit = (
            _UNITS.get(before) or _UNITS.get(after) or ("points" if "point" in after else "%" * bool(after))
        )
        negative = bool(match["sign"] or match["minus"])
        yield Figure(
            ("-" if negative and value else "") + _plain_decimal(value.scaleb(scale, _EXACT)),
            unit,
            -1 if negative else _direction(text, match.start(), match.end()),
        )


def _in_han(text: str, least: int) -> Iterator[Figure]:
    for match in _IN_HAN.finditer(text):
        value = _han_number(match["han"])
        if value is not None and value >= least:
            unit = "%" if match["share"] else _UNITS.get(match["after"] or "", "")
            yield Figure(_plain_decimal(value), unit, _direction(text, match.start(), match.end()))


def _han_number(text: str) -> Decimal | None:
    """Return the value of "三百", "二〇二四" or "三点五", or None.

    "万一" or "千万" only look like numbers.
    """
    whole, _, fraction = text.partition("点")
    if fraction or (len(whole) > 1 and all(character in _DIGITS for character in whole)):
        if not all(character in _DIGITS for character in whole + fraction):
            return None
        digits = "".join(str(_DIGITS[character]) for character in whole)
        return Decimal(f"{digits}.{''.join(str(_DIGITS[character]) for character in fraction) or 0}")
    if whole[0] in _MYRIADS or whole[0] in "百千" or not set(whole) - _MYRIADS.keys():
        return None
    total = part = digit = 0
    for character in whole:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _TENS:
            part, digit = part + (digit or 1) * _TENS[character], 0
        else:
            total, part, digit = total + (part + digit or 1) * 10 ** _MYRIADS[character], 0, 0
    return Decimal(total + part + digit)


def _direction(text: str, start: int, end: int) -> int:
    change = _BEFORE.search(text[max(0, start - _NEAR) : start]) or _AFTER.match(text, end)
    if change is None:
        return 0
    return -1 if any(change.groupdict().values()) else 1


def _decimal(digits: str) -> Decimal | None:
    """Parse digits. A comma or dot before exactly three digits groups them, others are decimal marks."""
    grouped = re.fullmatch(
        r"(\d{1,3}(?:[,.\u00a0\u202f ’']\d{2,3})*[,.\u00a0\u202f ’']\d{3})([.,]\d+)?", digits
    )
    if grouped and not (grouped[1].count(".") == 1 and grouped[1].startswith("0")):
        digits = re.sub(r"\D", "", grouped[1]) + (grouped[2] or "").replace(",", ".")
    try:
        return Decimal(digits.replace(",", "."))
    except InvalidOperation:
        return None


def _plain_decimal(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
