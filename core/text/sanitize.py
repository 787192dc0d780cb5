"""Sanitizing of untrusted text for prompts and single lines. Pure functions in linear time."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

TITLE_LIMIT = 200
"""The most characters of a displayed or sent title."""

CHARACTERS_A_TOKEN = 4
"""Characters per token, an estimate for English. Other languages need more tokens."""


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet run a text as a formula (OWASP, CSV injection)."""
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Characters that models read but readers cannot see: controls, bidirectional marks, zero-width and filler characters,
# annotation and tag characters, lone surrogates, noncharacters.
_UNSEEN_CHARACTERS = (
    "\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_UNSEEN = re.compile(f"[{_UNSEEN_CHARACTERS}\ud800-\udfff]+")
_VISIBLE = re.compile(f"[^\\s\u200c\u200d{_SELECTORS}{_UNSEEN_CHARACTERS}]")
# Selectors and joiners at the start of a word belong to no character, in any order.
_STRAY_STARTS = re.compile(f"(?:(?<=\\s)|^)[{_SELECTORS}\u200c\u200d]+", re.MULTILINE)
# One variation selector after a visible character chooses a glyph, but a run of them carries hidden bytes.
_STRAY_SELECTORS = re.compile(f"(?<=[{_SELECTORS}])[{_SELECTORS}]+")
# Joiners shape Arabic, Persian, Indic scripts and emoji. After a Latin letter, a digit, a space or another joiner they
# have no effect.
_STRAY_JOINERS = re.compile("(?<=[\x00-\u02ff\u2000-\u206f\u3000\u200c\u200d])[\u200c\u200d]+")
_HANDLED = re.compile(
    f"[{_UNSEEN_CHARACTERS}\ud800-\udfff{_SELECTORS}\u200c\u200d\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
)
"""The characters that `sanitize` changes, without blank lines. Most texts have none."""
# Text like the tags of a source, in any spelling that a model might accept.
_TAG_LOOK_ALIKE = re.compile(
    r"[<＜‹〈]\s{0,8}[/／]?\s{0,8}(?:source|question|answer|client|asker)\b(?:[^<>＜＞‹›〈〉\n]{0,100}[>＞›〉])?",
    re.IGNORECASE,
)
_GAP = "(…)"
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_CLAUSE_END = re.compile(r"(?<=[,;:])(?=\s)|(?<=[，；：、])|\s+(?=[–—(])")
_WORD_END = re.compile(r"\s+")
_CONTINUES = re.compile(
    f"[{_SELECTORS}\u0300-\u036f\u0900-\u0903\u093a-\u094f\u200c\u200d\u20d0-\u20ff\U0001f3fb-\U0001f3ff]"
)
_HALF_CHARACTER = re.compile(f".[{_SELECTORS}\u0300-\u036f\u200c\u200d]*$", re.DOTALL)


def is_visible(text: str) -> bool:
    """Return whether a text has a visible character. Without any it is empty after `sanitize`."""
    return _VISIBLE.search(text) is not None


def estimated_tokens(characters: int) -> int:
    """Return the estimated tokens of a text with this many characters, rounded up."""
    return -(-characters // CHARACTERS_A_TOKEN)


def sanitize(text: str) -> str:
    """Return `text` without invisible characters and repeated blank lines.

    Line ends become `\\n`. Joiners stay if a script or an emoji needs them, with one variation selector for each
    character. The function is idempotent.
    """
    if _HANDLED.search(text):
        text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))
        text = _STRAY_JOINERS.sub("", _STRAY_SELECTORS.sub("", _STRAY_STARTS.sub("", text)))
    return _BLANK_LINES.sub("\n\n", text).strip()


def scrub_for_prompt(text: str, boundary: str) -> str:
    """Return `text` that cannot end its prompt tags.

    `boundary` is the random string in the tags of this prompt. The boundary, and text like the tag of a source,
    question or answer, is replaced by “(…)”, so that the text on both sides cannot join.
    """
    return _TAG_LOOK_ALIKE.sub(_GAP, re.sub(re.escape(boundary), _GAP, sanitize(text), flags=re.IGNORECASE))


def encodable(text: str) -> str:
    """Return `text` with surrogates replaced, as UTF-8 requires.

    Pairs become their character, single surrogates �.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def json_without_surrogates(value: Any) -> Any:
    """Return a JSON value with valid UTF-8 texts."""
    match value:
        case str():
            return encodable(value)
        case dict():
            return {encodable(name): json_without_surrogates(inner) for name, inner in value.items()}
        case list() | tuple():
            return [json_without_surrogates(inner) for inner in value]
        case _:
            return value


def spreadsheet_cell(value: object) -> object:
    """Return a safe CSV cell: an apostrophe precedes a text that a spreadsheet would run."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def one_line(text: str, limit: int = TITLE_LIMIT) -> str:
    """Return sanitized text on one line of at most `limit` characters, with an ellipsis if cut."""
    return truncate(" ".join(sanitize(text).split()), limit)


def single_spaced(text: str) -> str:
    """Return `text` with single blanks for white space, and none at its ends."""
    if text.isprintable() and "  " not in text:
        return text.strip(" ")  # the same as below, in a third of the time
    return " ".join(text.split())


def letters(text: str) -> str:
    """Return the letters and digits of a text, to compare texts regardless of spacing, marks and case."""
    return "".join(filter(str.isalnum, text.casefold()))


def has_words(text: str, words: str) -> bool:
    """Return whether a text has all `words`, in any order and case.

    Without words the result is True.
    """
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())


def folded_question(question: str) -> str:
    """Return a question normalised for comparison."""
    return single_spaced(encodable(question)).casefold()


def ordinal(number: int) -> str:
    """Return `1st`, `22nd` or `1,013th`."""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def pluralize(number: float, noun: str, several: str = "") -> str:
    """Return `1 page`, `1,200 pages` or `2.5 seconds`. The plural is that of `plural`."""
    return f"{number:,{'' if isinstance(number, int) else 'g'}} {plural(number, noun, several)}"


def plural(number: float, noun: str, several: str = "") -> str:
    """Return a word in the number's grammatical form.

    The plural is `several`, or by default ends with -s, -es or -ies.
    """
    if number == 1:
        return noun
    if several:
        return several
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("ch", "sh", "x", "s")) else f"{noun}s"


def truncate(text: str, limit: int) -> str:
    """Return at most `limit` characters, cut at a clause or word with an ellipsis."""
    if len(text) <= limit:
        return text
    room = text[: max(limit - 1, 0)]
    for boundary in (_CLAUSE_END, _WORD_END):
        ends = [match.start() for match in boundary.finditer(room, len(room) // 2)]
        if ends:
            room = room[: ends[-1]]
            break
    else:
        room = _HALF_CHARACTER.sub("", room) if _CONTINUES.match(text, len(room)) else room
    return room.rstrip(" ,;:–—-") + "…"


def distinct_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels by key, made distinct by numbers.

    Choices show their label alone. The last of equal labels stays, and each before it gets a number: new items come
    first, so the labels of the others do not change.
    """
    counts: Counter[str] = Counter()
    distinct: dict[str, str] = {}
    for key, label in reversed(list(labels.items())):
        counts[label] += 1
        distinct[key] = f"{label} ({counts[label]})" if counts[label] > 1 else label
    return {key: distinct[key] for key in labels}
