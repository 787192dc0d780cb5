"""Soft hyphens and other characters that nobody sees are no text in any kind of document."""

import json

import pytest

from core.model import Document
from core.reading import extract
from core.reading.file_types import CSV, DOCX, EPUB, ODT, PPTX, XLSX
from core.reading.normalization import normalize
from core.reading.pdf.reader import unwrap_lines
from tests.reading.office_files import docx, epub, odt, pptx, xlsx

READ = "Im Mittelalter wurden die Säulen verkauft."
WRITTEN = "Im Mittel\u00adal\u00adter wurden die Säulen ver\u00adkauft."
DOCUMENTS: dict[str, tuple[str, bytes]] = {
    "page": ("text/html", f"<p>{WRITTEN}</p>".replace("\u00ad", "&shy;").encode()),
    "text": ("text/plain", WRITTEN.encode()),
    "text with a broken word": ("text/plain", WRITTEN.replace("\u00ad", "\u00ad\n", 1).encode()),
    "Markdown": ("text/markdown", WRITTEN.encode()),
    "JSON": ("application/json", json.dumps({"text": WRITTEN}).encode()),
    "table": (CSV, f"a,b\n1,{WRITTEN}\n".encode()),
    "Word document": (DOCX, docx(WRITTEN)),
    "OpenDocument text": (ODT, odt(f"<text:p>{WRITTEN}</text:p>")),
    "slides": (PPTX, pptx(("One", [WRITTEN]))),
    "sheet": (XLSX, xlsx("One", [["a", "b"], ["1", WRITTEN]])),
    "book": (EPUB, epub({"One": f"<p>{WRITTEN}</p>"})),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_soft_hyphens_are_no_text(kind: str) -> None:
    media_type, body = DOCUMENTS[kind]
    document = Document(
        url="https://x.example/a", status=200, media_type=media_type, charset="utf-8", body=body
    )
    assert READ in extract(document).text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("the ware\u200bhouse", "the warehouse"),
        ("call \u202a+49\u202c 30", "call +49 30"),
        ("the word \u2067שלום\u2069 and \u200ethat", "the word שלום and that"),
        ("เรือ\u200bมา", "เรือ\u200bมา"),
        ("می\u200cشود", "می\u200cشود"),
    ],
    ids=["break", "embedding", "isolate", "between words of Thai", "form of a letter"],
)
def test_unseen_marks_are_no_text_unless_a_script_needs_them(written: str, text: str) -> None:
    assert normalize(written) == text


def test_soft_hyphens_of_a_pdf_are_no_text() -> None:
    assert unwrap_lines(WRITTEN) == READ
