"""Blocks that a person keeps in a page's article. Each is inserted in the order of the page."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Sequence

from core.reading.html.dom_cleaning import remove_hidden_lxml
from core.reading.html.html_parsing import parse_html
from core.reading.html.text_blocks import Block, page_blocks
from core.reading.normalization import normalize, text_key
from core.reading.page_parts.structures import Span, html_structures, write_structures

_STRUCTURES = frozenset({"pre", "table"})
_LINE_CHARACTERS, _SIGN_CHARACTERS = 200, 40
"""Characters of a line to read, and letters and digits that identify it."""


def keep_blocks(
    html: str, text: str, structures: tuple[Span, ...], wanted: Sequence[str]
) -> tuple[str, tuple[Span, ...], tuple[tuple[int, int], ...]]:
    """Add blocks with the wanted texts to an article.

    Returns the text, its structures, and the spans of the blocks. A text that the article has, or that is
    missing on the page, changes nothing. Hidden blocks are searched last.

    Raises:
        Unreadable: when no parser reads the page.
    """
    kept: list[tuple[int, int]] = []
    if not wanted:
        return text, structures, ()
    tree = parse_html(html)
    remove_hidden_lxml(tree)
    sides = page_blocks(tree), page_blocks(parse_html(html))
    for key in filter(None, map(text_key, wanted)):
        places = ((blocks, number) for blocks in sides if (number := _number(blocks, key)) is not None)
        if key in text_key(text) or (block_place := next(places, None)) is None:
            continue
        blocks, number = block_place
        added, added_structures = written_block(blocks[number])
        if text_key(added) in text_key(text):
            continue
        place = _place(text, structures, blocks, number)
        before, after = text[:place].rstrip("\n"), text[place:].lstrip("\n")
        start = len(before) + (2 if before else 0)
        joined = "\n\n".join(filter(None, (before, added, after)))
        shift = len(joined) - len(text)

        def moved(offset: int, place: int = place, shift: int = shift) -> int:
            return offset + shift if offset >= place else offset

        shown = [(moved(begin), moved(begin) + end - begin, kind) for begin, end, kind in structures]
        shown += [(start + begin, start + end, kind) for begin, end, kind in added_structures]
        kept = [(moved(begin), moved(begin) + end - begin) for begin, end in kept]
        kept.append((start, start + len(added)))
        text, structures = joined, tuple(sorted(shown))
    return text, structures, tuple(sorted(kept))


def written_block(block: Block) -> tuple[str, tuple[Span, ...]]:
    """Return a block's text in the form of articles, with its table or code."""
    text = normalize(block.text)
    if block.element.tag not in _STRUCTURES:
        return text, ()
    return write_structures(text, html_structures(block.element))


def _number(blocks: Sequence[Block], key: str) -> int | None:
    """Return the index of the shortest block with a text, or None."""
    having = (
        number
        for number, block in enumerate(blocks)
        if key in text_key(block.text)
        or (block.element.tag in _STRUCTURES and key in text_key(written_block(block)[0]))
    )
    return min(having, key=lambda number: len(blocks[number].text), default=None)


def _place(text: str, structures: Sequence[Span], blocks: Sequence[Block], number: int) -> int:
    """Return the offset at which a block belongs in the text.

    It is after the closest earlier block that is a line of the text, else before the closest later block,
    else at the end. It is never within a table or code.
    """
    positions, lines = defaultdict[str, list[int]](list), defaultdict[str, list[tuple[int, int]]](list)
    for position, block in enumerate(blocks):
        positions[_sign(block.text)].append(position)
    start = 0
    for line in text.split("\n"):
        lines[_sign(line)].append((start, start + len(line)))
        start += len(line) + 1
    before, after = (-1, -1), (len(blocks), len(text))
    for sign, spans in lines.items():
        like = positions.get(sign, []) if sign else []
        passed = bisect(like, number)
        if not like or number in like or (0 < passed < len(like) != len(spans)):
            continue  # which of the blocks with these words the article has is not known
        if passed:
            before = max(before, (like[passed - 1], spans[min(passed, len(spans)) - 1][1]))
        if passed < len(like):
            after = min(after, (like[passed], spans[min(passed, len(spans) - 1)][0]))
    place = after[1] if before[1] < 0 else before[1]
    return next((end for begin, end, _ in structures if begin < place < end), place)


def _sign(text: str) -> str:
    """Return the letters and digits that identify a line of a page."""
    line = text.lstrip().partition("\n")[0][:_LINE_CHARACTERS]
    return "".join(filter(str.isalnum, line)).casefold()[:_SIGN_CHARACTERS]
