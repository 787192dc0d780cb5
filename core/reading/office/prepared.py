"""Office packages made ready for conversion: text levels written out, slides marked, media left out.

Elements that the conversion library drops or misreads become plain ones: signs of symbol fonts, fields of forms, text
boxes inside of sentences, rows or cells in content controls, and values as charts and sheets show them.
"""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any
from xml.sax.saxutils import escape

from lxml import etree

from core.model import SkipReason, Unreadable
from core.reading import file_types
from core.reading.office import raised_text
from core.reading.office.binary_workbook import binary_formats, counts_from_1904, show_binary_times
from core.reading.office.number_formats import (
    PLAIN_FRACTION,
    TimeFormat,
    cell_formats,
    day_number,
    plain_code,
    shown_number,
    struck_code,
    time_format,
)
from core.reading.office.package import Package
from core.reading.office.safe_xml import attribute, local, xml_tree
from core.reading.office.slides import mark_page, mark_slide, order_shapes

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
_BINARY_SHEETS = re.compile(r"xl/worksheets/[^/]+\.bin")
_STYLES = "xl/styles.xml"
_CHARTS = re.compile(r"(?:ppt|word|xl)/charts/chart[^/]*\.xml")
_ESCAPE = re.compile(rb"_x([0-9A-Fa-f]{4})_")
"""A character that a text of a cell or slide writes by its code, such as a line end."""
_REWRITTEN = (b"noBreakHyphen", b":sym ", b"ffData", b"txbxContent", b"sdtContent", b"customXml", b"textpath")
"""Names of the elements that `rewrite_elements` replaces."""
_STYLED = (b"vertAlign", b"position", b"vanish", b"ruby", b"tblHeader", *_REWRITTEN)
_RICH = (b"vertAlign", b"rPh", b"strike")
_BOXES = ("☐", "☒")
_OFF = ("0", "false", "off")
_UNKNOWN_SIGN = "\ufffd"
# Symbol, from 0x21 and from 0xA1. A blank has no character of its own.
_SYMBOL = (
    "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_ αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…  ↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑           〉∫⌠ ⌡",
)
_WINGDINGS = {
    0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "☐", 0x72: "☐", 0x76: "❖", 0x78: "☒", 0x9F: "•", 0xA7: "▪", 0xA8: "☐",
    0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_HIDDEN = ("collapse", "filter")
_TIMED_CELL = re.compile(
    rb"<(?P<name>(?:\w{1,20}:)?c)(?P<attributes>\s[^<>]{0,99}?\bs=[\"'](?P<style>\d{1,6})[\"'][^<>]{0,99})>"
    rb"(?P<before>\s{0,99}(?:<(?:\w{1,20}:)?f\b[^<>]{0,300}(?:/>|>[^<]{0,9999}</(?:\w{1,20}:)?f>)\s{0,99})?<(?:\w{1,20}:)?v>)(?P<value>[^<]{1,40})</"
)
"""A cell with a style and a value, up to the end of its value."""
_DAYS_KEPT = 10_000
"""Texts of dates that are kept, since columns of a sheet repeat them."""
_CELL_KIND = re.compile(rb"\st=[\"'](\w*)[\"']")


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
        self._times: Mapping[int, TimeFormat] = {}
        self._from_1904 = False
        self._cell_styles = b""
        if media_type == file_types.DOCX and "word/styles.xml" in package:
            self._word_styles = raised_text.word_styles(package.part("word/styles.xml"))
        elif media_type == file_types.PPTX:
            slides = package.references("ppt/presentation.xml", "sldId")
            self._slides = {name: number for number, (_, name) in enumerate(slides, 1)}
        elif media_type == file_types.XLSX and _STYLES in package:
            styles = package.part(_STYLES)
            _write_plain_codes(styles)
            _mark_struck_styles(styles)
            self._times, self._cell_styles = time_formats(styles), _written(styles)
            self._from_1904 = _counts_from_1904(package)
        elif media_type == file_types.XLSB and "xl/styles.bin" in package:
            self._times = binary_formats(package.read("xl/styles.bin", _LARGEST_PART))
            self._from_1904 = counts_from_1904(package.read("xl/workbook.bin", _LARGEST_PART))
        elif self._opendocument and "styles.xml" in package:
            self._styles = package.part("styles.xml")

    def part(self, name: str, part: bytes) -> bytes:
        """Return a part with its text rewritten, or as it is."""
        if self._opendocument:
            return self._content(part) if name == "content.xml" else part
        if _WORD_PARTS.fullmatch(name):
            return self._word(part)
        if _BINARY_SHEETS.fullmatch(name):
            return show_binary_times(part, self._times, from_1904=self._from_1904)
        if name == _STYLES:
            return self._cell_styles or part
        if _STRINGS.fullmatch(name):
            return self._strings(show_times(part, self._times, from_1904=self._from_1904))
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
        root = xml_tree(_ESCAPE.sub(_character, part))
        raised_text.rewrite_drawing(root)
        _mark_heads(root, "tbl", "{*}tblPr[@firstRow='1']", "t")
        if number := self._slides.get(name):
            order_shapes(root)
            mark_slide(root, number)
        elif _CHARTS.fullmatch(name):
            _name_chart(root)
            show_chart_values(root)
        return _written(root)

    def _strings(self, part: bytes) -> bytes:
        part = _ESCAPE.sub(_character, part)
        if not any(word in part for word in _RICH):
            return part
        root = xml_tree(part)
        raised_text.rewrite_strings(root)
        return _written(root)

    def _content(self, part: bytes) -> bytes:
        root = xml_tree(part)
        roots = [root] if self._styles is None else [self._styles, root]
        self._out.hidden += raised_text.rewrite_opendocument(root, raised_text.opendocument_styles(*roots))
        _mark_heads(root, "table", "{*}table-header-rows", "p")
        self._out.unread += remove_hidden_cells(root)
        hidden = _hidden_page_styles(root)
        for number, page in enumerate(root.iterfind("{*}body/{*}presentation/{*}page"), 1):
            mark_page(page, number, hidden=attribute(page, "style-name") in hidden)
        return _written(root)


def _character(escape: re.Match[bytes]) -> bytes:
    code = int(escape[1], 16)
    if 0xD800 <= code < 0xE000 or code >= 0xFFFE:
        return escape[0]
    return b"&#%d;" % code if code > 0x20 else b" "


def _written(root: Any) -> bytes:
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True, standalone=True))


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


def rewrite_elements(root: Any) -> None:
    """Rewrite a part of a Word document."""
    for hyphen in list(root.iter("{*}noBreakHyphen")):
        _become_text(hyphen, "-")
    for sign in list(root.iter("{*}sym")):
        _become_text(sign, _sign(attribute(sign, "font"), attribute(sign, "char")))
    for data in list(root.iter("{*}ffData")):
        _write_field(data)
    for wrapper in list(root.iter("{*}sdt", "{*}customXml")):
        if local(wrapper.getparent()) in ("tbl", "tr"):
            _unwrap(wrapper)
    for path in list(root.iter("{*}textpath")):
        _write_word_art(path)
    for box in reversed(list(root.iter("{*}txbxContent"))):
        _move_behind(box)


def _become_text(element: Any, text: str) -> None:
    element.tag = f"{{{etree.QName(element).namespace}}}t"
    element.text = text


def _sign(font: str, code: str) -> str:
    """Return the character of a sign in a font of symbols. Codes may stand in the private area of Unicode."""
    try:
        number = int(code, 16)
    except ValueError:
        return _UNKNOWN_SIGN
    if not 0xF000 <= number <= 0xF0FF and number > 0xFF:
        return chr(number) if number < 0xD800 or 0xF900 <= number < 0xFFFF else _UNKNOWN_SIGN
    place = number & 0xFF
    if font.casefold() == "wingdings":
        return _WINGDINGS.get(place, _UNKNOWN_SIGN)
    if font.casefold() != "symbol":
        return _UNKNOWN_SIGN if number > 0xFF else chr(number)
    row, column = (_SYMBOL[1], place - 0xA1) if place > 0x80 else (_SYMBOL[0], place - 0x21)
    sign = row[column] if 0 <= column < len(row) else " "
    return sign if sign != " " or place == 0x20 else _UNKNOWN_SIGN


def _write_field(data: Any) -> None:
    """Write the state of a check box, or the choice of a list, before the field."""
    run = next(data.iterancestors("{*}r"), None)
    box, choices = data.find("{*}checkBox"), data.find("{*}ddList")
    text = ""
    if box is not None:
        state = box.find("{*}checked")
        state = box.find("{*}default") if state is None else state
        text = _BOXES[state is not None and attribute(state, "val") not in _OFF]
    elif choices is not None:
        chosen, entries = choices.find("{*}result"), choices.findall("{*}listEntry")
        number = attribute(chosen, "val") if chosen is not None else "0"
        place = int(number) if number.isdecimal() else 0
        text = attribute(entries[place], "val") if place < len(entries) else ""
    if run is not None and text:
        shown = etree.Element(run.tag)
        _become_text(etree.SubElement(shown, run.tag), text)
        run.addprevious(shown)


def _write_word_art(path: Any) -> None:
    """Write the text of an old drawing of letters where it hangs."""
    run = next(path.iterancestors("{*}r"), None)
    if run is not None and (text := attribute(path, "string")):
        shown = etree.Element(run.tag)
        _become_text(etree.SubElement(shown, run.tag), text)
        run.addprevious(shown)


def _unwrap(wrapper: Any) -> None:
    content = wrapper.find("{*}sdtContent") if local(wrapper) == "sdt" else wrapper
    for inner in list(content if content is not None else ()):
        wrapper.addprevious(inner)
    wrapper.getparent().remove(wrapper)


def _move_behind(box: Any) -> None:
    """Move the text of a box behind the paragraph that it hangs in. An older form of the same box is removed."""
    paragraphs = list(box.iterancestors("{*}p"))
    parent = box.getparent()
    if parent is None or not paragraphs:
        return
    if next(box.iterancestors("{*}Fallback"), None) is None:
        for inner in reversed(list(box)):
            paragraphs[-1].addnext(inner)
    parent.remove(box)


def show_chart_values(root: Any) -> None:
    """Write percentages and dates of a chart as its format shows them. Other numbers stay as they are."""
    switch = root.find("{*}date1904")
    from_1904 = switch is not None and attribute(switch, "val") not in _OFF
    for cache in root.iter("{*}numCache"):
        code = cache.findtext("{*}formatCode") or ""
        for point in cache.iterfind("{*}pt"):
            value = point.find("{*}v")
            if value is not None and value.text:
                form = attribute(point, "formatCode") or code
                value.text = shown_number(value.text, form, from_1904=from_1904)


def time_formats(styles: Any) -> Mapping[int, TimeFormat]:
    """Return the formats of dates and times of a workbook by the number of the cell's style."""
    codes = {
        _number(attribute(each, "numFmtId")): attribute(each, "formatCode")
        for each in styles.iter("{*}numFmt")
    }
    return cell_formats(
        codes, [_number(attribute(cell, "numFmtId")) for cell in styles.iterfind("{*}cellXfs/{*}xf")]
    )


def _write_plain_codes(root: Any) -> None:
    for each in root.iter("{*}numFmt"):
        code = attribute(each, "formatCode")
        if time_format(code) is None and (plain := plain_code(code)) != code:
            each.set("formatCode", plain)
    number, code = PLAIN_FRACTION
    declared = root.find("{*}numFmts")
    if declared is None:
        declared = etree.Element(f"{{{etree.QName(root).namespace}}}numFmts")
        root.insert(0, declared)
    if declared.find(f"{{*}}numFmt[@numFmtId='{number}']") is None:
        etree.SubElement(
            declared, f"{{{etree.QName(root).namespace}}}numFmt", numFmtId=str(number), formatCode=code
        )


def _mark_struck_styles(root: Any) -> None:
    """Give the styles of cells that are struck through a format that marks it. The library drops the font."""
    struck = {
        str(place)
        for place, font in enumerate(root.iterfind("{*}fonts/{*}font"))
        if (strike := font.find("{*}strike")) is not None and attribute(strike, "val") not in _OFF
    }
    declared = root.find("{*}numFmts")
    codes = {attribute(each, "numFmtId"): attribute(each, "formatCode") for each in declared}
    following = max((_number(number) for number in codes), default=0) + 200
    for cell in root.iterfind("{*}cellXfs/{*}xf") if struck else ():
        number = attribute(cell, "numFmtId")
        if attribute(cell, "fontId") in struck and (code := struck_code(_number(number), codes.get(number))):
            following += 1
            name = f"{{{etree.QName(root).namespace}}}numFmt"
            etree.SubElement(declared, name, numFmtId=str(following), formatCode=code)
            cell.set("numFmtId", str(following))
            cell.set("applyNumberFormat", "1")


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _counts_from_1904(package: Package) -> bool:
    """Whether day 0 of a workbook is 1 January 1904, as in early files of Macintosh."""
    if "xl/workbook.xml" not in package:
        return False
    about = package.part("xl/workbook.xml").find("{*}workbookPr")
    return about is not None and attribute(about, "date1904") not in ("", *_OFF)


def show_times(part: bytes, formats: Mapping[int, TimeFormat], *, from_1904: bool) -> bytes:
    """Return a worksheet whose cells with these formats hold the text that they show.

    The sheet is not parsed, because the elements of a large one would fill the memory.
    """

    @lru_cache(_DAYS_KEPT)
    def written(style: bytes, value: bytes) -> bytes | None:
        form = formats.get(int(style))
        try:
            text = None if form is None else form.write(float(value), from_1904=from_1904)
        except ValueError:
            return None
        return None if text is None else escape(text).encode()

    def shown(cell: re.Match[bytes]) -> bytes:
        name, attributes, style, before, value = cell.groups()
        kind = _CELL_KIND.search(attributes)
        if kind and kind[1] == b"d":
            value = _day_number(value, from_1904=from_1904)
        elif kind and kind[1] != b"n":
            return cell[0]
        if (text := written(style, value)) is None:
            return cell[0]
        return b'<%s t="str"%s>%s%s</' % (name, _CELL_KIND.sub(b"", attributes), before, text)

    return _TIMED_CELL.sub(shown, part) if formats else part


def _day_number(moment: bytes, *, from_1904: bool) -> bytes:
    """Return the number of a day that a cell has as ISO 8601, which strict workbooks may have."""
    try:
        days = day_number(datetime.fromisoformat(moment.decode("ascii")), from_1904=from_1904)
    except ValueError:
        return moment
    return repr(days).encode()


def remove_hidden_cells(root: Any) -> Counter[str]:
    """Remove the hidden rows and columns of the sheets of an OpenDocument file, and count those with text."""
    counts: Counter[str] = Counter()
    for table in root.iterfind("{*}body/{*}spreadsheet/{*}table"):
        for row in list(table.iter("{*}table-row")):
            if attribute(row, "visibility") in _HIDDEN:
                counts["hidden row"] += _has_text(row) * _repeated(row, "rows")
                row.getparent().remove(row)
        hidden = [
            places
            for column, places in _placed(table.iter("{*}table-column"))
            if attribute(column, "visibility") in _HIDDEN
        ]
        counted = dict.fromkeys(hidden, False)
        for row in table.iter("{*}table-row") if hidden else ():
            cells = (cell for cell in list(row) if local(cell) in ("table-cell", "covered-table-cell"))
            for cell, places in _placed(cells):
                within = [each for each in hidden if each.start <= places.start and places.stop <= each.stop]
                if within:
                    counted[within[0]] |= _has_text(cell)
                    row.remove(cell)
        counts["hidden column"] += sum(len(places) for places, text in counted.items() if text)
    return counts


def _has_text(element: Any) -> bool:
    return any(text.strip() for text in element.itertext())


def _repeated(element: Any, what: str) -> int:
    number = attribute(element, f"number-{what}-repeated")
    return int(number) if number.isdecimal() else 1


def _placed(elements: Iterator[Any]) -> Iterator[tuple[Any, range]]:
    """Yield columns or cells with the columns that they fill."""
    start = 0
    for element in elements:
        stop = start + _repeated(element, "columns")
        yield element, range(start, stop)
        start = stop
