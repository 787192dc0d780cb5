"""Exact and approximate search for a pasted text in the texts of a run."""

import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.text.tokenization import UNSPACED

MINIMUM_SIMILARITY = 0.6
"""The least weighted share of the query's words in an approximate match. Rare words weigh more."""

LONGEST_QUERY = 2000
"""The most characters of the pasted text to search for."""

# Words; in scripts without spaces between them, single characters.
_WORD = re.compile(f"[{UNSPACED}]|[^\\W_{UNSPACED}]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A match at `texts[key][start:end]`. `similarity` is 1 for an exact match, in any letter case and spacing."""

    key: str
    start: int
    end: int
    similarity: float


def matches(query: str, texts: Mapping[str, str]) -> tuple[Match, ...]:
    """Return the first exact match in each text, or else the best approximate match.

    Similarity is the greatest share of the query's words inside a window of the same length. Each word is weighted by
    log(1 + all words / its count). The time is linear in the length of the texts.
    """
    query_words = [word for word, _, _ in _words(query[:LONGEST_QUERY])]
    if not query_words:
        return ()
    read = {key: _words(text) for key, text in texts.items()}
    needle = f" {' '.join(query_words)} "
    exact = tuple(
        match for key, words in read.items() if (match := _exact(key, words, needle, len(query_words)))
    )
    if exact or len(query_words) < 3:
        return exact
    counts = Counter(word for words in read.values() for word, _, _ in words)
    total = counts.total()
    weights = {word: math.log1p(total / max(counts[word], 1)) for word in query_words}
    approximate = [
        match for key, words in read.items() if (match := _approximate(key, words, query_words, weights))
    ]
    best = max(approximate, key=lambda match: match.similarity, default=None)
    return (best,) if best and best.similarity >= MINIMUM_SIMILARITY else ()


Words = Sequence[tuple[str, int, int]]


def _words(text: str) -> Words:
    return [(_folded(word.group()), word.start(), word.end()) for word in _WORD.finditer(text)]


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def _exact(key: str, words: Words, needle: str, count: int) -> Match | None:
    line = f" {' '.join(word for word, _, _ in words)} "
    start = line.find(needle)
    if start < 0:
        return None
    starts, reached = [], 0
    for word, _, _ in words:
        starts.append(reached)
        reached += len(word) + 1
    first = bisect_right(starts, start) - 1
    return Match(key=key, start=words[first][1], end=words[first + count - 1][2], similarity=1.0)


def _approximate(
    key: str, words: Words, query_words: Sequence[str], weights: Mapping[str, float]
) -> Match | None:
    """Find the window with the most query weight. The window has the query's length."""
    missing = Counter(query_words)
    whole = sum(weights[word] for word in query_words)
    window: deque[int] = deque()
    weight_found = best = 0.0
    span = (0, 0)
    for end, (word, _, _) in enumerate(words):
        if word in missing:
            window.append(end)
            weight_found += weights[word] if missing[word] > 0 else 0.0
            missing[word] -= 1
        if window and window[0] <= end - len(query_words):
            dropped = words[window.popleft()][0]
            missing[dropped] += 1
            weight_found -= weights[dropped] if missing[dropped] > 0 else 0.0
        if weight_found > best + 1e-9:
            best, span = weight_found, (window[0], end)
    if not best:
        return None
    return Match(key=key, start=words[span[0]][1], end=words[span[1]][2], similarity=best / whole)
