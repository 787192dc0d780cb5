"""Chapters of an e-book: notes, tables, captions and lists as a reader sees them."""

import pytest

from core.model import StructureKind
from tests.reading.office_files import epub
from tests.reading.test_office import read

OPS = "xmlns:epub='http://www.idpf.org/2007/ops'"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("the oak<sup>1</sup> fell", "the oak¹ fell"),
        ("the oak<sup><a href='#n1'>12</a></sup> fell", "the oak¹² fell"),
        (f"the oak<a {OPS} epub:type='noteref' href='#n1'>1</a> fell", "the oak¹ fell"),
        ("the oak<a role='doc-noteref' href='#n1'>1</a> fell", "the oak¹ fell"),
        ("the oak<sup><a href='#na'>a</a></sup> fell", "the oak[a] fell"),
        ("the oak<sup>1,2</sup> and the elm<sup>2–4</sup> fell", "the oak¹,² and the elm[2–4] fell"),
        ("<sup><a href='#r1'>1</a></sup> A tall one.", "¹ A tall one."),
        ("in 1848<sup><a href='#n1'>1</a></sup> it fell", "in 1848[1] it fell"),
        ("See <a href='#c2'>chapter</a> 2 or <a href='#p3'>3</a>.", "See chapter 2 or 3."),
    ],
)
def test_mark_of_a_note_stays_apart_from_its_word(markup: str, text: str) -> None:
    assert read(epub({"One": f"<p>{markup}</p>"})).text == text


def test_text_that_a_style_sheet_raises_is_raised() -> None:
    sheet = "p{margin:0} span.up, .high { font-size: 60%; vertical-align: super } .low{vertical-align:sub}"
    chapter = "<p>The oak<span class='up'>1</span> has 10<em class='x high'>6</em> cells and H<span class='low'>2</span>O.</p>"
    book = epub({"One": chapter}, more={"OEBPS/styles/book.css": sheet})
    assert read(book).text == "The oak¹ has 10⁶ cells and H₂O."


def test_table_of_a_book_has_its_caption_and_names_its_columns() -> None:
    table = (
        "<table><caption>Yields of 1848</caption><thead><tr><th>Crop</th><th>Yield</th></tr></thead>"
        "<tbody><tr><td>Rye</td><td>41</td></tr><tr><td>Oats</td><td>30</td></tr></tbody></table>"
    )
    article = read(epub({"One": f"<p>Before.</p>{table}<p>After.</p>"}))
    assert article.text == "Before.\n\nYields of 1848\nCrop: Rye; Yield: 41\nCrop: Oats; Yield: 30\n\nAfter."
    whole = "Yields of 1848\nCrop: Rye; Yield: 41\nCrop: Oats; Yield: 30"
    assert [article.text[start:end] for start, end, _ in article.structures] == [whole]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<ol><li>Mow</li><li>Dry</li></ol>", "1. Mow\n2. Dry"),
        ("<ol start='3'><li>Mow</li><li value='7'><p>Dry</p><p>well.</p></li></ol>", "3. Mow\n7. Dry\n\nwell."),
        ("<ol reversed=''><li>Mow</li><li>Dry</li></ol>", "2. Mow\n1. Dry"),
        ("<ol type='I'><li>Mow</li></ol><ol type='a'><li>Dry</li></ol>", "I. Mow\n\na) Dry"),
        ("<ul><li>Mow<ol><li>hay</li></ol></li><li><p>Dry</p></li></ul>", "- Mow\n1. hay\n- Dry"),
        ("<ol><li>1. Mow</li><li>(2) Dry</li></ol>", "1. Mow\n\n(2) Dry"),
        ("<ol style='list-style-type: none'><li>Mow</li><li>Dry</li></ol>", "Mow\n\nDry"),
        ("<ol><li><em>Mow</em> and dry</li><li><img src='x'/>Cart</li><li></li></ol>", "1. Mow and dry\n2. Cart"),
    ],
)  # fmt: skip
def test_items_of_a_list_have_the_marks_that_are_seen(markup: str, text: str) -> None:
    assert read(epub({"One": markup})).text == text


def test_code_of_a_book_keeps_its_indentation() -> None:
    code = "def mow(field):\n    for row in field:\n        row.cut()"
    article = read(epub({"One": f"<p>Before.</p><pre><code>{code}\n</code></pre><p>After.</p>"}))
    assert article.text == f"Before.\n\n{code}\n\nAfter."
    assert [(article.text[start:end], kind) for start, end, kind in article.structures] == [
        (code, StructureKind.CODE)
    ]
