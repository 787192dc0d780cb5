"""Columns of a PDF that are drawn line by line across them are read one after the other, and tables by rows."""

import textwrap
import time
from collections.abc import Sequence

import pytest

from tests.reading.test_pdf import read
from tests.reading.test_pdf_parts import page

COURIER = "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
MILL = "The mill was built in the year of the flood by two brothers who had learned their trade by the sea."
WEIR = "Its weir holds back the water of three brooks, and a ladder beside it lets the young eels climb up."
LOCK = "Boats pass a lock that a keeper opens by hand in the morning, at noon and once more in the evening."
QUAY = "From the quay one sees the old crane, which is lit at night so that it can be seen across the bay."
HEAD = "Mills, weirs and locks of the lower river, told by those who keep them"

Placed = tuple[int, int, str]
"""From the left and from the bottom, in points, and the text, of which a character is 6 points wide."""


def column(left: int, top: int, *paragraphs: str, width: int = 36, gap: int = 0) -> list[Placed]:
    lines: list[Placed] = []
    for paragraph in paragraphs:
        for line in textwrap.wrap(paragraph, width):
            lines.append((left, top, line))
            top -= 12
        top -= gap
    return lines


def drawn(*placed: Placed, by_words: bool = False) -> str:
    """The text of a PDF that draws these texts in this order."""
    if by_words:
        placed = tuple(
            (left + 6 * sum(len(word) + 1 for word in words[:number]), bottom, word)
            for left, bottom, line in placed
            for words in [line.split()]
            for number, word in enumerate(words)
        )
    content = " ".join(f"BT /F1 10 Tf {left} {bottom} Td ({line}) Tj ET" for left, bottom, line in placed)
    return " ".join(read(page(content, font=COURIER)).text.split())


def by_height(placed: Sequence[Placed]) -> list[Placed]:
    return sorted(placed, key=lambda each: (-each[1], each[0]))


@pytest.mark.parametrize("by_words", [False, True])
@pytest.mark.parametrize("gutter", [10, 40])
@pytest.mark.parametrize("lower", [0, 5])
def test_two_columns_are_read_one_after_the_other(gutter: int, lower: int, *, by_words: bool) -> None:
    placed = column(60, 700, MILL, WEIR) + column(276 + gutter, 700 - lower, LOCK, QUAY)
    assert drawn(*by_height(placed), by_words=by_words) == f"{MILL} {WEIR} {LOCK} {QUAY}"


def test_title_and_foot_across_the_columns_stay_above_and_below() -> None:
    placed = [
        (60, 740, HEAD), *column(60, 700, MILL, WEIR), *column(312, 700, LOCK, QUAY),
        (60, 590, HEAD.upper()), *column(60, 560, WEIR), *column(312, 560, MILL), (291, 30, "17"),
    ]  # fmt: skip
    text = f"{HEAD} {MILL} {WEIR} {LOCK} {QUAY} {HEAD.upper()} {WEIR} {MILL} 17"
    assert drawn(*by_height(placed)) == text


def test_three_columns_are_read_one_after_the_other() -> None:
    texts = (f"{MILL} {WEIR}", f"{LOCK} {QUAY}", f"{WEIR} {MILL}")
    placed = [
        each for number, text in enumerate(texts) for each in column(40 + 180 * number, 700, text, width=26)
    ]
    assert drawn(*by_height(placed)) == " ".join(texts)


def test_columns_that_are_drawn_one_after_the_other_keep_their_order() -> None:
    placed = column(312, 700, LOCK, QUAY) + column(60, 700, MILL, WEIR)
    assert drawn(*placed) == f"{LOCK} {QUAY} {MILL} {WEIR}"


def test_rows_of_a_table_stay_together() -> None:
    cells = [
        ("Sole, whole", "14.50"),
        ("Cod", "11.20"),
        ("Eel, smoked", "21.00"),
        ("Crab", "17.00"),
        ("Mussels", "6.40"),
        ("Herring", "4.10"),
    ]
    placed = [
        (left, 700 - 14 * row, cell)
        for row, cells in enumerate(cells)
        for left, cell in zip((60, 320), cells, strict=True)
    ]
    assert drawn(*placed) == " ".join(cell for row in cells for cell in row)


def test_terms_stay_beside_their_meaning() -> None:
    placed = [
        each
        for row, text in enumerate((MILL, WEIR, LOCK))
        for each in [(60, 700 - 60 * row, "Term"), *column(200, 700 - 60 * row, text)]
    ]
    assert drawn(*by_height(placed)) == f"Term {MILL} Term {WEIR} Term {LOCK}"


def test_cells_of_several_lines_are_read_row_by_row() -> None:
    placed = column(60, 700, MILL, WEIR, LOCK, gap=18) + column(312, 700, QUAY, MILL, WEIR, gap=18)
    assert drawn(*by_height(placed)) == f"{MILL} {QUAY} {WEIR} {MILL} {LOCK} {WEIR}"


def test_raised_text_in_columns_stays_apart() -> None:
    lines = by_height(column(60, 700, MILL, WEIR) + column(312, 700, LOCK, QUAY))
    content = " ".join(f"BT /F1 10 Tf {left} {bottom} Td ({line}) Tj ET" for left, bottom, line in lines)
    raised = "BT /F1 10 Tf 60 620 Td (It holds 10) Tj /F1 6 Tf 4 Ts (6) Tj 0 Ts /F1 10 Tf ( litres.) Tj ET"
    text = " ".join(read(page(f"{content} {raised}", font=COURIER)).text.split())
    assert text == f"{MILL} {WEIR} It holds 10⁶ litres. {LOCK} {QUAY}"


def test_very_many_pieces_cost_little_time() -> None:
    placed = [
        (7 * (place % 83), 10 + 2 * (place // 83), "abcdefghij"[: 1 + place % 10]) for place in range(4_900)
    ]
    began = time.process_time()
    drawn(*placed)
    assert time.process_time() - began < 3
