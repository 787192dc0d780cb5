"""Presentations: the text of a .pptx slide by slide. A slide counts as a page, its title as a section."""

from typing import Any

from core.model import Article
from core.reading.office.package import Package
from core.reading.office.safe_xml import attribute, blocks, local
from core.reading.text_builder import TextBuilder

_TITLES = ("title", "ctrTitle")


def read_pptx(body: bytes) -> Article:
    """Read a .pptx. Raises Unreadable: when it is damaged, locked, too large unpacked, or holds no text."""
    package = Package(body)
    facts, out = package.core_facts(), TextBuilder()
    # In the order of the show, which the files' names need not follow.
    for _, name in package.references("ppt/presentation.xml", "sldId"):
        out.page()
        slide = package.part(name)
        out.section(next(filter(None, map(_title, slide.iter("{*}sp"))), ""))
        for block in blocks(slide, ("p", "tr")):
            if local(block) == "tr":
                out.block(" | ".join(" ".join(_text(cell).split()) for cell in block.iter("{*}tc")), row=True)
            else:
                out.block(_text(block))
    return out.article("pptx", **facts)


def _title(shape: Any) -> str:
    place = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return _text(shape) if place is not None and attribute(place, "type") in _TITLES else ""


def _text(element: Any) -> str:
    pieces = ((inner.text or "") if local(inner) == "t" else "\n" for inner in element.iter("{*}t", "{*}br"))
    return "".join(pieces)
