"""Word documents: the paragraphs and tables of a .docx, with its headings as sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from core.model import Article, SkipReason, Unreadable
from core.reading.office.safe_xml import attribute, child, local, xml_tree
from core.reading.text_builder import TextBuilder
from core.reading.zip_archive import Archive

UNPACKED_LIMIT = 150_000_000
"""Bytes that an office file may unpack to in all."""
_LARGEST_PART = 60_000_000
_HEADING = re.compile(r"(?i)heading\s*([1-9])|(title)")
_DROPPED = ("Fallback", "del", "moveFrom")
_OFF = ("0", "false", "off")
_BETWEEN = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}


def read_docx(body: bytes) -> Article:
    """Text in reading order: tables row by row, footnotes at the end. Deleted text is left out, hidden text
    is told apart.

    Raises:
        Unreadable: when it is damaged, locked, too large unpacked, or holds no text.
    """
    archive = Archive(body, UNPACKED_LIMIT)
    document = child(part(archive, "word/document.xml"), "body")
    if document is None:
        raise Unreadable(SkipReason.BROKEN, "the document has no body")
    facts = core_facts(archive)
    reader = _Reader(_headings(archive))
    reader.read(document)
    if "word/footnotes.xml" in archive:
        reader.read(part(archive, "word/footnotes.xml"))
    article = reader.out.article(
        "docx", title=facts["title"] or reader.title, author=facts["creator"], date=facts["created"]
    )
    return replace(article, hidden="\n".join(reader.hidden))


def part(archive: Archive, name: str) -> Any:
    """The root of one of the XML files in it."""
    return xml_tree(archive.read(name, _LARGEST_PART))


def core_facts(archive: Archive) -> dict[str, str]:
    """Title, creator and day of creation, as office files of Microsoft's kind tell them; empty where not."""
    facts = {"title": "", "creator": "", "created": ""}
    if "docProps/core.xml" in archive:
        for element in part(archive, "docProps/core.xml"):
            if local(element) in facts:
                facts[local(element)] = element.text or ""
    return facts


class _Reader:
    """`levels` tells which paragraph styles are headings: 0 is the title's."""

    def __init__(self, levels: dict[str, int]) -> None:
        self.out = TextBuilder()
        self.title = ""
        self.hidden: list[str] = []
        self._levels = levels

    def read(self, parent: Any) -> None:
        """The blocks below an element, without recursion but for tables, whose nesting libxml2 bounds."""
        for block in _blocks(parent):
            if local(block) == "tbl":
                for row in (inner for inner in block.iter() if local(inner) == "tr"):
                    self.out.block(" | ".join(filter(None, map(self._cell, _cells(row)))), row=True)
            else:
                self._paragraph(block)

    def _paragraph(self, paragraph: Any) -> None:
        text = self._text(paragraph)
        properties = child(paragraph, "pPr")
        style = child(properties, "pStyle")
        level = None if style is None else self._levels.get(attribute(style, "val"))
        if level is not None and text.strip():
            if not self.title:
                self.title = " ".join(text.split())
            if level:
                self.out.section(text)
        listed = level is None and child(properties, "numPr") is not None
        self.out.block(f"- {text}" if listed and text.strip() else text)

    def _cell(self, cell: Any) -> str:
        paragraphs = (inner for inner in cell.iter() if local(inner) == "p" and _within(inner, cell))
        return " ".join(" ".join(self._text(paragraph).split()) for paragraph in paragraphs)

    def _text(self, paragraph: Any) -> str:
        pieces: list[str] = []
        for run in paragraph.iter():
            if local(run) != "r" or _dropped(run, paragraph):
                continue
            text = "".join(
                (inner.text or "") if local(inner) == "t" else _BETWEEN.get(local(inner), "") for inner in run
            )
            vanish = child(child(run, "rPr"), "vanish")
            if vanish is not None and attribute(vanish, "val") not in _OFF:
                if text.strip():
                    self.hidden.append(text.strip())
            else:
                pieces.append(text)
        return "".join(pieces)


def _blocks(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables in order, also those inside content controls; what is in a table is left to it."""
    stack = list(reversed(parent))
    while stack:
        element = stack.pop()
        if local(element) in ("p", "tbl"):
            yield element
        elif local(element) != "sectPr":
            stack.extend(reversed(element))


def _cells(row: Any) -> Iterator[Any]:
    return (cell for cell in row.iter() if local(cell) == "tc" and _within(cell, row, "tr"))


def _within(element: Any, outer: Any, kind: str = "tbl") -> bool:
    """Whether it belongs to this one and not to a table inside it, which is read for itself."""
    above = element.getparent()
    while above is not None and above is not outer:
        if local(above) == kind:
            return False
        above = above.getparent()
    return True


def _dropped(run: Any, paragraph: Any) -> bool:
    """Whether it was deleted or moved away, or is the second copy of a text box, for old programs."""
    above = run.getparent()
    while above is not None and above is not paragraph:
        if local(above) in _DROPPED:
            return True
        above = above.getparent()
    return False


def _headings(archive: Archive) -> dict[str, int]:
    """Levels of the styles that are headings, by the styles' ids, which are in the writer's own language."""
    levels: dict[str, int] = {}
    if "word/styles.xml" not in archive:
        return levels
    for style in part(archive, "word/styles.xml"):
        name = child(style, "name")
        if local(style) != "style" or name is None:
            continue
        if named := _HEADING.fullmatch(attribute(name, "val")):
            levels[attribute(style, "styleId")] = int(named[1] or 0)
            continue
        outline = child(child(style, "pPr"), "outlineLvl")
        if outline is not None and attribute(outline, "val").isdigit():
            levels[attribute(style, "styleId")] = int(attribute(outline, "val")) + 1
    return levels
