"""Office files of the old binary formats, and spreadsheets beyond the memory of a worker."""

import struct
import subprocess
import sys

import pytest

from core.adapters.web.extraction_pool import ExtractionPool
from core.model import Document, Extractor, Unreadable
from core.reading.file_types import DOC, PPT, XLS, XLSB, XLSX, kind_of
from tests.reading.office_files import xlsx
from tests.reading.old_office_files import doc, ppt, xls, xls_with, xlsb
from tests.reading.test_memory import ROOT
from tests.reading.test_office import read, sections


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (doc("The mill stands.\rIt turns.\r"), DOC, "The mill stands.\n\nIt turns."),
        (xls("Rates", [["What", "Share"], ["Oats", 0.25]]), XLS, "What: Oats; Share: 25%"),
        (
            ppt(("Harvest", "Rye comes first."), ("Winter", "We rest.")),
            PPT,
            "Harvest\n\nRye comes first.\n\nWinter\n\nWe rest.",
        ),
    ],
    ids=["doc", "xls", "ppt"],
)
def test_file_of_an_old_format_is_read(body: bytes, kind: str, text: str) -> None:
    assert kind_of("file", body) == kind
    assert read(body).text == text


def value(body: bytes) -> str:
    return read(body).text.partition("Value: ")[2]


@pytest.mark.parametrize(
    ("code", "number", "text"),
    [
        ("mmm-yy", 46023.5, "2026-01"),
        ("[h]:mm", 1.5, "36:00"),
        ("mm:ss.0", 0.001045, "01:30.3"),
        ("h:mm AM/PM", 0.6, "2:24 PM"),
        ('yyyy"年"m"月"d"日"', 46023.0, "2026-01-01"),
        ("# ??/??", 0.25, "1/4"),
        ("£#,##0", 1500.0, "£1,500"),
        ("0.00", 2.5, "2.50"),
    ],
)
def test_cell_of_an_old_workbook_is_read_as_the_sheet_shows_it(code: str, number: float, text: str) -> None:
    rows = [["What", "Value"], ["Rye", (number, 0)], ["Oats", 0.25]]
    assert read(xls("Rates", rows, [code])).text == f"What: Rye; Value: {text}\nWhat: Oats; Value: 25%"


@pytest.mark.parametrize(
    ("code", "number", "text"),
    [
        ("mmm-yy", 46023.5, "2026-01"),
        ("[h]:mm", 1.5, "36:00"),
        ("yyyy", 46023.0, "2026"),
        ("0.0%", 0.25, "25.0%"),
    ],
)
def test_cell_of_a_binary_workbook_is_read_as_the_sheet_shows_it(code: str, number: float, text: str) -> None:
    rows = [["What", "Value"], ["Rye", (number, 0)], ["Oats", 0.25]]
    assert read(xlsb("Rates", rows, [code])).text == f"What: Rye; Value: {text}\nWhat: Oats; Value: 0.25"


def test_binary_workbook_counts_its_days_from_1904() -> None:
    body = xlsb("Days", [["What", "Value"], ["Fair", (43894.0, 0)]], ["mmm-yy"], from_1904=True)
    assert value(body) == "2024-03"


def test_old_workbook_counts_its_days_from_1904() -> None:
    assert (
        value(xls("Days", [["What", "Value"], ["Fair", (43894.0, 0)]], ["yyyy-mm-dd"], from_1904=True))
        == "2024-03-05"
    )


@pytest.mark.parametrize(
    ("record", "data", "text"),
    [
        (0x27E, struct.pack("<HHHI", 1, 1, 17, 46023 << 2 | 2), "2026-01"),
        (0x27E, struct.pack("<HHHI", 1, 1, 17, 4602300 << 2 | 3), "2026-01"),
        (0xBD, struct.pack("<HHHIHIH", 1, 1, 17, 46023 << 2 | 2, 16, 1 << 2 | 2, 2), "2026-01; 100%"),
        (0x06, struct.pack("<HHHdHIH", 1, 1, 17, 46023.0, 0, 0, 0), "2026-01"),
    ],
    ids=["integer", "hundredths", "several", "formula"],
)
def test_compact_numbers_of_an_old_workbook_have_their_format(record: int, data: bytes, text: str) -> None:
    assert value(xls_with("Days", ["What", "Value"], "mmm-yy", record, data)) == text


def test_old_workbook_keeps_its_sheets_apart() -> None:
    assert list(sections(read(xls("Days", [["What", "Value"], ["Fair", (46023.0, 0)]], ["mmm-yy"])))) == [
        "Days"
    ]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (doc("Words.\r"), False),
        (doc("Words.\r", b"\x48\x2a\x01"), True),
        (xls("Rates", [["What", "Share"]]), False),
        (ppt(("Harvest", "Rye.")), True),
    ],
    ids=["doc", "doc with raised text", "xls", "ppt"],
)
def test_old_format_with_superscripts_says_that_they_are_lost(body: bytes, told: bool) -> None:
    assert ("superscripts cannot be told" in read(body).left_out) is told


def test_binary_workbook_is_read() -> None:
    body = xlsb("Rates", [["What", "Share"], ["Oats", 0.25]])
    assert kind_of("rates.xlsb", body) == XLSB
    article = read(body)
    assert (article.text, sections(article)) == (
        "What: Oats; Share: 0.25",
        {"Rates": "What: Oats; Share: 0.25"},
    )


def test_system_without_the_library_says_what_to_do() -> None:
    """In a process of its own, whose import of the library fails as where it has no build."""
    program = (
        "import sys; sys.modules['anydoc'] = None\n"
        "from core.model import Unreadable\nfrom tests.reading.office_files import docx\nfrom tests.reading.test_office import read\n"
        "try:\n    read(docx('Words.'))\nexcept Unreadable as why:\n    print(why.detail)"
    )
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "lacks firecrawl-anydoc; save it as a PDF" in process.stdout, process.stderr


def test_sheet_and_slides_of_old_formats_are_sections() -> None:
    assert list(sections(read(xls("Rates", [["What", "Share"], ["Oats", 0.25]])))) == ["Rates"]
    assert list(sections(read(ppt(("Harvest", "Rye."), ("Winter", "We rest."))))) == ["Harvest", "Winter"]


@pytest.mark.parametrize("body", [doc("x\r"), xls("a", [["b"]]), ppt(("x", "y"))], ids=["doc", "xls", "ppt"])
def test_damaged_file_of_an_old_format_is_refused_or_read(body: bytes) -> None:
    for end in (600, 1_600, len(body) - 700):
        for damaged in (body[:end], body[:end] + b"\xff" * 200 + body[end + 200 :]):
            try:
                read(damaged)
            except Unreadable as why:
                assert why.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("megabytes", "notice"),
    [(1_000, ""), (300, "it has so many cells that number formats were not applied")],
)
async def test_number_formats_are_applied_within_a_workers_memory(megabytes: int, notice: str) -> None:
    rows = [["Year", "Share"], *([f"<c><v>{n}</v></c>", "<c><v>0.5</v></c>"] for n in range(22_000))]
    document = Document(url="", status=200, media_type=XLSX, charset=None, body=xlsx("Many", rows))
    async with ExtractionPool(1, megabytes=megabytes) as pool:
        article = await pool(document, Extractor.ACCURATE)
    assert article.left_out == notice
    assert article.text.endswith("Year: 21999; Share: 0.5")


@pytest.mark.slow
async def test_sheet_beyond_a_workers_memory_is_refused() -> None:
    rows = [[f"<c><v>{n}</v></c>"] * 10 for n in range(30_000)]
    document = Document(url="", status=200, media_type=XLSX, charset=None, body=xlsx("Many", rows))
    async with ExtractionPool(1, megabytes=200) as pool:
        with pytest.raises(Unreadable, match="OPENQUERY_MEMORY_MB"):
            await pool(document, Extractor.ACCURATE)
