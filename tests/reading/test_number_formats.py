"""Cells of a workbook as their number format shows them: dates, times, durations and numbers."""

import time
from xml.sax.saxutils import escape

import pytest

from core.reading.office.number_formats import time_format
from tests.reading.test_office import read
from tests.reading.test_office_details import formatted

NEW_YEAR = "46023"
"""The number of 1 January 2026, a Thursday."""


def attribute(code: str) -> str:
    return escape(code, {'"': "&quot;"})


def shown(code: str, value: str, *, more: str = "", date1904: str = "0") -> str:
    """The text of a cell with this format, value and further attributes."""
    cell = f'<c s="1"{more}><v>{value}</v></c>'
    body = formatted([["What", "Value"], ["Cell", cell]], [attribute(code)], date1904)
    return read(body).text.removeprefix("What: Cell").removeprefix("; Value: ")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("mmm-yy", "2026-01"),
        ("mmmm yyyy", "2026-01"),
        ("m/yyyy", "2026-01"),
        ("yyyy", "2026"),
        ('"FY "yyyy', "FY 2026"),
        ("d/m/yy", "2026-01-01"),
        ("[$-409]d-mmm-yy;@", "2026-01-01"),
        ('d "de" mmmm "de" yyyy', "2026-01-01"),
        ('yyyy"年"m"月"d"日"', "2026-01-01"),
        ('[$-411]ggge"年"m"月"d"日"', "2026-01-01"),
        ("[$-F800]dddd, mmmm dd, yyyy", "Thursday 2026-01-01"),
        ("d mmm", "1 Jan"),
        ("ddd", "Thu"),
        ("[Red]mm/dd", "01/01"),
        ("[<1]h:mm;d/m/yyyy", "2026-01-01"),
    ],
)
def test_date_has_the_parts_that_its_format_shows(code: str, text: str) -> None:
    assert shown(code, NEW_YEAR) == text


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("h:mm", "0.3784", "9:04"),
        ("hh", "0.75", "18"),
        ("h:mm AM/PM", "0.6", "2:24 PM"),
        ("h A/P", "0", "12 A"),
        ('上午/下午h"时"mm"分"', "0.6", "下午2时24分"),
        ("mm:ss", "0.01", "14:24"),
        ("m/d/yy h:mm", f"{NEW_YEAR}.25", "2026-01-01 06:00"),
        ("m/d/yyyy h:mm AM/PM", f"{NEW_YEAR}.75", "2026-01-01 6:00 PM"),
        ('dd/mm/yyyy "um" hh:mm "Uhr"', f"{NEW_YEAR}.6", "2026-01-01 um 14:24 Uhr"),
        ('yyyy-mm-dd"T"hh:mm:ss', f"{NEW_YEAR}.2500058", "2026-01-01 06:00:01"),
        ("yyyy-mm-dd hh:mm", f"{NEW_YEAR}.999999", "2026-01-02 00:00"),
        ("[h]", "1.5", "36"),
        ("[h]:mm", "1.0625", "25:30"),
        ("[h]:mm;[Red]-[h]:mm", "-1.5", "-36:00"),
        ('[h]:mm;-[h]:mm;"none"', "0", "none"),
        ('[h]"h "mm"m"', "1.5", "36h 00m"),
    ],
)
def test_time_has_the_parts_that_its_format_shows(code: str, value: str, text: str) -> None:
    assert shown(code, value) == text


@pytest.mark.parametrize(
    ("code", "value", "text"),
    [
        ("General", "12.5", "12.5"),
        ("# ??/??", "0.25", "1/4"),
        ("# ?/8", "2.625", "2 5/8"),
        ("#,##0,", "1234567", "1,235"),
        ("0.00E+00", "12345", "1.23E+04"),
        ("[Red]0.00;[Blue]-0.00", "-3.5", "-3.50"),
        ("[>0]+0%;[<0]-0%;0%", "-0.12", "-12%"),
        ("[Red][<0](0.0);0.0", "-5", "(5.0)"),
        ("[$€-407] #,##0.00", "1234.5", "€ 1,234.50"),
        ("£#,##0", "1500", "£1,500"),
        ("#,##0 kr", "1500", "1,500 kr"),
        ("0.0x", "2", "2.0x"),
        ("0°", "21", "21°"),
    ],
)
def test_number_is_read_as_its_format_shows_it(code: str, value: str, text: str) -> None:
    assert shown(code, value) == text


@pytest.mark.parametrize(
    ("value", "date1904", "text"),
    [
        ("1", "0", "1900-01-01"),
        ("60", "0", "1900-02-29"),
        ("61", "0", "1900-03-01"),
        ("0", "1", "1904-01-01"),
    ],
)
def test_first_days_are_those_of_the_sheet(value: str, date1904: str, text: str) -> None:
    assert shown("d.m.yyyy", value, date1904=date1904) == text


def test_text_and_error_in_a_cell_with_a_date_format_stay() -> None:
    assert shown("mmm-yy", "as agreed", more=' t="str"') == "as agreed"
    assert shown("mmm-yy", "#N/A", more=' t="e"') == "#N/A"
    assert shown("mmm-yy", NEW_YEAR, more=' t="n"') == "2026-01"


@pytest.mark.parametrize(
    ("code", "moment", "text"),
    [
        ("mmm-yy", "2026-01-01T00:00:00", "2026-01"),
        ("d.m.yyyy", "1900-02-28T12:00:00", "1900-02-28"),
        ("h:mm", "1899-12-31T09:30:00", "9:30"),
        ("d.m.yyyy", "next week", "next week"),
    ],
)
def test_day_that_a_strict_workbook_writes_out_has_its_format(code: str, moment: str, text: str) -> None:
    assert shown(code, moment, more=' t="d"') == text


def test_formula_with_a_date_format_shows_its_date() -> None:
    cell = f'<c s="1"><f>DATE(2026,1,1)&lt;"x"</f><v>{NEW_YEAR}</v></c>'
    assert read(formatted([["What", "Value"], ["Due", cell]], ["mmm-yy"])).text == "What: Due; Value: 2026-01"


@pytest.mark.parametrize(
    "code", ["0.00", "General", "@", "Standard", "[Red]General", "#,##0;(#,##0)", "", "[$-409]0"]
)
def test_format_of_numbers_shows_no_time(code: str) -> None:
    assert time_format(code) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300, -1.0])
def test_number_of_no_day_has_no_date(value: float) -> None:
    form = time_format("d.m.yyyy")
    assert form is not None
    assert form.write(value) is None


@pytest.mark.parametrize("code", ["[" * 50_000, "ymd" * 20_000, "[<" * 30_000, '"' * 50_000, "[>=1" * 20_000])
def test_endless_format_costs_little_time(code: str) -> None:
    began = time.thread_time()
    read(formatted([["What", "Value"], ["Cell", '<c s="1"><v>5</v></c>']], [attribute(code)]))
    assert time.thread_time() - began < 1


@pytest.mark.parametrize("piece", ['<c s="1" ', 's="1" ', '<c s="1"><f>', '<c s="1"><v>', " "])
def test_unclosed_cells_cost_little_time(piece: str) -> None:
    from core.reading.office.prepared import show_times

    form = time_format("d.m.yyyy")
    assert form is not None
    part = f'<worksheet><c s="1">{piece * 50_000}'.encode()
    began = time.thread_time()
    assert show_times(part, {1: form}, from_1904=False) == part
    assert time.thread_time() - began < 1
