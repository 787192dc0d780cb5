"""Elements of office files that the conversion library lacks, and values as charts and sheets show them."""

import io
import zipfile

import pytest

from core.reading.file_types import ODS
from tests.reading.office_files import A, docx, packed, paragraph, pptx, xlsx
from tests.reading.test_office import read
from tests.reading.test_office_details import ODF, formatted, packed_with


def run(inner: str) -> str:
    return f"<w:r>{inner}</w:r>"


def field(data: str) -> str:
    return run(f'<w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar>') + run(
        '<w:fldChar w:fldCharType="end"/>'
    )


def box(text: str) -> str:
    shape = f"<w:txbxContent>{paragraph(text)}</w:txbxContent>"
    mc = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    return run(
        f'<mc:AlternateContent xmlns:mc="{mc}"><mc:Choice Requires="wps"><w:drawing>{shape}</w:drawing></mc:Choice>'
        f"<mc:Fallback><w:pict>{shape}</w:pict></mc:Fallback></mc:AlternateContent>"
    )


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (run('<w:sym w:font="Symbol" w:char="F062"/><w:t> and </w:t><w:sym w:font="Symbol" w:char="F0B3"/>'), "β and ≥"),
        (run('<w:sym w:font="Wingdings" w:char="F0FE"/><w:t> Paid</w:t>'), "☑ Paid"),
        (run('<w:t>Sign </w:t><w:sym w:font="Webdings" w:char="F0A0"/>'), "Sign \ufffd"),
        (field("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>") + run("<w:t> Paid</w:t>"), "☒ Paid"),
        (field("<w:checkBox><w:default w:val='0'/></w:checkBox>") + run("<w:t> Paid</w:t>"), "☐ Paid"),
        (
            run("<w:t>Mill: </w:t>")
            + field("<w:ddList><w:result w:val='1'/><w:listEntry w:val='Zaan'/><w:listEntry w:val='Kees'/></w:ddList>"),
            "Mill: Kees",
        ),
        (run('<w:pict><v:shape xmlns:v="urn:v"><v:textpath string="Open day"/></v:shape></w:pict>'), "Open day"),
        (
            run("<w:t>The mill </w:t>") + box("No smoking.") + box("No dogs.") + run("<w:t>turns.</w:t>"),
            "The mill turns.\n\nNo smoking.\n\nNo dogs.",
        ),
    ],
)  # fmt: skip
def test_element_is_read_as_text_in_its_place(inner: str, text: str) -> None:
    assert read(docx(f"<w:p>{inner}</w:p>")).text == text


def test_rows_and_cells_in_content_controls_are_read() -> None:
    def control(inner: str) -> str:
        return f"<w:sdt><w:sdtPr/><w:sdtContent>{inner}</w:sdtContent></w:sdt>"

    def cell(text: str) -> str:
        return f"<w:tc>{paragraph(text)}</w:tc>"

    rows = f"<w:tr>{cell('Mill')}{cell('Sails')}</w:tr>", f"<w:tr>{cell('Zaan')}{control(cell('4'))}</w:tr>"
    text = read(docx(f"<w:tbl>{rows[0]}{control(control(rows[1]))}</w:tbl>")).text
    assert text == "Mill | Sails\nZaan | 4"


def test_inserted_document_is_counted() -> None:
    assert read(docx("Mills.", '<w:altChunk r="x"/>')).left_out == "1 inserted document was not read"


def test_newer_comments_of_a_sheet_are_counted_once() -> None:
    parts = {
        "xl/comments1.xml": "<comments><comment ref='A1'/></comments>",
        "xl/threadedComments/threadedComment1.xml": "<ThreadedComments><threadedComment ref='A1'/><threadedComment ref='A1'/></ThreadedComments>",
    }
    assert (
        read(xlsx("Mills", [["Mill", "Sails"], ["Zaan", "4"]], more=parts)).left_out
        == "2 comments were not read"
    )


def test_formula_of_a_slide_that_has_a_picture_beside_it_is_read() -> None:
    formula = (
        '</a:t></a:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice '
        'Requires="a14"><a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"><m:oMath '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:f><m:num><m:r><m:t>s</m:t></m:r></m:num><m:den>'
        "<m:r><m:t>t</m:t></m:r></m:den></m:f></m:oMath></a14:m></mc:Choice><mc:Fallback/></mc:AlternateContent><a:r><a:t>"
    )
    body = pptx(("Mills", ["Speed FORMULA counts."]))
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        slide = archive.read("ppt/slides/slide1.xml").decode().replace("FORMULA", formula)
    assert r"\frac{s}{t}" in read(packed_with(body, {"ppt/slides/slide1.xml": slide})).text


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("0.0%", "0.375", "37.5%"),
        ("m/d/yyyy", "45356", "2024-03-05"),
        ("0.00", "0.375", "0.375"),
        ("General", "7", "7"),
    ],
)
def test_value_of_a_chart_is_read_as_it_shows_it(code: str, value: str, shown: str) -> None:
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/chart"
    cache = (
        f"<c:numCache><c:formatCode>{code}</c:formatCode><c:pt idx='0'><c:v>{value}</c:v></c:pt></c:numCache>"
    )
    chart = (
        f'<c:chartSpace xmlns:c="{drawing}" {A}><c:chart><c:plotArea><c:barChart><c:ser><c:cat><c:strRef><c:strCache><c:pt idx="0">'
        f"<c:v>Rye</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef>{cache}</c:numRef></c:val></c:ser></c:barChart>"
        "</c:plotArea></c:chart></c:chartSpace>"
    )
    frame = (
        f'<w:p><w:r><w:drawing><a:graphic {A}><a:graphicData uri="{drawing}"><c:chart xmlns:c="{drawing}" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="c1"/></a:graphicData></a:graphic>'
        "</w:drawing></w:r></w:p>"
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="c1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart" Target="charts/chart1.xml"/></Relationships>'
    )
    body = docx(frame, more={"word/charts/chart1.xml": chart, "word/_rels/document.xml.rels": relations})
    assert read(body).text.endswith(shown)


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [("[mm]:ss", "0.0625", "90:00"), ("mm:ss.0", "0.001045", "01:30.3"), ("[ss]", "0.001", "86")],
)
def test_duration_is_read_as_the_sheet_shows_it(code: str, value: str, shown: str) -> None:
    body = formatted([["What", "Value"], ["Lap", f'<c s="1"><v>{value}</v></c>']], [code])
    assert read(body).text == f"What: Lap; Value: {shown}"


def test_hidden_sheets_rows_and_columns_of_an_opendocument_are_counted() -> None:
    def row(*cells: str, more: str = "") -> str:
        inner = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        return f"<table:table-row{more}>{inner}</table:table-row>"

    hidden = ' table:visibility="collapse"'
    columns = f'<table:table-column/><table:table-column{hidden}/><table:table-column table:number-columns-repeated="9"/>'
    shown = (
        f"{columns}{row('Mill', 'Cost', 'Sails')}{row('Zaan', '9', '4')}{row('Kees', '9', '6', more=hidden)}"
    )
    content = (
        f"<office:document-content {ODF}><office:automatic-styles><style:style style:name='h' style:family='table'>"
        "<style:table-properties table:display='false'/></style:style></office:automatic-styles><office:body><office:spreadsheet>"
        f"<table:table table:name='Open'>{shown}</table:table><table:table table:name='Closed' table:style-name='h'>"
        f"{row('Secret', 'x')}{row('a', 'b')}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
        f'manifest:full-path="/" manifest:media-type="{ODS}"/></manifest:manifest>'
    )
    article = read(packed({"mimetype": ODS, "content.xml": content, "META-INF/manifest.xml": manifest}))
    assert article.text == "Mill: Zaan; Sails: 4"
    assert (
        article.left_out == "1 hidden row and 1 hidden column were not read; 1 hidden sheet (Closed) left out"
    )
