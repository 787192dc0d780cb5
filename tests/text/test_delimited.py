"""Delimited text as spreadsheets write it."""

import pytest

from core.text.delimited import MalformedRow, column_places, delimited_rows

ROWS = [["name", "note", "tons"], ["Gull, the", "sails; daily", "1,5"], ["Heron", 'says "aye"', "2,0"]]


def cells(text: str) -> list[list[str]]:
    return [row for _, row in delimited_rows(text)]


def written(delimiter: str, end: str = "\r\n") -> str:
    def quoted(cell: str) -> str:
        doubled = cell.replace('"', '""')
        return f'"{doubled}"' if '"' in cell or delimiter in cell else cell

    return "".join(delimiter.join(map(quoted, row)) + end for row in ROWS)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiter_is_found(delimiter: str, end: str) -> None:
    assert cells(written(delimiter, end)) == ROWS


def test_delimiter_that_the_first_line_names_is_used() -> None:
    assert cells(f"sep=;\r\n{written(';')}") == ROWS
    assert cells(f"\ufeffSEP=^\n{written('^')}") == ROWS


def test_rows_of_unequal_length_are_divided_like_the_head() -> None:
    text = "ship;crew\nGull;four, five\nHeron\nTern;one, two, three\n"
    assert cells(text) == [["ship", "crew"], ["Gull", "four, five"], ["Heron"], ["Tern", "one, two, three"]]


def test_line_break_and_delimiter_in_quotation_marks_stay_inside() -> None:
    assert cells('ship, cargo\nGull, "salt,\nrope"\n') == [["ship", "cargo"], ["Gull", "salt,\nrope"]]


def test_quotation_marks_inside_of_cells_between_tabs_are_characters() -> None:
    assert cells('ship\tcargo\n"Old" Gull\tsalt\n"Heron\trope\n') == [
        ["ship", "cargo"],
        ['"Old" Gull', "salt"],
        ['"Heron', "rope"],
    ]
    assert cells('ship\tcargo\n"The ""Gull""\nof May"\tsalt\n')[1] == ['The "Gull"\nof May', "salt"]


def test_line_separator_of_unicode_divides_no_row() -> None:
    assert cells("ship,cargo\nGull,salt\u2028rope\x85tar\n")[1] == ["Gull", "salt\u2028rope\x85tar"]


def test_rows_have_the_number_of_their_line() -> None:
    assert list(delimited_rows("sep=,\na,b\n\n1,2\n")) == [(2, ["a", "b"]), (4, ["1", "2"])]


def test_columns_are_named_in_any_case_and_with_blanks() -> None:
    assert column_places([" Question ", "EXCERPT", "\ufeffSource\u00a0file", "question"]) == {
        "question": 0,
        "excerpt": 1,
        "source file": 2,
    }


def test_cell_that_is_too_long_names_its_line() -> None:
    with pytest.raises(MalformedRow) as error:
        cells(f"a,b\n1,{'x' * 1_100_000}\n")
    assert error.value.line == 2


def test_numbers_with_a_decimal_comma_are_one_column() -> None:
    assert [cells for _, cells in delimited_rows("price\n1,5\n2,50\n")] == [["price"], ["1,5"], ["2,50"]]
