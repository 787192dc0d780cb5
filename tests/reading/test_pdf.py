"""PDFs become text by page."""

import pytest

from core.model import Article, Document, SkipReason, Unreadable
from core.reading import extract
from core.reading.pdf.reader import unwrap_lines


def pdf(*pages: list[str], info: str = "") -> bytes:
    """A small PDF with these lines on each page, written by hand."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for lines in pages:
        operators = " ".join(f"({line}) Tj T*" for line in lines)
        stream = f"BT /F1 11 Tf 14 TL 60 740 Td {operators} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    objects.append(f"<< {info} >>")
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}\nstartxref\n{len(body)}\n%%EOF"
    return body + end.encode()


def read(body: bytes) -> Article:
    return extract(
        Document(
            url="https://x.example/a.pdf", status=200, media_type="application/pdf", charset=None, body=body
        )
    )


def test_pages_are_read_in_order_and_their_beginnings_marked() -> None:
    article = read(pdf(["First page."], ["Second page."], [], ["Fourth page."]))
    assert article.extractor == "pdfium"
    assert [article.text[start:].partition("\n")[0] for start in article.page_starts] == [
        "First page.",
        "Second page.",
        "",
        "Fourth page.",
    ]


def test_title_author_and_date_come_from_the_document() -> None:
    info = "/Title (Columns of basalt) /Author (Ada Stone) /CreationDate (D:20240305101500Z)"
    article = read(pdf(["Some words."], info=info))
    assert (article.title, article.author, article.date) == ("Columns of basalt", "Ada Stone", "2024-03-05")


@pytest.mark.parametrize(
    ("title", "author", "expected"),
    [
        ("untitled", "anonymous", ("", "")),
        ("Untitled Document 3", "(anonymous)", ("", "")),
        ("PowerPoint Presentation", "Unknown", ("", "")),
        ("Microsoft Word - Report on basalt.docx", "A. Stone", ("Report on basalt.docx", "A. Stone")),
        (
            "Untitled works of Ada Stone",
            "Anonymous collective",
            ("Untitled works of Ada Stone", "Anonymous collective"),
        ),
        ("Book of hours", "Unknown soldier", ("Book of hours", "Unknown soldier")),
    ],
)
def test_what_programs_declare_without_a_person_is_no_title(
    title: str, author: str, expected: tuple[str, str]
) -> None:
    escaped = (text.replace("(", r"\(").replace(")", r"\)") for text in (title, author))
    article = read(pdf(["Some words."], info="/Title ({}) /Author ({})".format(*escaped)))
    assert (article.title, article.author) == expected


def test_lines_of_a_column_become_paragraphs() -> None:
    lines = [
        "Basalt columns form when thick lava cools slowly and shrinks, which",
        "takes years. The cracks run inwards from the surface and meet at an-",
        "gles of about 120 degrees.",
        "A second paragraph begins here and goes on for a while, so that it",
        "ends on its next line.",
    ]
    text = read(pdf(lines)).text
    assert text.split("\n\n") == [
        "Basalt columns form when thick lava cools slowly and shrinks, which takes years. The cracks run inwards from "
        "the surface and meet at angles of about 120 degrees.",
        "A second paragraph begins here and goes on for a while, so that it ends on its next line.",
    ]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("The har\ufffebour of basalt is old and the ships in it are older", "The harbour of basalt is old"),
        ("The light burns for 24-\nhour shifts, and it is never put out at all", "for 24-hour shifts"),
        ("This is a method that is based on DNA\ufffebased analysis of the leaves", "on DNA-based analysis"),
    ],
)
def test_broken_word_is_joined_and_a_compound_keeps_its_hyphen(lines: str, text: str) -> None:
    assert text in unwrap_lines(lines)


@pytest.mark.parametrize(
    ("elsewhere", "text"),
    [
        ("It is a well-known fact that water flows down", "a well-known mill"),
        ("It was wellknown to the men of the water side", "a wellknown mill"),
        ("It is a fact that water flows down to the sea", "a well-known mill"),
    ],
)
def test_hyphen_at_the_end_of_a_line_is_read_by_the_rest_of_the_document(elsewhere: str, text: str) -> None:
    lines = [
        "The wheel and its race are parts of a well-",
        "known mill that grinds the corn of the whole valley.",
    ]
    assert text in read(pdf(lines, [elsewhere])).text


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["The stone is turned by a water-", "wheel. The water comes by a race, and the wheel is of oak."], "a water-wheel"),
        (["The stone was turned there-", "fore by hand. There is no race, and what it is fore nobody says."], "turned therefore"),
        (["The crew were out-of-", "work men of the valley, as is told by the mill and its owner."], "out-of-work men"),
        (["The stones are long-", "er than those of the mill, and er is no word of the long book."], "are longer than"),
    ],
)  # fmt: skip
def test_parts_that_are_words_are_a_compound(lines: list[str], text: str) -> None:
    assert text in read(pdf(lines)).text


def test_lists_and_chinese_lines_keep_their_form() -> None:
    items = (
        "- one thing that is long enough to fill the line\n- another thing that is as long as the first one"
    )
    assert len(unwrap_lines(items).split("\n\n")) == 2
    assert (
        unwrap_lines("玄武岩柱是厚熔岩缓慢冷却\n收缩时形成的。") == "玄武岩柱是厚熔岩缓慢冷却收缩时形成的。"
    )


@pytest.mark.parametrize("body", [b"%PDF-1.7", b"%PDF-1.7\n" + b"\x00" * 5000, pdf(["x"])[:200], b"nothing"])
def test_damaged_documents_are_refused(body: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        read(body)
    assert caught.value.reason in (SkipReason.BROKEN, SkipReason.EMPTY)


def test_document_without_text_is_named_a_possible_scan() -> None:
    with pytest.raises(Unreadable) as caught:
        read(pdf([], []))
    assert caught.value.reason is SkipReason.EMPTY
    assert "scan" in caught.value.detail
