"""Lists that a paragraph of a page introduces, which are read with it.

Extractors take a short list at the end of a page for links to other pages. The paragraph above it tells that it is text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import lxml.html
from numpy.typing import NDArray

from core.reading.html.text_blocks import Block, write_blocks
from core.reading.page_parts.block_words import SAYS, WORDS, BlockWords

_LISTS = frozenset({"dl", "ol", "ul"})
_PARAGRAPHS = frozenset({"article", "body", "div", "main", "p", "section", "td"})
"""Elements around the text of a paragraph, which need not be marked as one."""
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_COLONS = (":", "：")
_CONTROLS = frozenset(
    {"listbox", "menu", "menubar", "navigation", "radiogroup", "tablist", "toolbar", "tree"}
)
"""Roles of lists that operate a page."""
_RELATED = list(SAYS).index("related")
_LIKE_ITS_PARAGRAPH = 0.95
"""Score of a list, as a share of its paragraph's."""
_MIN_SCORE, _ENDING = 0.5, 8
"""The lowest score of a list to add, and the words by which its paragraph is found."""

Ranges = Sequence[tuple[int, int]]


def introduced_lists(blocks: Sequence[Block], words: BlockWords) -> Ranges:
    """Return the first blocks of introduced lists, and the blocks after them.

    A paragraph directly above a list introduces it if it ends with a colon, or if no item is a link. A heading may stand
    between them, and is then the first block. Lists of links without a colon are often those to share a page, and those
    below words such as "related" lead to other pages.
    """
    ranges: list[tuple[int, int]] = []
    number = 1
    while number < len(blocks):
        outer = _list_below(blocks[number - 1], blocks[number])
        if outer is None:
            number += 1
            continue
        end = number
        while end < len(blocks) and _is_inside(blocks[end].element, outer):
            end += 1
        headed = blocks[number - 1].element.tag in _HEADINGS
        linked = any(block.linked for block in blocks[number:end])
        colon = blocks[number - 1].text.endswith(_COLONS) and not words.said[number - 1, _RELATED]
        if headed and not linked and _is_between(blocks[number - 2 : number]):
            ranges.append((number - 1, end))
        elif not headed and (colon or not linked):
            ranges.append((number, end))
        number = max(end, number + 1)
    return ranges


def raise_scores(scores: NDArray[Any], lists: Ranges) -> NDArray[Any]:
    """Return the scores with those of lists raised to their paragraphs'."""
    raised = scores.copy()
    for start, end in lists:
        raised[start:end] = raised[start:end].clip(min=_LIKE_ITS_PARAGRAPH * raised[start - 1])
    return raised


def with_lists(
    article: str,
    blocks: Sequence[Block],
    scores: NDArray[Any],
    taken: NDArray[Any],
    lists: Ranges,
) -> str:
    """Return the article with the introduced lists that its extractor left out.

    Such are lists of which no item is in the article, although their paragraph is one of its lines. `taken` has the
    article's share of each block.
    """
    missing = [
        (start, end)
        for start, end in lists
        if scores[start:end].min() >= _MIN_SCORE
        and not taken[start:end].any()
        and taken[start - 1] > _MIN_SCORE
    ]
    if not missing:
        return article
    lines = article.split("\n")
    endings = [_ending(line) for line in lines]
    occurrences = Counter(endings)
    for start, end in missing:
        ending = _ending(blocks[start - 1].text)
        if occurrences[ending] == 1:
            lines[endings.index(ending)] += "\n" + write_blocks(blocks[start:end])
    return "\n".join(lines)


def _ending(line: str) -> tuple[str, ...]:
    return tuple(WORDS.findall(line.lower())[-_ENDING:])


def _list_below(before: Block, block: Block) -> lxml.html.HtmlElement | None:
    """Return the list that begins with a block below a paragraph, or None."""
    if before.element.tag not in _PARAGRAPHS | _HEADINGS:
        return None
    element, parents = block.element, (before.element, before.element.getparent())
    while element is not None and element.getparent() not in parents:
        element = element.getparent()
    if element is None or element.tag not in _LISTS or element.get("role") in _CONTROLS:
        return None
    return element


def _is_between(blocks: Sequence[Block]) -> bool:
    """Check that the second block is a sibling of the first, a paragraph."""
    if len(blocks) < 2 or blocks[0].element.tag not in _PARAGRAPHS:
        return False
    return blocks[0].element.getparent() is blocks[1].element.getparent()


def _is_inside(element: lxml.html.HtmlElement | None, outer: lxml.html.HtmlElement) -> bool:
    while element is not None and element is not outer:
        element = element.getparent()
    return element is not None
