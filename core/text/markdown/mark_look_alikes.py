"""What only looks like a citation mark: an index of an array, and an exponent."""

import re

_NEAR = 60
_ARRAYS = re.compile(
    r"argv|k?w?args|argc|arrs?|lst|nums|buf|tmp|idx|vec|df|ptr|strs?|foo|bar|baz|xs|ys|sys|obj|dict|params?|env|elems?|tup|mat",
    re.IGNORECASE,
)
"""Names of arrays in programs, which prose does not use."""
_ARRAY_WORDS = re.compile(r"(?:array|list|vector|string|row|value|key)s?|items|matrix|tuple", re.IGNORECASE)
"""Words of programs and prose. In prose a mark after them usually precedes a stop."""
_POINTS_AT = re.compile(
    r"(?:^|[=(:,]|\b(?:is|are|use|using|access|element|item|value|entry|index|print|returns?|equals|gives|get|called|to))\s?\Z",
    re.I,
)
"""Text before an index in prose."""
_COLLECTION = re.compile(
    r"(?:\b(?:interval|domain|array|list|vector|tuple|range|set)|∈)[ \t]?\Z", re.IGNORECASE
)
_LETTERED = re.compile(
    r"\b(?:vitamin|hepatitis|influenza|type|class|group|grade|plan|category|protein|factor|phase|part|level)\s[A-Z]\Z",
    re.I,
)
"""Names that end with a letter but do not name arrays."""
_IDENTIFIER = re.compile(r"(?:[A-Za-z_$][\w$]*[.>])*(?P<name>[A-Za-z_$][\w$]*)\)?\Z", re.ASCII)
_PROGRAMMED = re.compile(r"[a-z]|\w*_\w*|[a-z]\d{1,2}|[a-z]{2,}[A-Z][a-z]\w*|\$\w+", re.ASCII)
_CODE_AFTER = re.compile(r"[ \t]?(?:[-+*/%&|^]?=(?!\S*\])|\+\+|--)|\.[a-z_]|\[[A-Za-z]|[A-Za-z_(]")
_POWERS = re.compile(
    r"(?:(?:k|c|m|d|n|µ|μ|da|h)?(?:m|ft|in|s|g|l|w|v|j|n|b|t|a|ha|mi|yd|hz|pa|mol|sec|min|km)|sq|cu|mc|px|chi|phi|psi|rho|eta|"
    r"tau|pi|xi|mu|nu|alpha|beta|gamma|delta|theta|sigma|omega|lambda|sin|cos|tan|log|exp|foot|feet|inch(?:es)?|miles?|yards?|"
    r"(?:kilo|centi|milli|deci)?met(?:er|re)s?|metern?|seconds?|sekunden?|squared?)",
    re.IGNORECASE,
)
"""Units, Greek letters and functions, which have powers."""
_HAN_UNITS = ("米", "里", "尺", "寸", "秒", "㎡")
_YEAR = re.compile(
    r"\b(?:in|im|en|since|seit|of|by|from|until|year|Jahr)\s(?:1[5-9]|20)\d\d\Z", re.IGNORECASE
)
_LETTERS = re.compile(r"[^\W\d_]+\Z")
_ENCLOSED = re.compile(r"[(（][^()（）]*[^\W\d_]{3}[^()（）]*[)）]\Z")


def is_index(text: str, start: int, end: int, *, beside: bool) -> bool:
    """Return whether a number in brackets is an array or its index."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + 3]
    if re.search(r"(?:^|[^=!<>])=[ \t]?\Z", before) or after[:1] == "{":
        return True
    if not beside and re.search(r"\d[ \t]?,", text[start:end]) and _COLLECTION.search(before):
        return True
    identifier = None if beside else _IDENTIFIER.search(before)
    if identifier is None:
        return False
    name = identifier["name"]
    if len(name) == 1 and name.isupper() and _LETTERED.search(before):
        return False
    if len(name) == 1 or _ARRAYS.fullmatch(name) or _PROGRAMMED.fullmatch(name):
        return True
    if _CODE_AFTER.match(after):
        return True
    if not _ARRAY_WORDS.fullmatch(name):
        return False
    return after[:1] not in ("", "\n", *".,;:!?)") or bool(
        _POINTS_AT.search(before[: identifier.start("name")])
    )


def is_power(text: str, start: int, end: int) -> bool:
    """Return whether a superscript is an exponent or part of a formula, by its neighbours."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + 1]
    if after.isalnum() or after in ("⁺", "⁻", "⁼", "ⁿ"):
        return True
    last = before[-1:]
    if not last or last.isspace():
        return True  # the entry of a list of footnotes, or nothing at all
    if last.isdigit():
        return not _YEAR.search(before)
    if last in ")）":
        return not _ENCLOSED.search(before)
    if not last.isalpha():
        return last not in ".,;:!?…%”»\"'’“。，；：！？、」』*_"
    if "\u3040" <= last <= "\u9fff" or "\uac00" <= last <= "\ud7af":
        return last in _HAN_UNITS
    word = _LETTERS.search(before)
    name = word[0] if word else ""
    short = len(name) < 2 or (
        len(name) == 2 and (name.isupper() or not re.search("[aeiouy]", name, re.IGNORECASE))
    )
    return short or bool(_POWERS.fullmatch(name))


_LINE_BEGINS = re.compile(r"(?:^|\n)[ \t>*+#|-]*\Z")


def is_enumerator(text: str, start: int, end: int) -> bool:
    """Return whether circled numbers count steps or items, by their neighbours."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + 1]
    if after.isalnum() or _LINE_BEGINS.search(before):
        return True
    follows = before[-1].isalnum() or before[-1] in ".!?…%”»\"'’“。！？」』*_)）"
    return not (follows or after in ("", "\n", *".,;:!?…)）。，；：！？、”»"))
