"""Super- and subscripts of a page, written with raised and lowered characters.

Ordinal numbers stay as they are. The number of a note is raised after a word, and put in brackets after a number, which
it would change. Small cents get their decimal point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from types import MappingProxyType

import lxml.html
from lxml import etree

from core.reading.html.rewriting.plain_text import PLAIN, replace_by_text
from core.text.superscripts import lowered, raised

_INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "em", "font", "i", "ins", "kbd", "label", "mark", "nobr", "q",
    "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var", PLAIN,
})  # fmt: skip
_RAISED_BY_STYLE = re.compile(r"(?:^|[;{\s])vertical-align:\s*(super|sub)\b", re.IGNORECASE)
_LONGEST_RULE = 1_000
"""Characters of a style rule before the property that raises, and of its selectors."""
_SIMPLE_CLASS = re.compile(
    r"(?<![\w.#>+~:\]-])(?:a|span|font|small|b|i|em|strong)?\.([\w-]{1,100})\s*(?=,|$)"
)
"""A selector that is one class, perhaps of an element within a line."""
_VARIABLES = ("em", "i", "var")
_NOTE = re.compile(
    r"foot-?note|end-?note|fn-?ref|note-?ref|noteref|cite|citation|(?:^|[\s_-])(?:fn|ref|reference)",
    re.IGNORECASE,
)
_UNITS = frozenset({
    "m", "cm", "mm", "dm", "km", "nm", "µm", "μm", "pm", "fm", "hm", "ft", "in", "yd", "mi", "s", "ms", "h", "min", "kg", "g",
    "mg", "t", "l", "L", "dl", "ml", "J", "N", "W", "V", "A", "K", "Pa", "Hz", "mol", "bar", "cd", "lm", "lx", "rad", "sr",
    "м", "см", "мм", "дм", "км", "с", "ч", "кг", "г", "ha", "px", "pc", "ly", "au", "kpc", "Mpc", "eV", "keV", "MeV", "GeV",
    "kW", "MW", "kN", "kJ", "dB", "°C",
})  # fmt: skip
_POWER = re.compile(r"[+−–-]?(?:[0-9]{1,3}|[0-9]+[.,/][0-9]+)")
_RAISED_NUMBERS = re.compile(r"[0-9]{1,3}(?:,[0-9]{1,3})*")
"""Numbers of notes that have raised characters. Others are put in brackets."""
_NUMBERS = re.compile(r"[0-9]{1,3}(?:\s*[,;–-]\s*(?:[0-9]{1,3}|[*†‡§¶#]))*")
_CHARGE = re.compile(r"[0-9]?[+−–-]{1,2}|[0-9]*[•·∙*]?[+−–-]")
_EXPRESSION = re.compile(
    r"[^\W\d_]?|[+−–-]?(?:[0-9]{0,3}[a-zα-ω]|(?:[0-9]*[a-zα-ω]|[0-9]+)\s?[+−–/·*-]\s?(?:[0-9]*[a-zα-ω]|[0-9]+))"
)
_VARIABLE_NAMES = frozenset("nxyzkijmpqtNTαβγλμ")
"""Letters that are exponents after a number or a name. Ordinal numbers have others, such as 2e and 1o."""
_NESTED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉^]")
_LAST_WORD = re.compile(r"[^\W\d_₀-₉]+$")
_LOWERED = "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"
_YEAR = re.compile(r"(?<![\w.,])(?:1[4-9]|20)[0-9]{2}$")
_CENTS, _CURRENCY = re.compile("[0-9]{2}"), re.compile(r"\s?[$€£¥₹]")
_AMOUNT = re.compile(r"(?<![\w.,])[0-9]{1,3}[.,]$")
_PRICE = re.compile(r"[$€£¥₹]\s?[0-9][0-9.,]*$")
"""An amount of money, whose cents are often small."""
_TERM = re.compile(r"[(\[](?![^()]*[^\W\d_]{3})[^()\[\]]{1,30}[)\]]$")
"""A term in brackets. Brackets with words are a remark."""
_BARS = ("/", "⁄", "∕")
_ELEMENT = re.compile(r"[A-Z][a-z]?(?![a-z])")
_LONGEST, _BEFORE = 16, 40
"""Characters of a script, and of the text before."""
_MAX_TEXTS = 100
"""Texts of a script, and before it. Between elements without text they are empty."""


def write_raised_text(tree: lxml.html.HtmlElement, classes: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write super- and subscripts with raised and lowered characters, or else with `^` and `_`.

    `classes` are the classes that a style sheet raises or lowers, with their tag.
    """
    for element in tree.iter("a", "span", "font", "small", "b", "i", "em", "strong"):
        if level := _RAISED_BY_STYLE.search(element.get("style") or ""):
            element.tag = "sup" if level[1].lower() == "super" else "sub"
        elif tag := next(filter(None, map(classes.get, (element.get("class") or "").split())), ""):
            element.tag = tag
        elif element.tag == "a" and _is_reference(element):
            element.tag = "sup"
    # Inner ones before those around them, neighbours in their order.
    for _, element in list(etree.iterwalk(tree, events=("end",), tag=("sup", "sub"))):
        pieces = list(islice(element.itertext(), _MAX_TEXTS + 1))
        text = "".join(pieces).strip()
        if len(pieces) > _MAX_TEXTS or not 0 < len(text) <= _LONGEST:
            continue
        before = _text_before(element)
        variable = _has_variable(element)
        if element.tag == "sub":
            written = lowered(text) if _is_index(text, before) else text
        elif _is_numerator(element, text):
            written = f" {text}" if before[-1:].isdecimal() else text
        elif _is_note(element, text):
            written = _note_mark(text, before)
        else:
            written = _superscript(text, before, (element.tail or "")[:5], variable=variable)
        if written != text:
            replace_by_text(element, written)


def raised_classes(sheet: str) -> dict[str, str]:
    """Return the classes that rules of a style sheet raise or lower, each with the tag that means it."""
    classes: dict[str, str] = {}
    for level in _RAISED_BY_STYLE.finditer(sheet):
        end = sheet.rfind("{", max(0, level.start() - _LONGEST_RULE), level.start() + 1)
        if end > 0 and sheet.find("}", end, level.start()) < 0:
            start = max(sheet.rfind(sign, max(0, end - _LONGEST_RULE), end) for sign in "{}") + 1
            tag = "sup" if level[1].lower() == "super" else "sub"
            classes |= dict.fromkeys(_SIMPLE_CLASS.findall(sheet, start, end), tag)
    return classes


def _is_reference(link: lxml.html.HtmlElement) -> bool:
    """Whether a link is declared to lead to a note, and no superscript by itself."""
    kinds = f"{link.get('epub:type') or ''} {link.get('role') or ''}".split()
    text = "".join(islice(link.itertext(), 9)).strip()
    return (
        not {"noteref", "doc-noteref"}.isdisjoint(kinds)
        and (_NUMBERS.fullmatch(text) is not None or (len(text) == 1 and text.isalpha()))
        and next(chain(link.iter("sup"), islice(link.iterancestors("sup"), 1)), None) is None
    )


def _note_mark(text: str, before: str) -> str:
    """Return the mark of a note so that it stays apart from the word or number before it."""
    if _NUMBERS.fullmatch(text):
        is_raised = _RAISED_NUMBERS.fullmatch(text) and not _takes_powers(before)
        return raised(text) if is_raised else f"[{text}]"
    return f"[{text}]" if len(text) == 1 and text.isalpha() and before[-1:].isalnum() else text


def _takes_powers(before: str) -> bool:
    """Whether a text ends with a number or a unit, after which the mark of a note would be read as a power."""
    word = _LAST_WORD.search(before)
    return before[-1:].isdecimal() or (
        word is not None and word[0] in _UNITS and before[word.start() - 1].isspace()
    )


def _superscript(text: str, before: str, after: str, *, variable: bool) -> str:
    """Return a superscript in the form that its neighbours ask for."""
    last = before[-1:]
    word = match[0] if (match := _LAST_WORD.search(before)) else ""
    if not last or last.isspace() or last in "([/":
        is_label = _RAISED_NUMBERS.fullmatch(text) and after[:1] not in _BARS
        return raised(text) if is_label or (last and text.isdecimal() and _ELEMENT.match(after)) else text
    if last.isdecimal():
        if _CENTS.fullmatch(text) and (_PRICE.search(before) or _CURRENCY.match(after)):
            return f".{text}"
        if _CENTS.fullmatch(text) and after.lstrip().startswith("Uhr"):
            return f":{text}"
        if _YEAR.search(before) and _NUMBERS.fullmatch(text):
            return f"[{text}]"
        if _POWER.fullmatch(text) or _is_expression(text, variable=variable):
            return raised(text)
        return f"[{text}]" if _NUMBERS.fullmatch(text) else text
    closed = last in _LOWERED or _TERM.search(before) is not None
    if _CHARGE.fullmatch(text):
        return raised(text) if closed or 0 < len(word) <= 2 else text
    if text[0] in "−–-" and _POWER.fullmatch(text):
        return raised(text) if closed or 0 < len(word) <= 4 else text
    if not (closed or len(word) == 1 or word in _UNITS or last in "′'|"):
        is_amount = _CENTS.fullmatch(text) and _AMOUNT.search(before)
        return _note_mark(text, before) if _NUMBERS.fullmatch(text) and not is_amount else text
    return raised(text) if _POWER.fullmatch(text) or _is_expression(text, variable=variable) else text


def _is_expression(text: str, *, variable: bool) -> bool:
    """Whether a text is an exponent with a variable, such as n or n−1, or has an exponent of its own."""
    if _NESTED.search(text):
        return True
    if not _EXPRESSION.fullmatch(text):
        return False
    return variable or len(text) > 1 or text in _VARIABLE_NAMES


def _is_index(text: str, before: str) -> bool:
    """Whether a subscript belongs to the name or number before."""
    return (
        len(text) <= 8
        and not re.search(r"\s", text)
        and (before[-1:].isalnum() or before[-1:] in tuple(")]′'"))
    )


def _is_numerator(element: lxml.html.HtmlElement, text: str) -> bool:
    """Whether a superscript is the upper number of a fraction, as in 1 1/2 cups."""
    lower = element.getnext()
    return (
        text.isdecimal()
        and (element.tail or "").strip() in _BARS
        and lower is not None
        and lower.tag == "sub"
        and (lower.text or "").strip().isdecimal()
    )


def _is_note(element: lxml.html.HtmlElement, text: str) -> bool:
    """Whether a superscript is the mark of a note: a link, a name, or brackets."""
    if text[0] in "[(" or text[-1] in "])":
        return True
    around = chain((element,), element.iter("a"), element.iterancestors("a", "span"))
    for part in islice(around, 8):
        if "#" in (part.get("href") or ""):
            return True
        if _NOTE.search(" ".join(part.get(name) or "" for name in ("class", "id", "role", "epub:type"))):
            return True
    return False


def _has_variable(element: lxml.html.HtmlElement) -> bool:
    """Whether a superscript is set as a variable."""
    return next(element.iter(*_VARIABLES), None) is not None or (
        (above := element.getparent()) is not None and above.tag in _VARIABLES
    )


def _text_before(element: lxml.html.HtmlElement) -> str:
    """Return the end of the text before an element in its block."""
    pieces: list[str] = []
    length = 0
    for piece in islice(_texts_before(element), _MAX_TEXTS):
        pieces.append(piece)
        length += len(piece)
        if length >= _BEFORE:
            break
    return "".join(reversed(pieces))[-_BEFORE:]


def _texts_before(element: lxml.html.HtmlElement) -> Iterator[str]:
    """Yield the texts before an element in its block, last first. Some are empty."""
    while True:
        above = element.getprevious()
        if above is None:
            above = element.getparent()
            if above is None:
                return
            yield above.text or ""
            if above.tag not in _INLINE:
                return
            element = above
            continue
        yield above.tail or ""
        element = above
        if not isinstance(above.tag, str):  # a comment
            continue
        while above.tag in _INLINE and len(above):
            above = above[-1]
            yield above.tail or ""
        if not isinstance(above.tag, str):
            element = above
            continue
        if above.tag not in _INLINE:
            return
        yield above.text or ""
        element = above
