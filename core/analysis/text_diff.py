"""Sentence-level diff of two texts, and its display as blocks with long common stretches folded."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import groupby

from core.text.sentences import sentences

SHOWN_CHARACTERS = 150_000
"""Characters of a diff that are shown."""

FOLD_EDGE = 160
"""Characters that are shown at either end of a folded stretch."""


class DiffKind(StrEnum):
    """Which of two texts has a stretch."""

    COMMON = "common"
    REMOVED = "removed"
    """In the first text only."""
    ADDED = "added"
    """In the second text only; this includes text that is joined, unwrapped or spelt differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPiece:
    """A sentence with the text or texts that have it, and the numbers of the sources that it cites."""

    kind: DiffKind
    text: str
    cites: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffBlock:
    """Neighbouring pieces of one kind. `hidden` counts the characters folded between `text` and `rest`."""

    kind: DiffKind
    text: str
    hidden: int = 0
    rest: str = ""


def diff_sentences(first: Sequence[str], second: Sequence[str]) -> tuple[DiffPiece, ...]:
    """Diff two lists of sentences with difflib, in reading order. Letter case and white space are ignored."""
    matcher = SequenceMatcher(None, [_letters(text) for text in first], [_letters(text) for text in second])
    pieces: list[DiffPiece] = []
    for operation, start, end, other_start, other_end in matcher.get_opcodes():
        if operation == "equal":
            pieces += (DiffPiece(kind=DiffKind.COMMON, text=text) for text in first[start:end])
        else:
            pieces += (DiffPiece(kind=DiffKind.REMOVED, text=text) for text in first[start:end])
            pieces += (DiffPiece(kind=DiffKind.ADDED, text=text) for text in second[other_start:other_end])
    return tuple(pieces)


def line_sentences(text: str) -> list[str]:
    """The sentences of each line; the last of a line ends with a line feed, which a diff ignores.

    Extractors break lines in different places, but never put two lines into one sentence.
    """
    words: list[str] = []
    for line in text.splitlines():
        parts = [line[start:end] for start, end in sentences(line)]
        parts = [part for part in parts if any(map(str.isalnum, part))]
        words += [*parts[:-1], *(f"{part}\n" for part in parts[-1:])]
    return words


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def diff_blocks(
    pieces: Sequence[DiffPiece], *, folded: bool = False, limit: int = SHOWN_CHARACTERS
) -> tuple[DiffBlock, ...]:
    """Join neighbouring pieces of one kind to blocks, about `limit` characters in all.

    `folded` hides the middle of long common blocks.
    """
    blocks: list[DiffBlock] = []
    end = 0
    for kind, group in groupby(pieces, key=lambda piece: piece.kind):
        if end >= limit:
            break
        block = DiffBlock(kind=kind, text=_joined([piece.text for piece in group]))
        if folded and kind is DiffKind.COMMON:
            block = _folded(block)
        room = limit - end
        blocks.append(
            block if len(block.text) <= room else DiffBlock(kind=kind, text=f"{block.text[:room]} …")
        )
        end += len(block.text) + len(block.rest)
    return tuple(blocks)


def _joined(texts: Sequence[str]) -> str:
    """Sentences of one line have a space between them, and lines stay lines."""
    return "".join(text if text.endswith("\n") else f"{text} " for text in texts).rstrip()


def _folded(block: DiffBlock) -> DiffBlock:
    text = block.text
    if len(text) <= 3 * FOLD_EDGE:
        return block
    start, end = text[:FOLD_EDGE].rpartition(" ")[0], text[-FOLD_EDGE:].partition(" ")[2]
    return DiffBlock(kind=block.kind, text=start, hidden=len(text) - len(start) - len(end), rest=end)
