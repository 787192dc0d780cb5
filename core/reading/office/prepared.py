"""Office packages made ready for conversion: text levels written out, slides marked, media left out."""

import io
import re
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from core.model import SkipReason, Unreadable
from core.reading import file_types
from core.reading.office import raised_text
from core.reading.office.package import Package
from core.reading.office.safe_xml import attribute, local, xml_tree
from core.reading.office.shown_values import (
    duration_formats,
    remove_hidden_cells,
    show_chart_values,
    show_durations,
)
from core.reading.office.word_elements import REWRITTEN, rewrite_elements

SLIDE_MARK = re.compile("\ue000(\\d+)(h?)\ue001")
"""The text of a mark before each slide: its number, and whether it is hidden."""
HEAD_MARK = "\ue002"
"""The mark of a table whose first row is declared to name its columns. It begins a text in the row."""
_LARGEST_PART = 60_000_000
_MEDIA = re.compile(
    r"(?:^|/)(?:media|embeddings|fonts|Pictures|Thumbnails|Configurations2|ObjectReplacements|customXml|printerSettings)/"
    r"|(?:vbaProject|vbaData)[^/]*$"
    r"|\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp|mp[34]|m4[av]|mov|avi|wav|bin|ttf|odttf|fntdata)$",
    re.IGNORECASE,
)
"""Parts without text. A binary spreadsheet is kept."""
_ENTITY = re.compile(
    b"<!ENTITY|"
    + re.escape("<!ENTITY".encode("utf-16-le"))
    + b"|"
    + re.escape("<!ENTITY".encode("utf-16-be"))
)
_WORD_PARTS = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml")
_DRAWINGS = re.compile(r"(?:ppt|word|xl)/(?:slides|notesSlides|charts|diagrams|drawings)/[^/]+\.xml")
_STRINGS = re.compile(r"xl/(?:sharedStrings|worksheets/[^/]+)\.xml")
_CHARTS = re.compile(r"(?:ppt|word|xl)/charts/chart[^/]*\.xml")
_ESCAPE = re.compile(rb"_x([0-9A-Fa-f]{4})_")
"""A character that a cell's text writes by its code, such as a line end."""
_STYLED = (b"vertAlign", b"position", b"vanish", b"ruby", b"tblHeader", *REWRITTEN)
_RICH = (b"vertAlign", b"rPh")


@dataclass(slots=True)
class Prepared:
    """A package to convert, with what was taken out of it."""

    body: bytes = b""
    hidden: list[str] = field(default_factory=list)
    """Texts that the document hides."""
    unread: Counter[str] = field(default_factory=Counter)
    """What else was taken out, or is in a form that nothing here reads."""


def prepared(package: Package, media_type: str) -> Prepared:
    """Return the package without media, as the converter needs it.

    Raises:
        Unreadable: when a part is damaged or too large, declares entities, or the document is encrypted.
    """
    out = Prepared()
    rewrite = _Rewriter(package, media_type, out)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in package.names:
            if _MEDIA.search(name) and not (media_type == file_types.XLSB and name.endswith(".bin")):
                continue
            if package.is_locked(name):
                out.unread["encrypted part"] += 1
                continue
            part = package.read(name, _LARGEST_PART)
            if _ENTITY.search(part):
                raise Unreadable(SkipReason.BROKEN, "it declares XML entities, which is how bombs are built")
            archive.writestr(zipfile.ZipInfo(name), rewrite.part(name, part))
    out.body = target.getvalue()
    return out


class _Rewriter:
    """Rewrites the parts of a package that have text."""

    def __init__(self, package: Package, media_type: str, out: Prepared) -> None:
        self._out = out
        self._opendocument = media_type in file_types.OPENDOCUMENT
        self._word_styles: dict[str, Any] = {}
        self._slides: dict[str, int] = {}
        self._styles: Any = None
        self._durations: dict[str, re.Match[str]] = {}
        if media_type == file_types.DOCX and "word/styles.xml" in package:
            self._word_styles = raised_text.word_styles(package.part("word/styles.xml"))
        elif media_type == file_types.PPTX:
            slides = package.references("ppt/presentation.xml", "sldId")
            self._slides = {name: number for number, (_, name) in enumerate(slides, 1)}
        elif media_type == file_types.XLSX and "xl/styles.xml" in package:
            self._durations = duration_formats(package.part("xl/styles.xml"))
        elif self._opendocument and "styles.xml" in package:
            self._styles = package.part("styles.xml")

    def part(self, name: str, part: bytes) -> bytes:
        """Return a part with its text rewritten, or as it is."""
        if self._opendocument:
            return self._content(part) if name == "content.xml" else part
        if _WORD_PARTS.fullmatch(name):
            return self._word(part)
        if _STRINGS.fullmatch(name):
            return self._strings(part)
        if name in self._slides or _DRAWINGS.fullmatch(name):
            return self._drawing(name, part)
        return part

    def _word(self, part: bytes) -> bytes:
        self._out.unread["inserted document"] += part.count(b":altChunk ")
        if not self._word_styles and not any(word in part for word in _STYLED):
            return part
        root = xml_tree(part)
        _mark_heads(root, "tbl", "{*}tr/{*}trPr/{*}tblHeader", "t")
        rewrite_elements(root)
        self._out.hidden += raised_text.rewrite_word(root, self._word_styles)
        return _written(root)

    def _drawing(self, name: str, part: bytes) -> bytes:
        root = xml_tree(part)
        raised_text.rewrite_drawing(root)
        _mark_heads(root, "tbl", "{*}tblPr[@firstRow='1']", "t")
        if number := self._slides.get(name):
            _mark_slide(root, number)
        elif _CHARTS.fullmatch(name):
            _name_chart(root)
            show_chart_values(root)
        return _written(root)

    def _strings(self, part: bytes) -> bytes:
        part = _ESCAPE.sub(_character, part)
        if not self._durations and not any(word in part for word in _RICH):
            return part
        root = xml_tree(part)
        raised_text.rewrite_strings(root)
        show_durations(root, self._durations)
        return _written(root)

    def _content(self, part: bytes) -> bytes:
        root = xml_tree(part)
        roots = [root] if self._styles is None else [self._styles, root]
        self._out.hidden += raised_text.rewrite_opendocument(root, raised_text.opendocument_styles(*roots))
        _mark_heads(root, "table", "{*}table-header-rows", "p")
        self._out.unread += remove_hidden_cells(root)
        hidden = _hidden_page_styles(root)
        for number, page in enumerate(root.iterfind("{*}body/{*}presentation/{*}page"), 1):
            _mark_page(page, number, hidden=attribute(page, "style-name") in hidden)
        return _written(root)


def _character(escape: re.Match[bytes]) -> bytes:
    code = int(escape[1], 16)
    if 0xD800 <= code < 0xE000 or code >= 0xFFFE:
        return escape[0]
    return b"&#%d;" % code if code > 0x20 else b" "


def _written(root: Any) -> bytes:
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True, standalone=True))


def _mark(number: int, *, hidden: bool) -> str:
    return f"\ue000{number}{'h' * hidden}\ue001"


def _mark_slide(slide: Any, number: int) -> None:
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


def _mark_page(page: Any, number: int, *, hidden: bool) -> None:
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


def _mark_heads(root: Any, table: str, sign: str, text: str) -> None:
    """Mark the first text of each table that has the sign of a row of heads."""
    for element in root.iter(f"{{*}}{table}"):
        if element.find(sign) is not None and (words := next(element.iter(f"{{*}}{text}"), None)) is not None:
            words.text = HEAD_MARK + (words.text or "")


def _hidden_page_styles(root: Any) -> set[str]:
    return {
        attribute(style, "name")
        for style in root.iterfind("{*}automatic-styles/{*}style")
        if any(attribute(inner, "visibility") == "hidden" for inner in style)
    }


def _name_chart(root: Any) -> None:
    """Say in the title of a chart that it is one."""
    for words in root.iterfind("{*}chart/{*}title//{*}t"):
        words.text = f"Chart: {words.text or ''}"
        return
