"""Sentence splitting, in linear time and without a model."""

import re
from collections.abc import Iterator

_SPACED = ".!?…؟۔։።"
"""Stops that need white space after them."""
_BARE = "。！？｡．।॥။‼⁇⁈⁉"
"""Stops that need no white space after them."""
_CLOSERS = r"[\"'»«”’›)\]}*_」』）】〉》]{0,8}"
_MARK = r"[ \t\xa0]{0,2}(?:\[\^?\d{1,4}(?:[\s,;–-]{1,3}\d{1,4}){0,20}\]|【\d{1,4}[^】\n]{0,40}】)"
# All of the citation marks or none: the blank before a mark does not end the tail.
_TAIL = rf"{_CLOSERS}(?:(?:{_MARK})+(?!{_MARK}){_CLOSERS}|(?!{_MARK}))"
# Where a sentence may end: at a stop, or at a break that ends any sentence. A character class comes first, so that the
# pattern engine skips all others. The text after a spaced stop is matched but not consumed, because it may hold another
# candidate. A row of stops is tried only at its first, so that a long row takes linear time.
_CANDIDATE = re.compile(
    rf"[{_SPACED}{_BARE}\n](?:"
    rf"(?<=[{_SPACED}])(?<![{_SPACED}]{{2}})[{_SPACED}]*(?=(?P<tail>{_TAIL})(?:(?=\s)|\Z)"
    r"\s*[\"'“”‘«‹(\[{¿¡*_]{0,4}(?P<initial>\w?)(?P<rest>\w{0,12}))"
    rf"|(?<=[{_BARE}])[{_BARE}]*{_TAIL}"
    r"|(?<=\n)[^\S\n]*(?:\n\s*|(?=(?:[-*+•‣▪◦–—]|\d{1,3}[.)]|\#{1,6}|>|\|)\s|```)))"
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
# Abbreviations that are words too: they continue a sentence only before a number.
_ALSO_WORDS = _set("no art sat sun mar may ed sec fig p")
# German writes dates and centuries with a dot after the number.
_AFTER_ORDINALS = _set(
    "januar februar märz april mai juni juli august september oktober november dezember jahrhundert jahrhunderts"
)
# Words that usually open a sentence rather than follow an initial or an acronym.
_OPENERS = _set(
    "the a an this that these those it its he she they we you i in on at for from by as if when while after "
    "before however but and or so there here his her their our my what which who how why where one some many "
    "most all both each der die das ein eine es er sie wir le la les un une il elle el los las una"
)


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return the sentences of `text` as `(start, end)` offsets.

    Only white space is between sentences. A blank line and the start of a list item, heading, quote or table row end a
    sentence. A single line break does not. Abbreviations, initials, decimals and list numbers do not either. Closing
    quotes and citation marks such as `[3]` after the stop belong to the sentence before them. Text without stops is one
    sentence.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*_ends(text), len(text)):
        piece = text[start:end]
        leading = len(piece) - len(piece.lstrip())
        right = len(piece.rstrip())
        if right > leading:
            spans.append((start + leading, start + right))
        start = end
    return tuple(spans)


def _ends(text: str) -> Iterator[int]:
    """Yield the offsets of sentence ends, ascending."""
    reached = sentence = 0
    for match in _CANDIDATE.finditer(text):
        stop_start, end = match.span()
        if stop_start < reached:
            continue
        stop = match.group()
        if stop[0] == "\n":
            reached = sentence = end
            yield stop_start
        elif stop[0] in _BARE:
            reached = sentence = end
            yield end
        else:
            tail, initial, rest = match.groups()
            if not initial.islower() and (
                stop != "." or _is_full_stop(text, sentence, stop_start, initial, rest)
            ):
                reached = sentence = end + len(tail)
                yield reached


def _is_full_stop(text: str, sentence: int, stop_start: int, initial: str, rest: str) -> bool:
    """Return whether a dot ends a sentence, not only an abbreviation, initial or list number.

    `sentence` is the start of the sentence, `stop_start` the offset of the dot. `initial` and `rest` are the next word.
    """
    before = text[max(sentence, stop_start - 20) : stop_start]
    if before[-_LONG_WORD:].isalpha() and len(before) >= _LONG_WORD:
        return True  # most dots, decided without a closer look
    word = _LAST_WORD.search(before)
    if not word:
        return True
    if stop_start - 20 <= sentence and _LIST_NUMBER.match(before):
        return False
    bare = word.group().replace(".", "").lower()
    if bare in _NEVER_LAST:
        return bare in _ALSO_WORDS and not initial.isdigit()
    if len(bare) <= 2 and bare.isdigit() and (initial + rest).lower() in _AFTER_ORDINALS:
        return False
    if len(bare) > 1 and not ("." in word.group() and len(bare) <= 4):
        return True
    if word.group().isdigit() or word.group() == bare:
        return True
    return not initial or (initial + rest).lower() in _OPENERS
