"""Find positions to cut a text: between sentences, in long sentences, and for overlaps.

Characters that a reader sees as one are not separated, except in a cluster larger than a passage. White space at a cut
belongs to neither side.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from core.text.sentences import sentences
from core.text.tokenization import HANGUL, TIBETAN, UNSPACED, YI

Span = tuple[int, int]

_WORDED = 25
"""The minimum letters and digits of a passage that is not near-empty.

A character of a script with one or two characters per word counts as three.
"""

_LETTERS = re.compile(r"(?:[\W_]*[^\W_]){25}")
_UNSPACED = f"{UNSPACED}{TIBETAN}{YI}"
_DENSE = re.compile(f"[{HANGUL}{_UNSPACED}]")
_RUN_ON = re.compile(f"[{_UNSPACED}\u3000-\u303f\u30a0\u30fb\uff00-\uffef]")
# Two such neighbours are never one cluster, so most cuts need no closer look.
_APART = re.compile("[\x20-\x7e\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uff01-\uff60]{2}")
_LINE = re.compile(r"\s*\n")
_LINES = re.compile(r"[^\n]+")
_CLAUSE = re.compile(r"(?<=[,;:])\s+|(?<=[、，；：])\s*|\s+(?=[–—(])")
_SPACE = re.compile(r"\s+")


_remembered = lru_cache(maxsize=512)(sentences)
"""Sentences are cached because changing the passage size splits the same texts again, which is most of the work."""
_LONGEST = 60_000
"""The maximum characters of a text whose sentences are cached. A few large texts would fill the memory."""


def has_words(text: str, start: int, end: int) -> bool:
    """Check for enough letters and digits to be meaningful."""
    if _LETTERS.match(text, start, end):
        return True
    piece = text[start:end]
    return sum(map(str.isalnum, piece)) + 2 * len(_DENSE.findall(piece)) >= _WORDED


def units(text: str, size: int, limit: int) -> Iterator[Span]:
    """Yield the text's sentences, cutting long sentences.

    Sentences longer than `size` are cut into pieces of at most `limit` characters. Units are in order, with only white
    space between them.
    """
    pending: Span | None = None
    for start, end in _remembered(text) if len(text) <= _LONGEST else sentences(text):
        if pending is None:
            pending = start, end
        elif pending[1] == start and _cluster_end(text, start - 1) > start:
            pending = (
                pending[0],
                end,
            )  # the stop carries a mark of its own: no cut inside what a reader sees as one
        else:
            yield from _pieces(text, *pending, size, limit)
            pending = start, end
    if pending is not None:
        yield from _pieces(text, *pending, size, limit)


def structured_units(text: str, structures: Sequence[Span], size: int, limit: int) -> Iterator[Span]:
    """Yield units, keeping small tables and code whole.

    Tables and code of more than `size` characters are split into lines. `structures` are the spans of tables and code,
    in order and disjoint.
    """
    done = 0
    for start, end in (*structures, (len(text), len(text))):
        yield from _shifted_units(text, done, start, size, limit)
        fits = end - start <= size
        for first, last in (
            [(start, end)] if fits else (line.span() for line in _LINES.finditer(text, start, end))
        ):
            if last - first > size:
                yield from _shifted_units(text, first, last, size, limit)
            elif piece := text[first:last].strip():
                begin = text.index(piece[0], first)
                yield begin, begin + len(piece)
        done = end


def _shifted_units(text: str, start: int, end: int, size: int, limit: int) -> Iterator[Span]:
    """Yield the units of a part of the text."""
    for first, last in units(text[start:end], size, limit):
        yield start + first, start + last


def word_from(text: str, earliest: int, known: int, following: int) -> int:
    """Find the first word from `earliest` on. It begins before `following`, else that is returned.

    In a script without spaces any character will do. `known` is an earlier start of a unit.
    """
    for space in _SPACE.finditer(text, earliest - 1, following):
        if earliest <= space.end() < following:
            return space.end()
    if _RUN_ON.match(text, earliest):
        return _cluster_from(text, known, earliest, following)
    return following


def _pieces(text: str, start: int, end: int, size: int, limit: int) -> Iterator[Span]:
    if end - start > size:
        while end - start > limit:
            count = -(-(end - start) // limit)
            high = start + min(limit, (end - start) // count + limit // 10)
            cut, following = best_cut(text, start, high)
            yield start, cut
            start = following
    yield start, end


def best_cut(text: str, start: int, high: int) -> Span:
    """Find the best cut at or before `high`.

    Returns one piece's end and the next piece's start. In order of preference, the cut is at a line's end, a clause's
    or a word's, each not far from `high`. In a script without spaces, it is between any two characters. Otherwise it is
    at any earlier word's end, else between grapheme clusters.
    """
    low = start + (high - start) * 3 // 5
    for boundary in (_LINE, _CLAUSE, _SPACE):
        cut = max((match.start() for match in boundary.finditer(text, low, high + 1)), default=0)
        if cut:
            return _around(text, start, cut)
    if not _RUN_ON.match(text, high - 1):
        cut = max((match.start() for match in _SPACE.finditer(text, start + 1, low + 1)), default=0)
        if cut:
            return _around(text, start, cut)
    return _around(text, start, _cluster_before(text, start, high))


def _around(text: str, start: int, position: int) -> Span:
    """Return a cut's two edges without white space. They end the text before `position` and begin the text after it."""
    space = _SPACE.match(text, position)
    return start + len(text[start:position].rstrip()), space.end() if space else position


def _cluster_before(text: str, start: int, high: int) -> int:
    """Find the last grapheme cluster boundary before `high`.

    It is in `(start, high]`. Inside a larger cluster it is `high`.
    """
    if _APART.match(text, high - 1):
        return high
    last = start
    for match in _grapheme().finditer(text, start, high + 1):
        last = match.start()
    return last if last > start else high


def _cluster_from(text: str, known: int, earliest: int, following: int) -> int:
    """Find the first grapheme cluster boundary from `earliest` on. It is counted from the boundary `known`."""
    if _APART.match(text, earliest - 1):
        return earliest
    for match in _grapheme().finditer(text, known, following):
        if match.start() >= earliest:
            return int(match.start())
    return following


def _cluster_end(text: str, start: int) -> int:
    match = _grapheme().match(text, start)
    return int(match.end()) if match else start


@cache
def _grapheme() -> Any:
    """Match extended grapheme clusters of Unicode (UAX 29)."""
    import regex  # most texts are cut without it

    return regex.compile(r"\X", regex.DOTALL)
