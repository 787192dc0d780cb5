"""Office files and books written by hand, as small as they can be."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


BULLETS = (
    f'<w:numbering {W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>'
    '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
)
"""The numbering of a Word document whose lists have bullets."""
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def related(**targets: str) -> str:
    """The relations of a part: an id with kind and target, as `r1="slide slides/slide1.xml"`."""
    lines = "".join(
        f'<Relationship Id="{name}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for name, (kind, target) in ((name, words.split(" ", 1)) for name, words in targets.items())
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{lines}</Relationships>'


def packed(files: Mapping[str, str | bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return body.getvalue()


def paragraph(text: str, style: str = "", run: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:rPr>{run}</w:rPr><w:t>{escape(text)}</w:t></w:r></w:p>"


def docx(*blocks: str, more: Mapping[str, str] | None = None) -> bytes:
    """A Word document of these blocks of its markup; plain words are paragraphs. Style H1 is a heading."""
    inner = "".join(block if block.startswith("<w:") else paragraph(block) for block in blocks)
    return packed(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {W}><w:body>{inner}<w:sectPr/></w:body></w:document>",
            "word/styles.xml": f'<w:styles {W}><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
            f'<w:style w:styleId="T"><w:name w:val="Title"/></w:style></w:styles>',
            **(more or {}),
        }
    )


def epub(
    chapters: Mapping[str, str],
    *,
    title: str = "A book",
    more: Mapping[str, str] | None = None,
    nav: bool = True,
) -> bytes:
    """A book of chapters: their titles in the table of contents, and the markup inside their bodies."""
    items = "".join(
        f'<item id="c{n}" href="text/c{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    links = "".join(
        f'<li><a href="text/c{n}.xhtml#top">{escape(name)}</a></li>' for n, name in enumerate(chapters)
    )
    pages = {
        f"OEBPS/text/c{n}.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{inner}</body></html>'
        for n, inner in enumerate(chapters.values())
    }
    contents = {
        "OEBPS/nav.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol>{links}</ol></nav></body></html>'
    }
    listed = (
        '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>' if nav else ""
    )
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<metadata><dc:title>{escape(title)}</dc:title><dc:creator>Ada Stone</dc:creator><dc:language>en</dc:language>"
            f"</metadata><manifest>{listed}{items}</manifest><spine>{spine}</spine></package>",
            **(contents if nav else {}),
            **pages,
            **(more or {}),
        }
    )


def pptx(*slides: tuple[str, Sequence[str]]) -> bytes:
    """Slides, each with its title and lines, shown in the order given but stored in the opposite one."""
    count = len(slides)
    files = {}
    for n, (title, lines) in enumerate(slides):
        paragraphs = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in lines)
        files[f"ppt/slides/slide{count - n}.xml"] = (
            f'<p:sld {A} {P}><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>'
            f"<p:txBody><a:p><a:r><a:t>{escape(title)}</a:t></a:r></a:p></p:txBody></p:sp>"
            f"<p:sp><p:txBody>{paragraphs}</p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
        )
    order = "".join(f'<p:sldId id="{n}" r:id="r{n}"/>' for n in range(count))
    relations = related(**{f"r{n}": f"slide slides/slide{count - n}.xml" for n in range(count)})
    return packed(
        {
            "ppt/presentation.xml": f"<p:presentation {P} {R}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations,
            **files,
        }
    )


def xlsx(name: str, rows: Sequence[Sequence[str]], *, more: Mapping[str, str] | None = None) -> bytes:
    """A workbook with one sheet. A cell is its markup, or text."""
    lines = ""
    for number, row in enumerate(rows, 1):
        cells = "".join(
            cell.replace("<c", f'<c r="{chr(65 + place)}{number}"', 1)
            if cell.startswith("<c")
            else f'<c r="{chr(65 + place)}{number}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
            for place, cell in enumerate(row)
            if cell
        )
        lines += f'<row r="{number}">{cells}</row>'
    return packed(
        {
            "_rels/.rels": related(r1="officeDocument xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook {S} {R}><sheets><sheet name="{escape(name)}" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": related(r1="worksheet worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f"<worksheet {S}><sheetData>{lines}</sheetData></worksheet>",
            **(more or {}),
        }
    )


def odt(inner: str, more: Mapping[str, str] | None = None) -> bytes:
    """An OpenDocument text with this markup."""
    spaces = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    )
    return packed(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {spaces}><office:body><office:text>{inner}</office:text></office:body></office:document-content>",
            **(more or {}),
        }
    )
