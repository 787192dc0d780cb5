"""Find a sentence that a person pasted in the texts of a run, exactly or as nearly as it stands there."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.text.scripts import UNSPACED

NEAR = 0.6
"""The least share of the sought words, weighed by rarity, that a stretch of text must hold to be called near."""

LONGEST = 2000
"""Characters of the pasted text that are looked for."""

# Words; in scripts without spaces between them, single characters.
_WORD = re.compile(f"[{UNSPACED}]|[^\\W_{UNSPACED}]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Where it stands: `texts[key][start:end]`. `likeness` is 1 for the very words, in any case and spacing."""

    key: str
    start: int
    end: int
    likeness: float


def matches(sought: str, texts: Mapping[str, str]) -> tuple[Match, ...]:
    """Every text that holds the very words, each once; where none does, the one that comes nearest, if any.

    Nearness is the greatest share of the sought words inside a window of as many words, each word weighed
    by log(1 + all words / its number). Linear in the length of the texts.
    """
    wanted = [word for word, _, _ in _words(sought[:LONGEST])]
    if not wanted:
        return ()
    read = {key: _words(text) for key, text in texts.items()}
    needle = f" {' '.join(wanted)} "
    exact = tuple(match for key, words in read.items() if (match := _exact(key, words, needle, len(wanted))))
    if exact or len(wanted) < 3:
        return exact
    counts = Counter(word for words in read.values() for word, _, _ in words)
    total = counts.total()
    weights = {word: math.log1p(total / max(counts[word], 1)) for word in wanted}
    near = [match for key, words in read.items() if (match := _near(key, words, wanted, weights))]
    best = max(near, key=lambda match: match.likeness, default=None)
    return (best,) if best and best.likeness >= NEAR else ()


Words = Sequence[tuple[str, int, int]]


def _words(text: str) -> Words:
    return [(_folded(found.group()), found.start(), found.end()) for found in _WORD.finditer(text)]


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def _exact(key: str, words: Words, needle: str, count: int) -> Match | None:
    line = f" {' '.join(word for word, _, _ in words)} "
    at = line.find(needle)
    if at < 0:
        return None
    starts, reached = [], 0
    for word, _, _ in words:
        starts.append(reached)
        reached += len(word) + 1
    first = bisect_right(starts, at) - 1
    return Match(key=key, start=words[first][1], end=words[first + count - 1][2], likeness=1.0)


def _near(key: str, words: Words, wanted: Sequence[str], weights: Mapping[str, float]) -> Match | None:
    """The window of as many words as are wanted that holds most of their weight."""
    lacking = Counter(wanted)
    whole = sum(weights[word] for word in wanted)
    window: deque[int] = deque()
    held = best = 0.0
    span = (0, 0)
    for at, (word, _, _) in enumerate(words):
        if word in lacking:
            window.append(at)
            held += weights[word] if lacking[word] > 0 else 0.0
            lacking[word] -= 1
        if window and window[0] <= at - len(wanted):
            gone = words[window.popleft()][0]
            lacking[gone] += 1
            held -= weights[gone] if lacking[gone] > 0 else 0.0
        if held > best + 1e-9:
            best, span = held, (window[0], at)
    if not best:
        return None
    return Match(key=key, start=words[span[0]][1], end=words[span[1]][2], likeness=best / whole)
