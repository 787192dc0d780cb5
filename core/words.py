"""Text as strangers wrote it, made safe to place in a prompt or on one line, and cut into sentences.

Pure functions in linear time. Nothing here knows a page, a passage or a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TITLE_LIMIT = 200
"""The longest title that is shown or sent, in characters."""

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"

# What a reader cannot see but a model reads: controls, bidirectional marks, zero-width and filler
# characters, annotation and tag characters, lone surrogates, noncharacters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]+"
)
# One variation selector after a visible character chooses a glyph; a run of them carries hidden bytes.
_STRAY_SELECTORS = re.compile(f"(?:(?<=[{_SELECTORS}\\s])|^)[{_SELECTORS}]+", re.MULTILINE)
# Joiners shape Arabic, Persian, Indic scripts and emoji. After a Latin letter, a digit, a space or
# another joiner they shape nothing.
_STRAY_JOINERS = re.compile("(?:(?<=[\x00-\u02ff\u2000-\u206f\u3000\u200c\u200d])|^)[\u200c\u200d]+")
_BLANK_LINES = re.compile(r"\n[^\S\n]*+(?:\n[^\S\n]*+)++")


def plain(text: str) -> str:
    """`text` without characters that a reader cannot see, line ends as `\\n`, at most one blank line in a row.

    Joiners stay where a script or an emoji needs them, and one variation selector for each character.
    Applying it twice changes nothing more.
    """
    text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))
    text = _STRAY_JOINERS.sub("", _STRAY_SELECTORS.sub("", text))
    return _BLANK_LINES.sub("\n\n", text).strip()


def one_line(text: str, limit: int = TITLE_LIMIT) -> str:
    """`plain` text on a single line of at most `limit` characters, an ellipsis where it was cut."""
    return shortened(" ".join(plain(text).split()), limit)


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

# A stop that needs white space after it, a stop that does not, and a break that ends any sentence.
_CANDIDATE = re.compile(
    r"(?P<spaced>[.!?…؟۔։።]++)"
    r"|(?P<bare>[。！？｡．।॥။។‼⁇⁈⁉]++)"
    r"|(?P<line>\n[^\S\n]*+(?:\n\s*+|(?=(?:[-*+•‣▪◦–—]|\d{1,3}[.)]|\#{1,6}|>|\|)\s|```)))"
)
_CLOSERS = re.compile(r"[\"'»«”’›)\]}*_」』）】〉》]{0,8}")
_MARKS = re.compile(
    r"(?:[ \t\xa0]{0,2}(?:\[\^?\d{1,4}(?:[\s,;–-]{1,3}\d{1,4}){0,20}\]|【\d{1,4}[^】\n]{0,40}】))+"
)
_NEXT = re.compile(r"\s*+[\"'“”‘«‹(\[{¿¡*_]{0,4}(\w?)(\w{0,12})")
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
        at = found.start()
        if at < done:
            continue
        if found.lastgroup == "line":
            done = sentence = found.end()
            yield at
            continue
        end = found.end()
        end = _CLOSERS.match(text, end).end()  # type: ignore[union-attr]  # matches the empty string
        marks = _MARKS.match(text, end)
        if marks:
            end = _CLOSERS.match(text, marks.end()).end()  # type: ignore[union-attr]
        if found.lastgroup == "bare" or _ends_here(text, sentence, at, found.group(), end):
            done = sentence = end
            yield end


def _ends_here(text: str, sentence: int, at: int, stop: str, end: int) -> bool:
    """Whether the stop at `at`, whose closers and marks reach to `end`, ends the sentence begun at `sentence`."""
    if end < len(text) and not text[end].isspace():
        return False
    following = _NEXT.match(text, end)
    initial, rest = following.groups() if following else ("", "")
    if initial.islower():
        return False
    return stop != "." or _is_full_stop(text[max(sentence, at - 20) : at], at - 20 <= sentence, initial, rest)


def _is_full_stop(before: str, whole: bool, initial: str, rest: str) -> bool:
    """Whether a single dot is more than the mark of an abbreviation, an initial or a list number.

    `before` is the sentence so far (all of it when `whole`), `initial` and `rest` the word that follows.
    """
    word = _LAST_WORD.search(before)
    if not word:
        return True
    if whole and _LIST_NUMBER.match(before):
        return False
    bare = word.group().replace(".", "").lower()
    if bare in _NEVER_LAST:
        return bare in _ALSO_WORDS and not initial.isdigit()
    if len(bare) > 1 and not ("." in word.group() and len(bare) <= 4):
        return True
    if word.group().isdigit() or word.group() == bare:
        return True
    return not initial or (initial + rest).lower() in _OPENERS
