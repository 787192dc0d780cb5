"""Text as strangers wrote it, made safe to place in a prompt or on one line, and cut into sentences.

Pure functions in linear time. Nothing here knows a page, a passage or a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TITLE_LIMIT = 200
"""The longest title that is shown or sent, in characters."""

CHARACTERS_A_TOKEN = 4
"""An estimate for English, where nobody has counted; other languages need more tokens for the same characters."""

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"

# What a reader cannot see but a model reads: controls, bidirectional marks, zero-width and filler
# characters, annotation and tag characters, lone surrogates, noncharacters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]+"
)
# Selectors and joiners in a row at the start of a word belong to no character, whichever comes first.
_STRAY_STARTS = re.compile(f"(?:(?<=\\s)|^)[{_SELECTORS}\u200c\u200d]+", re.MULTILINE)
# One variation selector after a visible character chooses a glyph; a run of them carries hidden bytes.
_STRAY_SELECTORS = re.compile(f"(?<=[{_SELECTORS}])[{_SELECTORS}]+")
# Joiners shape Arabic, Persian, Indic scripts and emoji. After a Latin letter, a digit, a space or
# another joiner they shape nothing.
_STRAY_JOINERS = re.compile("(?<=[\x00-\u02ff\u2000-\u206f\u3000\u200c\u200d])[\u200c\u200d]+")
_BLANK_LINES = re.compile(r"\n[^\S\n]*+(?:\n[^\S\n]*+)++")


def plain(text: str) -> str:
    """`text` without characters that a reader cannot see, line ends as `\\n`, at most one blank line in a row.

    Joiners stay where a script or an emoji needs them, and one variation selector for each character.
    Applying it twice changes nothing more.
    """
    text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))
    text = _STRAY_JOINERS.sub("", _STRAY_SELECTORS.sub("", _STRAY_STARTS.sub("", text)))
    return _BLANK_LINES.sub("\n\n", text).strip()


def encodable(text: str) -> str:
    """`text` as UTF-8 can hold it: surrogates that make a pair as their character, the others as �."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def one_line(text: str, limit: int = TITLE_LIMIT) -> str:
    """`plain` text on a single line of at most `limit` characters, an ellipsis where it was cut."""
    return shortened(" ".join(plain(text).split()), limit)


def single_spaced(text: str) -> str:
    """`text` with one blank for each run of white space, and none at its ends."""
    if text.isprintable() and "  " not in text:
        return text.strip(" ")  # the same as below, in a third of the time
    return " ".join(text.split())


def counted(number: int, what: str) -> str:
    """`1 page` or `1,200 pages`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters; a longer text ends at a clause or a word, followed by an ellipsis."""
    if len(text) <= limit:
        return text
    room = text[: max(limit - 1, 0)]
    for boundary in (_CLAUSE_END, _WORD_END):
        ends = [found.start() for found in boundary.finditer(room, len(room) // 2)]
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


# --- sentences --------------------------------------------------------------------------------------------

_SPACED = ".!?…؟۔։።"
"""Stops that need white space after them."""
_BARE = "。！？｡．।॥။‼⁇⁈⁉"
"""Stops that do not."""
_CLOSERS = r"[\"'»«”’›)\]}*_」』）】〉》]{0,8}+"
_MARKS = r"(?>(?:[ \t\xa0]{0,2}(?:\[\^?\d{1,4}(?:[\s,;–-]{1,3}\d{1,4}){0,20}\]|【\d{1,4}[^】\n]{0,40}】))+)"
_TAIL = rf"{_CLOSERS}(?:{_MARKS}{_CLOSERS})?+"
# Where a sentence may end: at a stop, or at a break that ends any sentence. One class of characters comes
# first, so that the pattern engine passes over all others. What follows a spaced stop is looked at in the
# same match and not consumed: it may hold a candidate of its own.
_CANDIDATE = re.compile(
    rf"[{_SPACED}{_BARE}\n](?:"
    rf"(?<=[{_SPACED}])[{_SPACED}]*+(?=(?P<tail>{_TAIL})(?:(?=\s)|\Z)"
    r"\s*+[\"'“”‘«‹(\[{¿¡*_]{0,4}+(?P<initial>\w?+)(?P<rest>\w{0,12}+))"
    rf"|(?<=[{_BARE}])[{_BARE}]*+{_TAIL}"
    r"|(?<=\n)[^\S\n]*+(?:\n\s*+|(?=(?:[-*+•‣▪◦–—]|\d{1,3}[.)]|\#{1,6}|>|\|)\s|```)))"
)
_LAST_WORD = re.compile(r"[^\W_][\w.’'-]{0,18}$")
_LIST_NUMBER = re.compile(r"\s*\d{1,3}$")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NEVER_LAST = _set(
    # English
    "mr mrs ms dr prof st rev hon gen col capt lt sgt sen rep gov pres messrs mt vs eg ie cf viz al approx ca "
    "fig figs eq eqs sec secs ch chap vol vols ed eds trans pp no nos art para ref refs ver resp incl excl esp "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun dept univ assn bros "
    # German, French, Spanish, Italian
    "bzw vgl evtl ggf sog bspw nr abb kap hrsg jh bd str tel zb ua dh usf mme mlle sr sra srta dott sig pag "
    "env av p"
)
_LONG_WORD = 1 + max(map(len, _NEVER_LAST))
# Abbreviations that are words too: they hold a sentence open only before a number.
_ALSO_WORDS = _set("no art sat sun mar may ed sec fig p")
# Words that open a sentence far more often than they follow an initial or an acronym.
_OPENERS = _set(
    "the a an this that these those it its he she they we you i in on at for from by as if when while after "
    "before however but and or so there here his her their our my what which who how why where one some many "
    "most all both each der die das ein eine es er sie wir le la les un une il elle el los las una"
)


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """The sentences of `text` as `(start, end)` offsets, in order, without white space at either end.

    Between two sentences stands nothing but white space. A blank line and the start of a list item,
    heading, quote or table row end a sentence; a single line break does not. Abbreviations, initials,
    decimals and list numbers do not end one. Closing quotes and citation marks such as `[3]` after the
    stop belong to the sentence before them. Text without stops is one sentence.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*_ends(text), len(text)):
        piece = text[start:end]
        left = len(piece) - len(piece.lstrip())
        right = len(piece.rstrip())
        if right > left:
            spans.append((start + left, start + right))
        start = end
    return tuple(spans)


def _ends(text: str) -> Iterator[int]:
    """Offsets at which a sentence ends, ascending."""
    done = sentence = 0
    for found in _CANDIDATE.finditer(text):
        at, end = found.span()
        if at < done:
            continue
        stop = found.group()
        if stop[0] == "\n":
            done = sentence = end
            yield at
        elif stop[0] in _BARE:
            done = sentence = end
            yield end
        else:
            tail, initial, rest = found.groups()
            if not initial.islower() and (stop != "." or _is_full_stop(text, sentence, at, initial, rest)):
                done = sentence = end + len(tail)
                yield done


def _is_full_stop(text: str, sentence: int, at: int, initial: str, rest: str) -> bool:
    """Whether the dot at `at` is more than the mark of an abbreviation, an initial or a list number.

    The sentence so far began at `sentence`; `initial` and `rest` are the word that follows.
    """
    before = text[max(sentence, at - 20) : at]
    if before[-_LONG_WORD:].isalpha() and len(before) >= _LONG_WORD:
        return True  # as most are, and known without a closer look
    word = _LAST_WORD.search(before)
    if not word:
        return True
    if at - 20 <= sentence and _LIST_NUMBER.match(before):
        return False
    bare = word.group().replace(".", "").lower()
    if bare in _NEVER_LAST:
        return bare in _ALSO_WORDS and not initial.isdigit()
    if len(bare) > 1 and not ("." in word.group() and len(bare) <= 4):
        return True
    if word.group().isdigit() or word.group() == bare:
        return True
    return not initial or (initial + rest).lower() in _OPENERS
