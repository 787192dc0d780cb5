"""What office files have besides plain paragraphs: raised text, notes, hidden parts, formats of numbers."""

import io
import time
import zipfile
from collections.abc import Sequence

import pytest

from core.model import Article, Unreadable
from core.reading.file_types import ODP, ODS
from tests.reading.office_files import A, P, R, S, W, docx, odt, packed, pptx, related, xlsx
from tests.reading.test_office import read, sections

ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
)


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def word(*runs: str, styles: str = "", **more: str) -> Article:
    """A Word document of one paragraph of these runs, read."""
    parts = {f"word/{name}.xml": content for name, content in more.items()}
    if styles:
        parts["word/styles.xml"] = f"<w:styles {W}>{styles}</w:styles>"
    return read(docx(f"<w:p>{''.join(runs)}</w:p>", more=parts))


def packed_with(body: bytes, parts: dict[str, str]) -> bytes:
    """A package with these parts added or replaced."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        files: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    return packed(files | parts)


# --- raised and lowered text --------------------------------------------------------------------------------

UP, DOWN = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([run("about 10"), run("6", UP), run(" cells")], "about 10⁶ cells"),
        ([run("10"), run("-", UP), run("12", UP), run(" m")], "10⁻¹² m"),
        ([run("2"), run("k", UP)], "2^k"),
        ([run("H"), run("2", DOWN), run("O")], "H₂O"),
        ([run("10"), run("4", '<w:position w:val="8"/>')], "10⁴"),
        ([run("10"), run("4", '<w:rStyle w:val="Up"/>')], "10⁴"),
        ([run("10"), run("4", '<w:rStyle w:val="UpToo"/>')], "10⁴"),
        ([run("the 5"), run("th", UP), run(" day")], "the 5th day"),
        ([run("10"), f"<w:ins>{run('7', UP)}</w:ins>"], "10⁷"),
        ([run("m"), f"<w:r><w:rPr>{UP}</w:rPr><w:t>2</w:t><w:br/><w:t>3</w:t></w:r>", run("He")], "m²\n³He"),
        ([run("plain", '<w:vertAlign w:val="baseline"/>')], "plain"),
    ],
)
def test_word_document_keeps_raised_and_lowered_text_apart(runs: Sequence[str], text: str) -> None:
    styles = (
        f'<w:style w:styleId="Up"><w:name w:val="up"/><w:rPr>{UP}</w:rPr></w:style>'
        '<w:style w:styleId="UpToo"><w:name w:val="up2"/><w:basedOn w:val="Up"/></w:style>'
    )
    assert word(*runs, styles=styles).text == text


def test_slide_keeps_raised_and_lowered_text_apart() -> None:
    line = '3 × 10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>8</a:t></a:r><a:r><a:rPr baseline="-25000"/><a:t>0'
    body = pptx(("Light", ["LINE"]))
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        slide = archive.read("ppt/slides/slide1.xml").decode()
    assert "3 × 10⁸₀" in read(packed_with(body, {"ppt/slides/slide1.xml": slide.replace("LINE", line)})).text


def test_raised_texts_of_a_slide_stay_on_their_lines() -> None:
    up = '</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>'
    line = f"m{up}2</a:t></a:r><a:br/><a:r><a:t>{up}3</a:t></a:r><a:r><a:t>He"
    body = pptx(("Light", ["LINE"]))
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        slide = archive.read("ppt/slides/slide1.xml").decode()
    line = line.replace("<a:br/><a:r><a:t></a:t></a:r>", "<a:br/>")
    assert "m²\n³He" in read(packed_with(body, {"ppt/slides/slide1.xml": slide.replace("LINE", line)})).text


@pytest.mark.parametrize(
    ("position", "text"),
    [("super 58%", "10⁶"), ("33% 58%", "10⁶"), ("sub 58%", "10₆"), ("-20%", "10₆"), ("0% 100%", "106")],
)
def test_opendocument_keeps_raised_and_lowered_text_apart(position: str, text: str) -> None:
    style = f'<style:style style:name="T1" style:family="text"><style:text-properties style:text-position="{position}"/></style:style>'
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{style}</office:automatic-styles><office:body><office:text>"
        '<text:p>10<text:span text:style-name="T1">6</text:span></text:p></office:text></office:body></office:document-content>'
    )
    assert read(packed_with(odt(""), {"content.xml": content})).text == text


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ("2<text:line-break/>3", "m²\n³He"),
        ("2<text:tab/>3", "m² ³He"),
        ("2<text:span>+<text:span>n</text:span></text:span>1", "m²⁺ⁿ¹He"),
    ],
    ids=["line break", "tab", "nested spans"],
)
def test_raised_text_of_an_opendocument_keeps_order_and_breaks(inner: str, text: str) -> None:
    style = '<style:style style:name="T1" style:family="text"><style:text-properties style:text-position="super 58%"/></style:style>'
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{style}</office:automatic-styles><office:body><office:text>"
        f'<text:p>m<text:span text:style-name="T1">{inner}</text:span>He</text:p></office:text></office:body></office:document-content>'
    )
    assert read(packed_with(odt(""), {"content.xml": content})).text == text


def test_style_of_an_opendocument_inherits_its_level() -> None:
    named = (
        f'<office:document-styles {ODF}><office:styles><style:style style:name="Up"><style:text-properties '
        'style:text-position="super 58%"/></style:style></office:styles></office:document-styles>'
    )
    own = '<style:style style:name="T1" style:parent-style-name="Up"><style:text-properties fo:color="#ff0000"/></style:style>'
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{own}</office:automatic-styles><office:body><office:text>"
        '<text:p>10<text:span text:style-name="T1">6</text:span></text:p></office:text></office:body></office:document-content>'
    )
    assert read(packed_with(odt(""), {"content.xml": content, "styles.xml": named})).text == "10⁶"


def test_spreadsheet_keeps_raised_text_apart() -> None:
    rich = f'<sst {S}><si><r><t>10</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>9</t></r><rPh sb="0" eb="1"><t>X</t></rPh></si></sst>'
    body = xlsx(
        "Sums", [["Name", "Sum"], ["all", '<c t="s"><v>0</v></c>']], more={"xl/sharedStrings.xml": rich}
    )
    assert read(body).text == "Name: all; Sum: 10⁹"


# --- ruby and hidden text -----------------------------------------------------------------------------------


def test_ruby_is_read_as_its_base() -> None:
    ruby = "<w:r><w:ruby><w:rubyPr/><w:rt>{}</w:rt><w:rubyBase>{}</w:rubyBase></w:ruby></w:r>"
    first, second = (ruby.format(run(above), run(base)) for above, base in (("みず", "水"), ("くるま", "車")))
    assert word(run("この"), first, second, run("です。")).text == "この水車です。"
    inner = "<text:p>この<text:ruby><text:ruby-base>水</text:ruby-base><text:ruby-text>みず</text:ruby-text></text:ruby>です。</text:p>"
    assert read(odt(inner)).text == "この水です。"


def test_text_hidden_by_a_style_is_told_apart() -> None:
    styles = '<w:style w:styleId="H"><w:name w:val="h"/><w:rPr><w:vanish/></w:rPr></w:style>'
    article = word(run("Shown."), run("Not shown.", '<w:rStyle w:val="H"/>'), styles=styles)
    assert (article.text, article.hidden) == ("Shown.", "Not shown.")


def test_hidden_text_of_an_opendocument_is_told_apart() -> None:
    article = read(
        odt(
            '<text:p>Shown <text:hidden-text text:string-value="Secret.">Secret.</text:hidden-text>here.</text:p>'
            '<text:section text:display="none"><text:p>In a hidden section.</text:p></text:section>'
        )
    )
    assert (article.text, article.hidden) == ("Shown here.", "Secret.\nIn a hidden section.")


def test_paragraph_with_two_hidden_fields_is_hidden_once() -> None:
    field = "<text:hidden-paragraph text:is-hidden='true'/>"
    article = read(odt(f"<text:p>Shown.</text:p><text:p>{field}Not shown.{field}</text:p>"))
    assert (article.text, article.hidden) == ("Shown.", "Not shown.")


@pytest.mark.parametrize("is_hidden", [True, False])
def test_section_hidden_by_its_condition_is_told_apart(is_hidden: bool) -> None:
    state = f'text:display="condition" text:is-hidden="{str(is_hidden).lower()}"'
    article = read(
        odt(f"<text:p>Shown.</text:p><text:section {state}><text:p>Secret.</text:p></text:section>")
    )
    assert (article.hidden == "Secret.", "Secret" in article.text) == (is_hidden, not is_hidden)


def test_comments_and_deletions_of_an_opendocument_are_no_text() -> None:
    article = read(
        odt(
            "<text:tracked-changes><text:changed-region><text:deletion><text:p>Deleted.</text:p></text:deletion>"
            "</text:changed-region></text:tracked-changes><text:table-of-content><text:p>Wind 1</text:p></text:table-of-content>"
            "<text:p>It <office:annotation><text:p>Really?</text:p></office:annotation>blows.</text:p>"
        )
    )
    assert (article.text, article.left_out) == ("It blows.", "1 comment was not read")


def test_hyphen_that_does_not_break_stays() -> None:
    assert word("<w:r><w:t>north</w:t><w:noBreakHyphen/><w:t>west</w:t></w:r>").text == "north-west"


# --- notes, boxes, slides -----------------------------------------------------------------------------------


def test_notes_follow_the_text_with_their_references() -> None:
    reference = '<w:r><w:{0}Reference w:id="2"/></w:r>'
    body = docx(
        f"<w:p>{run('The mill stands.')}{reference.format('footnote')}{reference.format('endnote')}</w:p>",
        more={
            "word/footnotes.xml": f'<w:footnotes {W}><w:footnote w:id="2"><w:p>{run("Since 1740.")}</w:p></w:footnote></w:footnotes>',
            "word/endnotes.xml": f'<w:endnotes {W}><w:endnote w:id="2"><w:p>{run("It has 10")}{run("2", UP)}{run(" sails.")}</w:p></w:endnote></w:endnotes>',
            "word/_rels/document.xml.rels": related(f="footnotes footnotes.xml", e="endnotes endnotes.xml"),
        },
    )
    assert read(body).text == "The mill stands.¹ ²\n\n¹ Since 1740.\n\n² It has 10² sails."


def test_hidden_slide_is_read_and_named() -> None:
    body = pptx(("Plan", ["We sow."]), ("Old plan", ["We sowed."]))
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        slide = archive.read("ppt/slides/slide1.xml").decode()
    article = read(packed_with(body, {"ppt/slides/slide1.xml": slide.replace("<p:sld ", '<p:sld show="0" ')}))
    assert article.text == "Plan\n\nWe sow.\n\nOld plan (hidden slide)\n\nWe sowed."
    assert article.page_at(article.text.index("We sowed")) == 2


def test_notes_and_charts_of_a_slide_are_marked() -> None:
    body = pptx(("Rye", ["FRAME"]))
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/chart"
    frame = (
        f'</a:t></a:r></a:p></p:txBody></p:sp><p:graphicFrame><a:graphic><a:graphicData uri="{drawing}">'
        f'<c:chart xmlns:c="{drawing}" {R} r:id="c1"/></a:graphicData></a:graphic></p:graphicFrame><p:sp><p:txBody><a:p><a:r><a:t>'
    )
    point = '<c:pt idx="0"><c:v>{}</c:v></c:pt>'
    chart = (
        f'<c:chartSpace xmlns:c="{drawing}" {A}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Yield</a:t></a:r></a:p></c:rich></c:tx>'
        f"</c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache>{point.format('Rye')}</c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:strRef><c:strCache>{point.format('2024')}</c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache>"
        f"{point.format('41')}</c:numCache></c:numRef></c:val></c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )
    notes = (
        f'<p:notes {A} {P}><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="body" idx="1"/></p:nvPr></p:nvSpPr><p:txBody>'
        "<a:p><a:r><a:t>Say why.</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:notes>"
    )
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        slide = archive.read("ppt/slides/slide1.xml").decode()
    parts = {
        "ppt/slides/slide1.xml": slide.replace("FRAME", frame),
        "ppt/slides/_rels/slide1.xml.rels": related(
            c1="chart ../charts/chart1.xml", n1="notesSlide ../notesSlides/notesSlide1.xml"
        ),
        "ppt/charts/chart1.xml": chart,
        "ppt/notesSlides/notesSlide1.xml": notes,
    }
    assert read(packed_with(body, parts)).text == (
        "Rye\n\nChart: Yield\n\n2024; Rye: 41\n\nSpeaker notes: Say why."
    )


def test_slides_of_an_opendocument_presentation_are_pages() -> None:
    page = (
        '<draw:page draw:name="p{0}"{2}><draw:frame presentation:class="title"><draw:text-box><text:p>Title {0}</text:p>'
        "</draw:text-box></draw:frame><draw:frame><draw:text-box><text:p>{1}</text:p></draw:text-box></draw:frame></draw:page>"
    )
    styles = '<style:style style:name="H"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    pages = page.format(1, "Wind.", "") + page.format(2, "Water.", ' draw:style-name="H"')
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{styles}</office:automatic-styles><office:body>"
        f"<office:presentation>{pages}</office:presentation></office:body></office:document-content>"
    )
    article = read(packed({"mimetype": ODP, "content.xml": content}))
    assert article.text == "Title 1\n\nWind.\n\nTitle 2 (hidden slide)\n\nWater."
    assert article.page_at(article.text.index("Water")) == 2


# --- spreadsheets -------------------------------------------------------------------------------------------


def formatted(rows: Sequence[Sequence[str]], codes: Sequence[str], date1904: str = "0") -> bytes:
    """A workbook whose cell style n, from 1, has the number format n."""
    formats = "".join(f'<numFmt numFmtId="{165 + n}" formatCode="{code}"/>' for n, code in enumerate(codes))
    cells = "".join(f'<xf numFmtId="{165 + n}" applyNumberFormat="1"/>' for n in range(len(codes)))
    styles = (
        f'<styleSheet {S}><numFmts count="{len(codes)}">{formats}</numFmts><cellXfs count="{len(codes) + 1}">'
        f'<xf numFmtId="0"/>{cells}</cellXfs></styleSheet>'
    )
    book = f'<workbook {S} {R}><workbookPr date1904="{date1904}"/><sheets><sheet name="Rates" sheetId="1" r:id="r1"/></sheets></workbook>'
    relations = related(r1="worksheet worksheets/sheet1.xml", r2="styles styles.xml")
    return xlsx(
        "Rates",
        rows,
        more={"xl/styles.xml": styles, "xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": relations},
    )


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("0.0%", "0.475", "47.5%"),
        ("0%", "0.3", "30%"),
        ("#,##0.00", "1234.5", "1,234.50"),
        ("[h]:mm:ss", "1.5", "36:00:00"),
        ("yyyy\\-mm\\-dd", "45356", "2024-03-05"),
        ("0.0&quot; t&quot;", "2.5", "2.5 t"),
    ],
)
def test_cell_is_read_as_the_sheet_shows_it(code: str, value: str, shown: str) -> None:
    body = formatted([["What", "Value"], ["Rate", f'<c s="1"><v>{value}</v></c>']], [code])
    assert read(body).text == f"What: Rate; Value: {shown}"


def test_dates_of_a_1904_workbook_are_not_four_years_early() -> None:
    body = formatted([["Event", "Day"], ["Fair", '<c s="1"><v>43894</v></c>']], ["yyyy-mm-dd"], date1904="1")
    assert read(body).text == "Event: Fair; Day: 2024-03-05"


def with_merged(rows: Sequence[Sequence[str]], *areas: str) -> bytes:
    body = xlsx("Sales", rows)
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    merged = "".join(f'<mergeCell ref="{area}"/>' for area in areas)
    sheet = sheet.replace("</sheetData>", f"</sheetData><mergeCells>{merged}</mergeCells>")
    return packed_with(body, {"xl/worksheets/sheet1.xml": sheet})


def test_label_over_several_rows_names_each_of_them() -> None:
    rows = [["Region", "Month", "Sales"], ["North", "May", "10"], ["", "June", "20"]]
    assert read(with_merged(rows, "A2:A3")).text == (
        "Region: North; Month: May; Sales: 10\nRegion: North; Month: June; Sales: 20"
    )


def test_head_of_two_rows_names_columns_by_both() -> None:
    rows = [["Region", "2024", "", "2025"], ["", "May", "June", "May"], ["North", "1", "2", "3"]]
    assert read(with_merged(rows, "A1:A2", "B1:C1")).text == (
        "Region: North; 2024 May: 1; 2024 June: 2; 2025 May: 3"
    )


def test_name_of_a_head_may_stand_above_an_empty_cell() -> None:
    rows = [["Station", "Level", ""], ["", "spring", "autumn"], ["Weir", "1.85", "0.92"]]
    assert read(with_merged(rows, "B1:C1")).text == "Station: Weir; Level spring: 1.85; Level autumn: 0.92"


def test_row_of_figures_below_merged_names_is_no_head() -> None:
    rows = [["Region", "Revenue", ""], ["North", "5", "12%"], ["South", "6", "13%"]]
    text = read(with_merged(rows, "B1:C1")).text
    assert text == "Region: North; Revenue: 5; 12%\nRegion: South; Revenue: 6; 13%"


def test_years_below_a_merged_name_are_names() -> None:
    rows = [["Region", "Revenue", ""], ["", "2023", "2024"], ["North", "1", "2"]]
    text = read(with_merged(rows, "A1:A2", "B1:C1")).text
    assert text == "Region: North; Revenue 2023: 1; Revenue 2024: 2"


def test_characters_that_a_cell_writes_by_their_codes_are_read() -> None:
    rows = [["Mill", "Note"], ["Zaan_x000D_", "two_x000A_wheels &_x0020_ _x0041__x005F_x000D_ snake_xray_"]]
    assert read(xlsx("Mills", rows)).text == "Mill: Zaan; Note: two wheels & A_x000D_ snake_xray_"


def test_title_above_a_table_is_a_line() -> None:
    rows = [["Mills of the north"], [], ["Mill", "Sails"], ["Zaan", "4"]]
    assert read(xlsx("Mills", rows)).text == "Mills of the north\n\nMill: Zaan; Sails: 4"


def test_sheet_of_one_row_is_read() -> None:
    assert read(xlsx("Mills", [["Mill", "Sails"]])).text == "Mill | Sails"


def test_hidden_sheet_is_named() -> None:
    body = xlsx("Open", [["Mill", "Sails"], ["Zaan", "4"]])
    book = (
        f'<workbook {S} {R}><sheets><sheet name="Open" sheetId="1" r:id="r1"/><sheet name="Closed" sheetId="2" state="hidden" r:id="r2"/>'
        "</sheets></workbook>"
    )
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    parts = {
        "xl/workbook.xml": book,
        "xl/worksheets/sheet2.xml": sheet.replace("Zaan", "Secret"),
        "xl/_rels/workbook.xml.rels": related(
            r1="worksheet worksheets/sheet1.xml", r2="worksheet worksheets/sheet2.xml"
        ),
    }
    article = read(packed_with(body, parts))
    assert article.left_out == "1 hidden sheet (Closed) left out"
    assert "Secret" not in article.text


def test_hidden_rows_and_columns_are_counted() -> None:
    body = xlsx("Mills", [["Mill", "Cost", "Sails"], ["Zaan", "9", "4"], ["Kees", "9", "6"]])
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    sheet = sheet.replace("<sheetData>", '<cols><col min="2" max="2" hidden="1"/></cols><sheetData>')
    sheet = sheet.replace('<row r="3">', '<row r="3" hidden="1">')
    article = read(packed_with(body, {"xl/worksheets/sheet1.xml": sheet}))
    assert (article.text, article.left_out) == (
        "Mill: Zaan; Sails: 4",
        "1 hidden row and 1 hidden column were not read",
    )


def test_formula_without_a_value_is_counted() -> None:
    rows = [["Name", "Sum"], ["a", "<c><f>1+1</f></c>"], ["b", "<c><f>2+2</f><v>4</v></c>"]]
    article = read(xlsx("Sums", rows))
    assert article.text == "Name: a\nName: b; Sum: 4"
    assert article.left_out == "1 uncalculated formula was not read"


def test_text_box_of_a_sheet_is_read() -> None:
    drawing = (
        f'<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" {A}><xdr:sp><xdr:txBody>'
        '<a:p><a:r><a:t>About 10</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>'
    )
    rows = [["Mill", "Sails"], ["Zaan", "4"]]
    assert read(xlsx("Mills", rows, more={"xl/drawings/drawing1.xml": drawing})).text == (
        "Mill: Zaan; Sails: 4\n\nAbout 10⁶"
    )


def test_stray_cell_in_the_last_corner_costs_no_memory() -> None:
    cells = '<row r="1"><c r="A1" t="inlineStr"><is><t>Mill</t></is></c></row><row r="1048576"><c r="A1048576"><v>4</v></c><c r="XFD1048576"><v>5</v></c></row>'
    body = packed_with(
        xlsx("Far", []),
        {"xl/worksheets/sheet1.xml": f"<worksheet {S}><sheetData>{cells}</sheetData></worksheet>"},
    )
    assert read(body).text == "Mill: 4"


def test_table_of_an_opendocument_sheet_shows_its_formats() -> None:
    cell = '<table:table-cell office:value-type="percentage" office:value="0.475"><text:p>{}</text:p></table:table-cell>'
    rows = "".join(
        f"<table:table-row>{''.join(map(cell.format, row))}</table:table-row>"
        for row in (("Name", "Rate"), ("All", "47.5%"))
    )
    rest = '<table:table-row table:number-rows-repeated="1048574"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
    content = (
        f"<office:document-content {ODF}><office:body><office:spreadsheet><table:table table:name='Rates'>{rows}{rest}</table:table>"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
        f'manifest:full-path="/" manifest:media-type="{ODS}"/></manifest:manifest>'
    )
    article = read(packed({"mimetype": ODS, "content.xml": content, "META-INF/manifest.xml": manifest}))
    assert article.text == "Name: All; Rate: 47.5%"
    assert sections(article) == {"Rates": "Name: All; Rate: 47.5%"}


# --- what was not read --------------------------------------------------------------------------------------


def test_parts_that_are_not_text_are_counted() -> None:
    more = {
        "word/media/image1.png": "x",
        "word/media/image2.jpeg": "x",
        "word/embeddings/oleObject1.bin": "x",
        "word/comments.xml": f"<w:comments {W}><w:comment w:id='1'><w:p>{run('Really?')}</w:p></w:comment></w:comments>",
        "word/header1.xml": f"<w:hdr {W}><w:p>{run('Draft')}</w:p></w:hdr>",
    }
    assert read(docx("Words.", more=more)).left_out == (
        "2 pictures, 1 comment, 1 page header and 1 embedded file were not read"
    )
    assert read(docx("Words.")).left_out == ""


def test_unclosed_text_of_a_page_header_costs_little_time() -> None:
    body = docx("Words.", more={"word/header1.xml": f"<w:hdr {W}><w:p><w:r><w:t>" + "a" * 60_000})
    began = time.thread_time()
    assert read(body).text == "Words."
    assert time.thread_time() - began < 1


def test_page_header_of_spaces_is_not_counted() -> None:
    header = f"<w:hdr {W}><w:p>{run('  ')}</w:p></w:hdr>"
    assert read(docx("Words.", more={"word/header1.xml": header})).left_out == ""


def test_data_of_a_chart_is_no_embedded_file() -> None:
    more = {
        "word/embeddings/Microsoft_Excel_Sheet1.xlsx": "x",
        "word/charts/_rels/chart1.xml.rels": related(r1="package ../embeddings/Microsoft_Excel_Sheet1.xlsx"),
    }
    assert read(docx("Words.", more=more)).left_out == ""


def test_alternative_text_of_a_picture_is_read() -> None:
    drawing = (
        '<w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
        '<wp:docPr id="1" name="Picture 1" descr="A mill with four sails"/></wp:inline></w:drawing></w:r>'
    )
    article = word(run("See "), drawing)
    assert "Picture: A mill with four sails" in article.text
    assert article.left_out == "1 picture was not read"


def test_document_that_declares_entities_in_any_part_is_refused() -> None:
    footnotes = f"<!DOCTYPE w [<!ENTITY a 'ha'>]><w:footnotes {W}/>"
    with pytest.raises(Unreadable, match="entities"):
        read(docx("x", more={"word/footnotes.xml": footnotes}))
