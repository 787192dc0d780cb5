"""Baseline text splitters: whole sentences, recursive separators, a fixed number of characters."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from core.stages.chunking.text_boundaries import Span, units

_SEPARATORS = tuple(
    map(re.compile, (r"\n\s*\n", r"\n", r"(?<=[.!?;])\s+|(?<=[\u3002\uff01\uff1f\uff1b])", r"\s+"))
)
"""Separators from coarse to fine: paragraphs, lines, sentences and clauses, words."""


def by_sentences(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Fill passages of at most `size` characters with sentences.

    Longer sentences are cut. A passage begins with the previous passage's last sentences, as many as fit into `overlap`
    characters.
    """
    return _filled(list(units(text, size, size)), size, overlap)


def by_separators(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Split recursively at paragraphs, lines, sentences, words and characters.

    Only pieces longer than `size` are split at the next finer separator. Neighbouring pieces of one level share a
    passage while they fit. A passage begins with the previous passage's last pieces, as many as fit into `overlap`
    characters.
    """
    return _split(text, (0, len(text)), size, overlap, _SEPARATORS)


def _split(
    text: str, span: Span, size: int, overlap: int, separators: Sequence[re.Pattern[str]]
) -> Iterator[Span]:
    if not separators:
        start, end = span
        for first, last in by_characters(text[start:end], size, overlap):
            yield start + first, start + last
        return
    pieces = _between(text, span, separators[0])
    for fits, some in groupby(pieces, lambda piece: piece[1] - piece[0] <= size):
        if fits:
            yield from _filled(list(some), size, overlap)
        else:
            for piece in some:
                yield from _split(text, piece, size, overlap, separators[1:])


def _between(text: str, span: Span, separator: re.Pattern[str]) -> Iterator[Span]:
    """Yield the stripped text between the separators."""
    start, end = span
    cuts = [(start, start), *(match.span() for match in separator.finditer(text, start, end)), (end, end)]
    for (_, first), (last, _) in pairwise(cuts):
        piece = text[first:last]
        if stripped := piece.strip():
            begin = first + piece.index(stripped[0])
            yield begin, begin + len(stripped)


def _filled(pieces: Sequence[Span], size: int, overlap: int) -> Iterator[Span]:
    """Join neighbouring pieces to at most `size` characters. No piece is longer than that."""
    first = 0
    while first < len(pieces):
        last = first
        while last + 1 < len(pieces) and pieces[last + 1][1] - pieces[first][0] <= size:
            last += 1
        end = pieces[last][1]
        yield pieces[first][0], end
        following = last + 1
        while (
            following < len(pieces)
            and following - 1 > first
            and end - pieces[following - 1][0] <= overlap
            and pieces[last + 1][1] - pieces[following - 1][0] <= size
        ):
            following -= 1
        first = following


def by_characters(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Yield a passage every `size - overlap` characters. Words may be cut. White space at its ends is stripped."""
    for at in range(0, max(len(text) - overlap, 1), size - overlap):
        piece = text[at : at + size]
        start = at + len(piece) - len(piece.lstrip())
        end = at + len(piece.rstrip())
        if end > start:
            yield start, end
