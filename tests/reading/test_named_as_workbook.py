"""Files named as workbooks that are text, HTML or XML, as programs export them."""

import pytest

from core.reading.file_types import CSV, SAVED_PAGE, kind_of
from tests.reading.test_office import read, sections

ROWS = "".join(
    f"<tr><td>Mill {number}</td><td>19{number}</td><td>{number}.5</td></tr>" for number in range(10, 40)
)
TABLE = f"<table border=1><tr><td>Mill</td><td>Built</td><td>Level</td></tr>{ROWS}</table>"
OFFICE = "urn:schemas-microsoft-com:office"


@pytest.mark.parametrize(
    "body",
    [
        "Mill\tTown\tSails\r\nZaan\tÅse\t4\r\n".encode("utf-16"),
        "Mill\tTown\tSails\nZaan\tÅse\t4\n".encode(),
        "\ufeffMill;Town;Sails\nZaan;Åse;4\n".encode(),
    ],
    ids=["UTF-16", "tabs", "semicolons"],
)
def test_table_of_text_is_read_as_a_table(body: bytes) -> None:
    assert kind_of("mills.xls", body) == CSV
    assert read(body, "mills.xls").text == "Mill: Zaan; Town: Åse; Sails: 4"


@pytest.mark.parametrize(
    "start",
    ["", "<!-- export -->\n", "<meta charset=utf-8>", "< div >\r\n\t", "<style>td{color:red}</style>"],
)
def test_table_of_html_is_read_as_a_page(start: str) -> None:
    text = read(f"{start}{TABLE}".encode(), "mills.xls").text
    assert "Mill: Mill 12; Built: 1912; Level: 12.5" in text


def test_saved_page_named_as_a_workbook_is_read() -> None:
    head = b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n"
    body = head + f"<html><body>{TABLE}</body></html>\r\n--x--\r\n".encode()
    assert kind_of("mills.xls", body) == SAVED_PAGE


def workbook(*sheets: str, styles: str = "") -> bytes:
    return (
        f'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook xmlns="{OFFICE}:spreadsheet" '
        f'xmlns:ss="{OFFICE}:spreadsheet" xmlns:x="{OFFICE}:excel"><Styles>{styles}</Styles>{"".join(sheets)}</Workbook>'
    ).encode()


def cell(text: str, kind: str = "String", more: str = "") -> str:
    return f'<Cell {more}><Data ss:Type="{kind}">{text}</Data></Cell>'


def sheet(name: str, *rows: str, more: str = "") -> str:
    inner = "".join(f"<Row>{row}</Row>" for row in rows)
    return f'<Worksheet ss:Name="{name}"><Table>{inner}</Table>{more}</Worksheet>'


def test_workbook_of_one_xml_file_has_sheets_and_formats() -> None:
    codes = {"month": "mmm\\-yy", "share": "Percent", "open": "h:mm"}
    styles = "".join(
        f'<Style ss:ID="{name}"><NumberFormat ss:Format="{code}"/></Style>' for name, code in codes.items()
    )
    head = cell("Mill") + cell("Built") + cell("Share") + cell("Opens") + cell("Seen")
    first = (
        cell("Zaan")
        + cell("1907-05-01T00:00:00.000", "DateTime", 'ss:StyleID="month"')
        + cell("0.25", "Number", 'ss:StyleID="share"')
        + cell("1899-12-31T09:30:00.000", "DateTime", 'ss:StyleID="open"')
        + cell("2024-05-06T00:00:00.000", "DateTime")
    )
    second = cell("Kees") + cell("4", "Number", 'ss:Index="3"') + cell("1", "Boolean", 'ss:Index="5"')
    body = workbook(sheet("Mills", head, first, second), sheet("Notes", cell("Dry year.")), styles=styles)
    article = read(body, "mills.xls")
    assert article.text == (
        "Mill: Zaan; Built: 1907-05; Share: 25.00%; Opens: 9:30; Seen: 2024-05-06\n"
        "Mill: Kees; Share: 4; Seen: TRUE\n\nDry year."
    )
    assert list(sections(article)) == ["Mills", "Notes"]


def test_merged_and_hidden_parts_of_one_xml_file() -> None:
    hidden = f'<WorksheetOptions xmlns="{OFFICE}:excel"><Visible>SheetHidden</Visible></WorksheetOptions>'
    head = cell("Mill") + cell("Town") + cell("Sails")
    row = cell("Zaan", more='ss:MergeAcross="1"') + cell("4", "Number")
    body = workbook(sheet("Open", head, row), sheet("Closed", cell("Secret"), more=hidden))
    assert read(body, "mills.xml").text == "Mill: Zaan; Sails: 4"


def test_far_cell_of_one_xml_file_costs_no_memory() -> None:
    row = cell("Zaan") + cell("4", "Number", 'ss:Index="99999999999"') * 50
    assert read(workbook(sheet("Far", row)), "mills.xml").text == "Zaan"
