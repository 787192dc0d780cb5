"""Scores of lists that a kept paragraph of a page introduces.

Trees take a short list at the end of a page for links to other pages. The paragraph above it tells that it is text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lxml.html
from numpy.typing import NDArray

from core.reading.html.text_blocks import Block

_LISTS = frozenset({"dl", "ol", "ul"})
_COLONS = (":", "：")
_LIKE_ITS_PARAGRAPH = 0.95
"""Score of a list, as a share of its paragraph's."""


def with_introduced_lists(scores: NDArray[Any], blocks: Sequence[Block]) -> NDArray[Any]:
    """Return the scores with introduced lists raised to their paragraphs.

    A paragraph directly above a list introduces it if it ends with a colon, or if no item is a link. Lists of links
    without a colon, such as those to share a page, keep their scores.
    """
    raised = scores.copy()
    number = 1
    while number < len(blocks):
        outer = _list_below(blocks[number - 1], blocks[number])
        if outer is None:
            number += 1
            continue
        end = number
        while end < len(blocks) and _is_inside(blocks[end].element, outer):
            end += 1
        colon = blocks[number - 1].text.endswith(_COLONS)
        if colon or not any(block.linked for block in blocks[number:end]):
            least = _LIKE_ITS_PARAGRAPH * raised[number - 1]
            raised[number:end] = raised[number:end].clip(min=least)
        number = max(end, number + 1)
    return raised


def _list_below(before: Block, block: Block) -> lxml.html.HtmlElement | None:
    """Return the list that begins with a block below a paragraph, or None."""
    element = block.element
    if before.element.tag not in ("p", "div", "section", "article", "main", "body", "td"):
        return None
    parents = (before.element, before.element.getparent())
    while element is not None and element.getparent() not in parents:
        element = element.getparent()
    return element if element is not None and element.tag in _LISTS else None


def _is_inside(element: lxml.html.HtmlElement | None, outer: lxml.html.HtmlElement) -> bool:
    while element is not None and element is not outer:
        element = element.getparent()
    return element is not None
