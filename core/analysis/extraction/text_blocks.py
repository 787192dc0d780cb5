"""The X-ray of a page as blocks of text that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from core.analysis.extraction.extractor_comparison import PagePart, Piece

MOST = 150_000
"""Characters that are shown of a comparison."""

EDGE = 160
"""Characters that are shown on either side of a stretch that both have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Neighbouring pieces of one part. `hidden` counts the characters between `text` and `rest`."""

    part: PagePart
    text: str
    hidden: int = 0
    rest: str = ""


def blocks(pieces: Sequence[Piece], *, folded: bool = False, most: int = MOST) -> tuple[Block, ...]:
    """The pieces joined to stretches of one part, about `most` characters of them in all.

    `folded` leaves out the middle of what both texts have.
    """
    found: list[Block] = []
    shown = 0
    for part, group in groupby(pieces, key=lambda piece: piece.part):
        if shown >= most:
            break
        block = Block(part=part, text=_joined([piece.text for piece in group]))
        if folded and part is PagePart.KEPT:
            block = _folded(block)
        room = most - shown
        found.append(block if len(block.text) <= room else Block(part=part, text=f"{block.text[:room]} …"))
        shown += len(block.text) + len(block.rest)
    return tuple(found)


def _joined(texts: Sequence[str]) -> str:
    """Sentences of one line have a space between them, and lines stay lines."""
    return "".join(text if text.endswith("\n") else f"{text} " for text in texts).rstrip()


def _folded(block: Block) -> Block:
    text = block.text
    if len(text) <= 3 * EDGE:
        return block
    start, end = text[:EDGE].rpartition(" ")[0], text[-EDGE:].partition(" ")[2]
    return Block(part=block.part, text=start, hidden=len(text) - len(start) - len(end), rest=end)
