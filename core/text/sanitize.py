"""Sanitizing of untrusted text for prompts and single lines. Pure functions in linear time."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

TITLE_LIMIT = 200
"""The longest title that is shown or sent, in characters."""

CHARACTERS_A_TOKEN = 4
"""Characters per token, an estimate for English; other languages need more tokens for the same text."""


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With these a spreadsheet takes a text for a formula (OWASP, CSV injection)."""


def estimated_tokens(characters: int) -> int:
    """The tokens of a text with so many characters, rounded up."""
    return -(-characters // CHARACTERS_A_TOKEN)


_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"

# What a reader cannot see but a model reads: controls, bidirectional marks, zero-width and filler
# characters, annotation and tag characters, lone surrogates, noncharacters.
_UNSEEN_CHARACTERS = (
    "\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_UNSEEN = re.compile(f"[{_UNSEEN_CHARACTERS}\ud800-\udfff]+")
SEEN = f"[^\\s\u200c\u200d{_SELECTORS}{_UNSEEN_CHARACTERS}]"
"""The pattern of one character that a reader can see: a text without any is empty once it is sanitized."""
# Selectors and joiners in a row at the start of a word belong to no character, whichever comes first.
_STRAY_STARTS = re.compile(f"(?:(?<=\\s)|^)[{_SELECTORS}\u200c\u200d]+", re.MULTILINE)
# One variation selector after a visible character chooses a glyph; a run of them carries hidden bytes.
_STRAY_SELECTORS = re.compile(f"(?<=[{_SELECTORS}])[{_SELECTORS}]+")
# Joiners shape Arabic, Persian, Indic scripts and emoji. After a Latin letter, a digit, a space or
# another joiner they shape nothing.
_STRAY_JOINERS = re.compile("(?<=[\x00-\u02ff\u2000-\u206f\u3000\u200c\u200d])[\u200c\u200d]+")
_HANDLED = re.compile(
    f"[{_UNSEEN_CHARACTERS}\ud800-\udfff{_SELECTORS}\u200c\u200d\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
)
"""Of what `sanitize` looks for, everything but blank lines. Most texts have none of it."""
# Anything shaped like the tags that mark a source, in any spelling a model might take for one.
_TAG_LOOK_ALIKE = re.compile(
    r"[<＜‹〈]\s{0,8}[/／]?\s{0,8}(?:source|question|answer|client|asker)\b(?:[^<>＜＞‹›〈〉\n]{0,100}[>＞›〉])?",
    re.IGNORECASE,
)
_GAP = "(…)"
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


def sanitize(text: str) -> str:
    """`text` without characters that a reader cannot see, line ends as `\\n`, at most one blank line in a row.

    Joiners stay where a script or an emoji needs them, and one variation selector for each character.
    Applying it twice changes nothing more.
    """
    if _HANDLED.search(text):
        text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))
        text = _STRAY_JOINERS.sub("", _STRAY_SELECTORS.sub("", _STRAY_STARTS.sub("", text)))
    return _BLANK_LINES.sub("\n\n", text).strip()


def scrub_for_prompt(text: str, boundary: str) -> str:
    """Untrusted `text`, sanitized, without anything that could end the tags around it in a prompt.

    `boundary` is the random string that the tags of this prompt carry. It, and whatever looks like a tag of a
    source, a question or an answer, is replaced by “(…)”, so that what is left on both sides cannot grow together.
    """
    return _TAG_LOOK_ALIKE.sub(_GAP, re.sub(re.escape(boundary), _GAP, sanitize(text), flags=re.IGNORECASE))


def encodable(text: str) -> str:
    """`text` as UTF-8 can hold it: surrogates that make a pair as their character, the others as �."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def json_without_surrogates(value: Any) -> Any:
    """A JSON value whose texts, names included, are as UTF-8 can hold them."""
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
    """The value of a cell of a CSV file: a text that a spreadsheet would run as a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def one_line(text: str, limit: int = TITLE_LIMIT) -> str:
    """`sanitize` text on a single line of at most `limit` characters, an ellipsis where it was cut."""
    return truncate(" ".join(sanitize(text).split()), limit)


def single_spaced(text: str) -> str:
    """`text` with one blank for each run of white space, and none at its ends."""
    if text.isprintable() and "  " not in text:
        return text.strip(" ")  # the same as below, in a third of the time
    return " ".join(text.split())


def letters(text: str) -> str:
    """The letters and digits of a text, as texts are compared that differ in spacing, marks and case alone."""
    return "".join(filter(str.isalnum, text.casefold()))


def has_words(text: str, words: str) -> bool:
    """Whether a text holds all of these words, in any order and letter case; without words any text does."""
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())


def folded_question(question: str) -> str:
    """A question as it is compared: white space, upper and lower case make no difference."""
    return single_spaced(encodable(question)).casefold()


def pluralize(number: float, noun: str, several: str = "") -> str:
    """`1 page`, `1,200 pages` or `2.5 seconds`; the plural is `plural`'s."""
    return f"{number:,{'' if isinstance(number, int) else 'g'}} {plural(number, noun, several)}"


def plural(number: float, noun: str, several: str = "") -> str:
    """A word as it follows this number: itself after 1, else `several`, by default with an -s, -es or -ies."""
    if number == 1:
        return noun
    if several:
        return several
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("ch", "sh", "x", "s")) else f"{noun}s"


def truncate(text: str, limit: int) -> str:
    """At most `limit` characters; a longer text ends at a clause or a word, followed by an ellipsis."""
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


_CLAUSE_END = re.compile(r"(?<=[,;:])(?=\s)|(?<=[，；：、])|\s+(?=[–—(])")
_WORD_END = re.compile(r"\s+")
_CONTINUES = re.compile(
    f"[{_SELECTORS}\u0300-\u036f\u0900-\u0903\u093a-\u094f\u200c\u200d\u20d0-\u20ff\U0001f3fb-\U0001f3ff]"
)
_HALF_CHARACTER = re.compile(f".[{_SELECTORS}\u0300-\u036f\u200c\u200d]*$", re.DOTALL)


def distinct_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels by key, each of them once, for choices that are told apart by their label alone.

    Of equal labels the last one stays as it is, and each one before it gets a number: where new items come first,
    the labels of the others do not change.
    """
    counts: Counter[str] = Counter()
    distinct: dict[str, str] = {}
    for key, label in reversed(list(labels.items())):
        counts[label] += 1
        distinct[key] = f"{label} ({counts[label]})" if counts[label] > 1 else label
    return {key: distinct[key] for key in labels}
