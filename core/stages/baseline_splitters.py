"""Baseline text splitters, for comparison: whole sentences, and a fixed number of characters."""

from __future__ import annotations

from collections.abc import Iterator

from core.stages.text_boundaries import Span, units


def by_sentences(text: str, size: int, overlap: int) -> Iterator[Span]:
    """Each passage filled up with whole sentences, at most `size` characters; longer sentences in pieces.

    The next begins with the last sentences of the one before, as many as `overlap` characters hold.
    """
    pieces = list(units(text, size, size))
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
    """A passage every `size - overlap` characters, through words and sentences, stripped of white space."""
    for at in range(0, max(len(text) - overlap, 1), size - overlap):
        piece = text[at : at + size]
        start = at + len(piece) - len(piece.lstrip())
        end = at + len(piece.rstrip())
        if end > start:
            yield start, end
