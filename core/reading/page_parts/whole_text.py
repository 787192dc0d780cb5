"""All text of a tree of HTML, with its tables by column names, captions, and marks of lists.

Books and messages are read whole, while the article of a web page is chosen from its blocks.
"""

import re
from typing import Any

from lxml import etree

from core.reading.html.text_blocks import page_blocks
from core.reading.normalization import paragraphs
from core.reading.office.list_marks import marker
from core.reading.page_parts.structures import Span, html_structures, write_structures

_NUMBERINGS = {"a": "lower_alpha", "A": "upper_alpha", "i": "lower_roman", "I": "upper_roman"}
"""Kinds of numbers of a list in HTML."""
_NO_MARKS = re.compile(r"list-style(?:-type)?:[^;]{0,50}\bnone\b")
_COUNT = re.compile("-?[0-9]{1,6}")


def whole_text(tree: Any) -> tuple[str, tuple[Span, ...]]:
    """Return the text of a tree and the spans of its tables and code. The tree is changed."""
    structures = html_structures(tree)
    _write_captions(tree)
    _number_items(tree)
    lines = "\n".join(block.text for block in page_blocks(tree))
    return write_structures(paragraphs(lines), structures)


def _write_captions(tree: Any) -> None:
    """Write the captions of tables as paragraphs before them."""
    for caption in list(tree.iter("caption")):
        table = next(caption.iterancestors("table"), None)
        if table is not None:
            caption.tag, caption.tail = "p", None
            table.addprevious(caption)


def _number_items(tree: Any) -> None:
    """Write the mark of each item of a list before its text: its number, or a dash."""
    for outer in tree.iter("ol", "ul"):
        if _NO_MARKS.search(outer.get("style") or ""):
            continue
        items = list(outer.iterchildren("li"))
        is_numbered = outer.tag == "ol" and next(outer.iterancestors("nav"), None) is None
        kind = _NUMBERINGS.get(outer.get("type") or "", "decimal") if is_numbered else ""
        step = -1 if outer.get("reversed") is not None else 1
        number = _counted(outer.get("start"), len(items) if step < 0 else 1)
        for item in items:
            number = _counted(item.get("value"), number)
            _begin(item, marker(kind, number))
            number += step


def _counted(text: str | None, otherwise: int) -> int:
    return int(text) if text and _COUNT.fullmatch(text.strip()) else otherwise


def _begin(item: Any, mark: str) -> None:
    """Write a mark before the first text of an item. The marks of an inner list come before its own texts."""
    for event, element in etree.iterwalk(item, events=("start", "end")):
        if event == "start" and element is not item and element.tag in ("ol", "ul", "table", "pre"):
            return
        place = "text" if event == "start" else "tail"
        text = getattr(element, place) or ""
        if text.strip() and (event == "start" or element is not item):
            is_marked = text.strip().startswith((mark, mark.replace(".", ")"), f"({mark[:-1]})"))
            setattr(element, place, text if is_marked else f"{mark} {text.lstrip()}")
            return
