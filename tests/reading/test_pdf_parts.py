"""Raised text, form fields and notes of PDFs, and the count of what is not text."""

from collections.abc import Sequence

import pytest

from core.model import SkipReason, Unreadable
from core.reading.pdf.images import draw_page
from tests.reading.test_pdf import pdf, read

HELVETICA = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
FONT = "/Resources << /Font << /F1 5 0 R >> /XObject << /Im1 6 0 R >> >>"


def page(
    content: str, *objects: str, root: str = "", annotations: Sequence[int] = (), font: str = HELVETICA
) -> bytes:
    """A PDF of one page with this content. Further objects are numbered from 7."""
    listed = " ".join(f"{number} 0 R" for number in annotations)
    written = [
        f"<< /Type /Catalog /Pages 2 0 R {root} >>",
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Annots [{listed}] {FONT} >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        font,
        "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>"
        "\nstream\nx\nendstream",
        *objects,
    ]
    body, places = b"%PDF-1.7\n", []
    for number, each in enumerate(written, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{each}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(written) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return body + end.encode()


def line(*pieces: str) -> str:
    """A line of text. A piece that begins with ^ is raised, with _ lowered, both smaller."""
    operators = "BT 72 700 Td "
    for piece in pieces:
        size, rise, text = (
            (7, 5, piece[1:])
            if piece[0] == "^"
            else (7, -2, piece[1:])
            if piece[0] == "_"
            else (12, 0, piece)
        )
        operators += f"/F1 {size} Tf {rise} Ts ({text}) Tj "
    return operators + "ET"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["The dam holds 10", "^6", " litres of water."], "The dam holds 10⁶ litres of water."),
        (["It is 4 ", "x 10", "^-9", ", or less."], "It is 4 x 10⁻⁹, or less."),
        (["An area of 25 m", "^2", "."], "An area of 25 m²."),
        (["Water is H", "_2", "O."], "Water is H₂O."),
        (["The sum is 2", "^k", " in all cases."], "The sum is 2^k in all cases."),
        (["A note", "^a,b", " follows."], "A note^(a,b) follows."),
        (["On the 5", "^th", " day it rained."], "On the 5th day it rained."),
        (["In 1906 nothing was raised."], "In 1906 nothing was raised."),
    ],
)
def test_raised_and_lowered_text_of_a_pdf_stays_apart(pieces: list[str], text: str) -> None:
    assert read(page(line(*pieces))).text == text


@pytest.mark.parametrize(
    "content",
    [
        "BT /F1 1 Tf 12 0 0 12 72 700 Tm (Light of 10) Tj 7 0 0 7 128.2 705 Tm (6) Tj 12 0 0 12 136 700 Tm (candelas.) Tj ET",
        "q 0.1 0 0 0.1 0 0 cm BT /F1 120 Tf 720 7000 Td (Light of 10) Tj /F1 70 Tf 562 43 Td (6) Tj /F1 120 Tf 70 -43 Td (candelas.) Tj ET Q",
        "BT /F1 12 Tf 72 700 Td (Light of 10) Tj ET BT /F1 7 Tf 128.2 705 Td (6) Tj ET BT /F1 12 Tf 136 700 Td (candelas.) Tj ET",
    ],
    ids=["scaled text", "scaled page", "pieces of their own"],
)
def test_raised_text_is_told_by_its_size_on_the_page(content: str) -> None:
    assert read(page(content)).text == "Light of 10⁶ candelas."


def test_small_text_on_the_line_is_not_raised() -> None:
    content = "BT 72 700 Td /F1 12 Tf (Item 10) Tj /F1 7 Tf (6) Tj ET"
    assert read(page(content)).text == "Item 106"


def lines(*written: tuple[int, int, str]) -> str:
    """Lines of text: the size of their letters, their height on the page, and their words."""
    return " ".join(f"BT /F1 {size} Tf 72 {height} Td ({words}) Tj ET" for size, height, words in written)


@pytest.mark.parametrize(
    "content",
    [
        lines((18, 740, "Mooring application"), (11, 722, "Ship"), (11, 708, "Length"), (11, 694, "Port")),
        lines((11, 740, "Mooring application"), (11, 700, "Ship"), (11, 660, "Length"), (11, 620, "Port")),
    ],
    ids=["larger", "apart"],
)
def test_title_of_a_form_does_not_join_its_first_label(content: str) -> None:
    assert read(page(content)).text.startswith("Mooring application\n\nShip\n\nLength")


def test_sentence_goes_on_below_a_picture() -> None:
    text = "The weir was built of oak and was repaired", "twice by the parish before it fell."
    assert read(page(lines((11, 740, text[0]), (11, 640, text[1])))).text == " ".join(text)


def test_lines_that_a_scan_gives_sizes_of_their_own_stay_together() -> None:
    words = (
        "The weir was built of oak and repaired twice by",
        "the parish of the lower valley before it fell in",
        "the great flood of the spring of that year and",
    )
    content = lines(
        *(
            (size, 740 - 14 * place, line)
            for place, (size, line) in enumerate(zip((10, 12, 14), words, strict=True))
        )
    )
    assert read(page(content)).text == " ".join(words)


def widget(field: str, bottom: int) -> str:
    return f"<< /Type /Annot /Subtype /Widget /F 4 /P 3 0 R /Rect [220 {bottom} 420 {bottom + 16}] {field} >>"


def test_filled_fields_are_read_with_their_labels() -> None:
    labels = "BT /F1 12 Tf 72 700 Td (Ship:) Tj 0 -30 Td (Length:) Tj 0 -30 Td (Insured:) Tj 0 -30 Td (Port:) Tj 0 -30 Td (Crew:) Tj ET"
    fields = [
        widget("/FT /Tx /T (f1) /V (Grey Gull)", 696),
        widget("/FT /Tx /T (f2) /V (11.25)", 666),
        widget("/FT /Btn /T (f3) /V /On /AS /On", 636),
        widget("/FT /Ch /Ff 131072 /T (f4) /V (North) /Opt [(North) (South)]", 606),
        widget("/FT /Tx /T (f5)", 576),
        widget("/FT /Tx /T (f6) /TU (Home port) /V <FEFF00C500730065>", 100),
    ]
    numbers = range(7, 7 + len(fields))
    root = f"/AcroForm << /Fields [{' '.join(f'{number} 0 R' for number in numbers)}] >>"
    article = read(page(labels, *fields, root=root, annotations=numbers))
    assert article.text.endswith(
        "Ship: Grey Gull\n\nLength: 11.25\n\nInsured: ☑ yes\n\nPort: North\n\nHome port: Åse"
    )


def test_filled_fields_are_in_the_picture_of_their_page() -> None:
    look = "<< /Type /XObject /Subtype /Form /BBox [0 0 200 16] /Length 29 >>\nstream\n0 0 1 rg 0 0 200 16 re f     \nendstream"
    field = widget("/FT /Tx /T (f1) /V (Grey Gull) /AP << /N 8 0 R >>", 696)
    root = "/AcroForm << /Fields [7 0 R] >>"
    filled = draw_page(page(line("Ship"), field, look, root=root, annotations=[7]), 1, 200)
    assert filled != draw_page(page(line("Ship")), 1, 200)


def test_hidden_fields_are_counted_and_passwords_are_dots() -> None:
    fields = [
        widget("/FT /Tx /T (f1) /TU (Ship) /V (Gull)", 696).replace("/F 4", "/F 2"),
        widget("/FT /Tx /Ff 8192 /T (f2) /TU (Code) /V (4711)", 666),
    ]
    root = "/AcroForm << /Fields [7 0 R 8 0 R] >>"
    article = read(page(line("Form"), *fields, root=root, annotations=[7, 8]))
    assert article.text == "Form\n\nCode: ••••"
    assert article.left_out == "1 hidden field was not read"


def test_form_with_a_script_is_read_without_running_it() -> None:
    script = "/AA << /C << /S /JavaScript /JS (event.value = 'computed') >> >>"
    field = widget(f"/FT /Tx /T (sum) /V (12) {script}", 696)
    root = "/AcroForm << /Fields [7 0 R] /CO [7 0 R] >> /OpenAction << /S /JavaScript /JS (app.alert(1)) >>"
    text = read(page("BT /F1 12 Tf 72 700 Td (Sum:) Tj ET", field, root=root, annotations=[7])).text
    assert "Sum: 12" in text
    assert "computed" not in text


def test_notes_are_read_with_their_place() -> None:
    notes = [
        "<< /Type /Annot /Subtype /Text /Rect [500 730 520 750] /Contents (Ask the owner.) >>",
        "<< /Type /Annot /Subtype /FreeText /Rect [72 40 300 60] /Contents (Closed since May.) >>",
        "<< /Type /Annot /Subtype /Highlight /Rect [70 697 200 712] /QuadPoints [70 712 200 712 70 697 200 697] /Contents (Is it?) >>",
        "<< /Type /Annot /Subtype /Popup /Rect [0 0 9 9] /Contents (Shown twice.) >>",
    ]
    article = read(page("BT /F1 12 Tf 72 700 Td (The quay is long.) Tj ET", *notes, annotations=range(7, 11)))
    assert article.text == (
        "The quay is long.\n\nNote at the top of the page: Ask the owner.\n\nNote on “The quay is long.”: Is it?\n\n"
        "Note at the bottom of the page: Closed since May."
    )


def test_pictures_and_embedded_files_of_a_pdf_are_counted() -> None:
    files = "/Names << /EmbeddedFiles << /Names [(a.txt) << /Type /Filespec /F (a.txt) /EF << /F 7 0 R >> >>] >> >>"
    content = f"{line('Words.')} q 50 0 0 50 72 600 cm /Im1 Do Q q 50 0 0 50 72 500 cm /Im1 Do Q"
    body = page(content, "<< /Type /EmbeddedFile /Length 1 >>\nstream\nx\nendstream", root=files)
    assert read(body).left_out == "2 pictures and 1 embedded file were not read"
    assert read(pdf(["Words."])).left_out == ""


def test_attached_files_and_xml_forms_are_counted() -> None:
    note = (
        "<< /Type /Annot /Subtype /FileAttachment /Rect [72 40 90 60] /FS << /Type /Filespec /F (a.txt) >> >>"
    )
    assert read(page(line("Words."), note, annotations=[7])).left_out == "1 attached file was not read"
    form = "<< /Length 9 >>\nstream\n<xdp:xdp>\nendstream"
    root = "/NeedsRendering true /AcroForm << /Fields [] /XFA 7 0 R >>"
    assert read(page(line("Please wait."), form, root=root)).left_out == "1 XFA form was not read"


def test_scanned_page_is_told_from_an_empty_one() -> None:
    with pytest.raises(Unreadable) as caught:
        read(page("q 612 0 0 792 0 0 cm /Im1 Do Q"))
    assert (caught.value.reason, "1 scanned page" in caught.value.detail) == (SkipReason.EMPTY, True)


def test_page_whose_font_maps_no_characters_is_counted() -> None:
    descriptor = (
        "<< /Type /FontDescriptor /FontName /AAAAAA+X /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 "
        "/Descent -200 /CapHeight 700 /StemV 80 >>"
    )
    descendant = (
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /AAAAAA+X /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) "
        f"/Supplement 0 >> /FontDescriptor {descriptor} >>"
    )
    font = f"<< /Type /Font /Subtype /Type0 /BaseFont /AAAAAA+X /Encoding /Identity-H /DescendantFonts [{descendant}] >>"
    content = "BT 72 700 Td /F1 12 Tf <0024002500260027> Tj ET"
    with pytest.raises(Unreadable, match="1 page with fonts of unknown characters was not read"):
        read(page(content, font=font))
