"""Slides in the order in which a person reads them, which is not the order in which they were drawn."""

import io
import zipfile

import pytest

from tests.reading.office_files import pptx
from tests.reading.test_office import read
from tests.reading.test_office_details import packed_with

LOW, HIGH, LEFT, RIGHT = 3_000_000, 1_000_000, 500_000, 5_000_000


def box(text: str, left: int, top: int, kind: str = "") -> str:
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="5" name="b"/><p:cNvSpPr/><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:spPr><a:xfrm>'
        f'<a:off x="{left}" y="{top}"/><a:ext cx="4000000" cy="900000"/></a:xfrm></p:spPr><p:txBody><a:bodyPr/><a:p><a:r>'
        f"<a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def slide(*shapes: str) -> list[str]:
    """The texts of a slide with a title and these shapes, in order."""
    body = pptx(("Crops", []))
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        part = archive.read("ppt/slides/slide1.xml").decode()
    part = part.replace("</p:spTree>", f"{''.join(shapes)}</p:spTree>")
    return read(packed_with(body, {"ppt/slides/slide1.xml": part})).text.split("\n\n")[1:]


@pytest.mark.parametrize(
    ("shapes", "texts"),
    [
        ([box("Reap", LEFT, LOW), box("Sow", LEFT, HIGH)], ["Sow", "Reap"]),
        ([box("Oats", RIGHT, HIGH), box("Rye", LEFT, HIGH + 9_000)], ["Rye", "Oats"]),
        (
            [
                box("Rye", LEFT, HIGH),
                box("41 t", LEFT, LOW),
                box("Oats", RIGHT, HIGH),
                box("30 t", RIGHT, LOW),
            ],
            ["Rye", "41 t", "Oats", "30 t"],
        ),
        (
            [
                box("Rye", LEFT, HIGH),
                box("Oats", RIGHT, HIGH),
                box("41 t", LEFT, LOW),
                box("30 t", RIGHT, LOW),
            ],
            ["Rye", "Oats", "41 t", "30 t"],
        ),
        ([box("Far low", RIGHT, LOW), box("Far high", LEFT, HIGH)], ["Far low", "Far high"]),
        ([box("Low title", LEFT, LOW, '<p:ph type="title"/>'), box("Sow", LEFT, HIGH)], ["Low title", "Sow"]),
    ],
    ids=["below", "beside", "columns", "rows", "neither", "title"],
)
def test_shapes_are_read_by_their_places(shapes: list[str], texts: list[str]) -> None:
    assert slide(*shapes) == texts


@pytest.mark.parametrize("place", ['<a:off x="1" y="x"/>', "", '<a:off x="1" y="2"/><a:ext cx="0" cy="0"/>'])
def test_shape_of_no_place_is_read(place: str) -> None:
    shape = box("Sow", LEFT, HIGH)
    begin, end = shape.index("<a:off"), shape.index("</a:xfrm>")
    assert slide(box("Reap", LEFT, LOW), shape[:begin] + place + shape[end:]) == ["Reap", "Sow"]


def test_line_end_in_a_title_is_no_code() -> None:
    body = pptx(("Rye_x000B_and oats", ["Sown."]))
    assert read(body).text == "Rye and oats\n\nSown."
