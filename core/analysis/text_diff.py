"""Sentence-level diff of two texts, and its blocks with long common parts folded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import groupby, repeat
from typing import TypeVar

from core.text.sanitize import letters
from core.text.sentences import sentences

Item = TypeVar("Item")

SHOWN_CHARACTERS = 150_000
"""The most characters of a diff to show."""

FOLD_EDGE = 160
"""Characters shown at either end of a folded part."""


class DiffKind(StrEnum):
    """Which of two texts has a part."""

    COMMON = "common"
    REMOVED = "removed"
    """In the first text only."""
    ADDED = "added"
    """In the second text only. Joined, unwrapped or differently spelt text counts too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffPiece:
    """A sentence with the texts that have it, and the numbers of its cited sources."""

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
    """Diff two lists of sentences with difflib, ignoring letter case and white space."""
    return tuple(DiffPiece(kind=kind, text=text) for kind, text, _ in aligned(first, second, str))


def aligned(
    first: Sequence[Item], second: Sequence[Item], text: Callable[[Item], str], *, autojunk: bool = True
) -> Iterator[tuple[DiffKind, Item, Item]]:
    """Yield the items of two lists in reading order.

    Common items are pairs, the others come twice. `autojunk` is difflib's.
    """
    matcher = SequenceMatcher(
        None, [letters(text(item)) for item in first], [letters(text(item)) for item in second], autojunk
    )
    for operation, start, end, other_start, other_end in matcher.get_opcodes():
        if operation == "equal":
            yield from zip(repeat(DiffKind.COMMON), first[start:end], second[other_start:other_end])
        else:
            yield from ((DiffKind.REMOVED, item, item) for item in first[start:end])
            yield from ((DiffKind.ADDED, item, item) for item in second[other_start:other_end])


def line_sentences(text: str) -> list[str]:
    """Return the sentences of each line. The last of a line ends with a line feed.

    A diff ignores the line feed. Extractors break lines in different places, but never put two lines into one sentence.
    """
    words: list[str] = []
    for line in text.splitlines():
        parts = [line[start:end] for start, end in sentences(line)]
        parts = [part for part in parts if any(map(str.isalnum, part))]
        words += [*parts[:-1], *(f"{part}\n" for part in parts[-1:])]
    return words


def diff_blocks(
    pieces: Sequence[DiffPiece], *, folded: bool = False, limit: int = SHOWN_CHARACTERS
) -> tuple[DiffBlock, ...]:
    """Join neighbouring pieces of one kind into blocks, about `limit` characters in all.

    `folded` hides the middle of long common blocks.
    """
    blocks: list[DiffBlock] = []
    end = 0
    for kind, group in groupby(pieces, key=lambda piece: piece.kind):
        if end >= limit:
            break
        texts = (piece.text if piece.text.endswith("\n") else f"{piece.text} " for piece in group)
        block = DiffBlock(kind=kind, text="".join(texts).rstrip())
        if folded and kind is DiffKind.COMMON:
            block = _folded(block)
        room = limit - end
        blocks.append(
            block if len(block.text) <= room else DiffBlock(kind=kind, text=f"{block.text[:room]} …")
        )
        end += len(block.text) + len(block.rest)
    return tuple(blocks)


def _folded(block: DiffBlock) -> DiffBlock:
    text = block.text
    if len(text) <= 3 * FOLD_EDGE:
        return block
    start, end = text[:FOLD_EDGE].rpartition(" ")[0], text[-FOLD_EDGE:].partition(" ")[2]
    return DiffBlock(kind=block.kind, text=start, hidden=len(text) - len(start) - len(end), rest=end)
