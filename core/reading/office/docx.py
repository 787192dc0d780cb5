"""Word documents: the paragraphs and tables of a .docx. Its headings are sections."""

import re
from dataclasses import replace
from typing import Any

from core.model import Article, SkipReason, Unreadable
from core.reading.office.package import Package
from core.reading.office.safe_xml import attribute, blocks, is_inside, local
from core.reading.office.tables import add_table
from core.reading.text_builder import TextBuilder

_HEADING = re.compile(r"(?i)heading\s*([1-9])|(title)")
_DROPPED = ("Fallback", "del", "moveFrom")
"""Deleted or moved text, and the second copy of a text box for old programs."""
_OFF = ("0", "false", "off")
_BETWEEN = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}


def read_docx(body: bytes) -> Article:
    """Read a .docx in reading order.

    Tables are read row by row, footnotes at the end. Deleted text is left out. Hidden text is kept
    separately.

    Raises:
        Unreadable: when it is damaged, locked, too large unpacked, or holds no text.
    """
    package = Package(body)
    document = package.part("word/document.xml").find("{*}body")
    if document is None:
        raise Unreadable(SkipReason.BROKEN, "the document has no body")
    facts = package.core_facts()
    reader = _Reader(_heading_levels(package))
    reader.read(document)
    if "word/footnotes.xml" in package:
        reader.read(package.part("word/footnotes.xml"))
    article = reader.out.article("docx", **facts | {"title": facts["title"] or reader.title})
    return replace(article, hidden="\n".join(reader.hidden))


class _Reader:
    """A reader of blocks. `levels` has the heading level by paragraph style, with 0 for the title."""

    def __init__(self, levels: dict[str, int]) -> None:
        self.out = TextBuilder()
        self.title = ""
        self.hidden: list[str] = []
        self._levels = levels

    def read(self, parent: Any) -> None:
        """Read the blocks below an element. Only tables recurse, and libxml2 limits their nesting."""
        for block in blocks(parent, ("p", "tbl"), ("sectPr",)):
            if local(block) == "tbl":
                self._table(block)
            else:
                self._paragraph(block)

    def _table(self, table: Any) -> None:
        """Add the rows of a table. Rows of an inner table follow the row around it."""
        rows = [
            [self._cell(cell) for cell in row.iter("{*}tc") if not is_inside(cell, row, "tr")]
            for row in table.iter("{*}tr")
        ]
        if next(table.iterdescendants("{*}tbl"), None) is None:
            add_table(self.out, rows, headed=table.find("{*}tr/{*}trPr/{*}tblHeader") is not None)
        else:
            for row in rows:
                self.out.row(row)

    def _paragraph(self, paragraph: Any) -> None:
        text = self._text(paragraph)
        style = paragraph.find("{*}pPr/{*}pStyle")
        level = None if style is None else self._levels.get(attribute(style, "val"))
        if level is not None and text.strip():
            if not self.title:
                self.title = " ".join(text.split())
            if level:
                self.out.section(text)
        listed = level is None and paragraph.find("{*}pPr/{*}numPr") is not None
        self.out.block(f"- {text}" if listed and text.strip() else text)

    def _cell(self, cell: Any) -> str:
        """The text of a cell. A table inside it is read for itself."""
        paragraphs = (inner for inner in cell.iter("{*}p") if not is_inside(inner, cell, "tbl"))
        return " ".join(map(self._text, paragraphs))

    def _text(self, paragraph: Any) -> str:
        pieces: list[str] = []
        for run in paragraph.iter("{*}r"):
            if is_inside(run, paragraph, *_DROPPED):
                continue
            text = "".join(
                (inner.text or "") if local(inner) == "t" else _BETWEEN.get(local(inner), "") for inner in run
            )
            vanish = run.find("{*}rPr/{*}vanish")
            if vanish is not None and attribute(vanish, "val") not in _OFF:
                if text.strip():
                    self.hidden.append(text.strip())
            else:
                pieces.append(text)
        return "".join(pieces)


def _heading_levels(package: Package) -> dict[str, int]:
    """Return the levels of heading styles by style id. The ids are in the author's language."""
    levels: dict[str, int] = {}
    if "word/styles.xml" not in package:
        return levels
    for style in package.part("word/styles.xml").findall("{*}style"):
        name, outline = style.find("{*}name"), style.find("{*}pPr/{*}outlineLvl")
        if name is None:
            continue
        if heading := _HEADING.fullmatch(attribute(name, "val")):
            levels[attribute(style, "styleId")] = int(heading[1] or 0)
        elif outline is not None and attribute(outline, "val").isdigit():
            levels[attribute(style, "styleId")] = int(attribute(outline, "val")) + 1
    return levels
