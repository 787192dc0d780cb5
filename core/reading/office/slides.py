"""Slides made ready for conversion: their marks, and their shapes in the order in which a person reads them."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from lxml import etree

from core.reading.office.safe_xml import attribute, local

SLIDE_MARK = re.compile("\ue000(\\d+)(h?)\ue001")
"""The text of a mark before each slide: its number, and whether it is hidden."""
_SHAPES = ("sp", "graphicFrame", "grpSp", "pic")
_MOST_SHAPES = 200
_TITLES = ("title", "ctrTitle")
_SHARED = 0.5
"""Least share of the smaller extent by which two shapes of one column or row overlap."""


def _mark(number: int, *, hidden: bool) -> str:
    return f"\ue000{number}{'h' * hidden}\ue001"


def mark_slide(slide: Any, number: int) -> None:
    """Add a first shape with the mark. The converter keeps the order of shapes."""
    tree = slide.find("{*}cSld/{*}spTree")
    if tree is None:
        return
    ours, drawing = etree.QName(tree).namespace, "http://schemas.openxmlformats.org/drawingml/2006/main"
    shape = etree.Element(f"{{{ours}}}sp")
    about = etree.SubElement(shape, f"{{{ours}}}nvSpPr")
    etree.SubElement(about, f"{{{ours}}}cNvPr", id="0", name="")
    etree.SubElement(about, f"{{{ours}}}cNvSpPr")
    etree.SubElement(about, f"{{{ours}}}nvPr")
    etree.SubElement(shape, f"{{{ours}}}spPr")
    text = etree.SubElement(shape, f"{{{ours}}}txBody")
    etree.SubElement(text, f"{{{drawing}}}bodyPr")
    run = etree.SubElement(etree.SubElement(text, f"{{{drawing}}}p"), f"{{{drawing}}}r")
    words = etree.SubElement(run, f"{{{drawing}}}t")
    words.text = _mark(number, hidden=attribute(slide, "show") in ("0", "false"))
    heads = sum(local(inner) in ("nvGrpSpPr", "grpSpPr") for inner in tree)
    tree.insert(heads, shape)


def mark_page(page: Any, number: int, *, hidden: bool) -> None:
    """Add the mark to the title of a slide of an OpenDocument presentation, which the converter reads first.

    A slide without a title gets a first frame with the mark.
    """
    mark = _mark(number, hidden=hidden)
    for frame in page.iterfind("{*}frame"):
        words = next(frame.iter("{*}p", "{*}h"), None) if attribute(frame, "class") == "title" else None
        if words is not None:
            words.text = mark + (words.text or "")
            return
    draw = etree.QName(page).namespace
    box = etree.SubElement(etree.Element(f"{{{draw}}}frame"), f"{{{draw}}}text-box")
    etree.SubElement(box, "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}p").text = mark
    page.insert(0, box.getparent())


class _Box(NamedTuple):
    """The place of a shape on its slide."""

    left: int
    top: int
    right: int
    bottom: int

    def precedes(self, other: "_Box") -> bool:
        """Whether a person reads this box before another: it is above it in a column, or to its left in a row."""
        if _share(self.left, self.right, other.left, other.right) > _SHARED and self.bottom <= other.top:
            return True
        return _share(self.top, self.bottom, other.top, other.bottom) > _SHARED and self.right <= other.left


def _share(start: int, end: int, other_start: int, other_end: int) -> float:
    least = min(end - start, other_end - other_start)
    return (min(end, other_end) - max(start, other_start)) / least if least > 0 else 0.0


def order_shapes(slide: Any) -> None:
    """Order the shapes of a slide as a person reads them. They are stored as they were drawn.

    The stored order stays where it does not contradict their places. Titles and shapes placed by a layout stay.
    """
    tree = slide.find("{*}cSld/{*}spTree")
    if tree is None:
        return
    placed = [(shape, box) for shape in tree if (box := _box(shape)) is not None]
    if not 1 < len(placed) <= _MOST_SHAPES:
        return
    ordered = _in_order([box for _, box in placed])
    if ordered == [*range(len(placed))]:
        return
    gaps = [etree.Element("gap") for _ in placed]
    for (shape, _), gap in zip(placed, gaps, strict=True):
        tree.replace(shape, gap)
    for place, gap in zip(ordered, gaps, strict=True):
        tree.replace(gap, placed[place][0])


def _in_order(boxes: Sequence[_Box]) -> list[int]:
    """Return the numbers of boxes in reading order, each after those that precede it."""
    before = {
        number: {other for other, above in enumerate(boxes) if other != number and above.precedes(box)}
        for number, box in enumerate(boxes)
    }
    ordered: list[int] = []
    while before:
        following = next((number for number, others in before.items() if not others & before.keys()), None)
        ordered.append(next(iter(before)) if following is None else following)
        del before[ordered[-1]]
    return ordered


def _box(shape: Any) -> _Box | None:
    """Return the position of a shape, or None for a title or a shape without a position."""
    if local(shape) not in _SHAPES:
        return None
    place = shape.find("{*}xfrm")
    for properties in ("{*}spPr", "{*}grpSpPr"):
        place = shape.find(f"{properties}/{{*}}xfrm") if place is None else place
    kind = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    if place is None or (kind is not None and attribute(kind, "type") in _TITLES):
        return None
    try:
        left, top = (int(attribute(place.find("{*}off"), name)) for name in ("x", "y"))
        width, height = (int(attribute(place.find("{*}ext"), name)) for name in ("cx", "cy"))
    except (AttributeError, ValueError):
        return None
    return _Box(left, top, left + width, top + height)
