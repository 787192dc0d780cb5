"""Pages that attack the parser that reads them."""

import zlib

from core.model import Extractor, Page, SkipReason
from tests.bombs import zlib_stream
from tests.hostile.case import Case
from tests.hostile.words import LONG, PROSE
from tests.loopback import Reply, Route

S = SkipReason


def document(inner: str, head: str = "<title>Kettles</title>") -> Reply:
    return Reply(f"<!doctype html><html lang='en'><head>{head}</head><body>{inner}</body></html>".encode())


def article(inner: str = "", head: str = "<title>Kettles</title>") -> Reply:
    return document(f"<article><h1>Kettles</h1><p>{LONG}</p>{inner}<p>{LONG}</p></article>", head)


def pdf(*objects: bytes) -> bytes:
    """A PDF of these objects, numbered from 1; the first must be its catalogue."""
    body = b"%PDF-1.7\n"
    for number, content in enumerate(objects, start=1):
        body += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    return body + b"trailer\n<< /Root 1 0 R /Size %d >>\n%%%%EOF\n" % (len(objects) + 1)


def stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), more, data)


def pdf_page(content: bytes, kids: bytes = b"[3 0 R]") -> bytes:
    return pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids %b /Count 1 >>" % kids,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        content,
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )


def _squeezed(data: bytes, times: int) -> bytes:
    for _ in range(times):
        data = zlib.compress(data, 9)
    return data


def _laughs() -> bytes:
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY l0 "kettle">{levels}]><r>&l9;</r>'.encode()


_OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y SYSTEM "http://127.0.0.2:9/">'
    f"]><r><p>{PROSE}</p>&x;&y;</r>"
).encode()
TEXT_OP = b"BT /F 12 Tf 50 700 Td (Kettles boil water in every kitchen of this town.) Tj ET\n"


def page_case(group: str, name: str, reason: SkipReason | None, page: Route, **more: object) -> Case:
    return Case(group, name, reason, routes={"/": page}, **more)  # type: ignore[arg-type]


def sane(page: Page) -> bool:
    """The honest words are there, and nothing that no reader would see."""
    return PROSE[:60] in page.text and not any(ord(c) < 32 and c != "\n" for c in page.text + page.title)


_P = "Pages that attack their parser"

PARSERS = (
    page_case(_P, "100,000 nested elements", S.BROKEN, document("<div>" * 100_000)),
    page_case(
        _P,
        "100,000 nested elements, to the fast reader",
        S.BROKEN,
        document("<b>" * 100_000),
        extractor=Extractor.FAST,
    ),
    page_case(_P, "50,000 nested lists and tables", S.BROKEN, document("<ul><li><table><tr><td>" * 10_000)),
    page_case(
        _P,
        "180,000 paragraphs that are not closed",
        None,
        article("<p>open " * 180_000),
        megabytes=3.0,
        holds=lambda page: PROSE[:60] in page.text and bool(page.article.fallback),
    ),
    page_case(
        _P,
        "600 fonts that are left open around 20,000 paragraphs",
        S.BROKEN,
        document("<div>" + "".join(f"<font size={n}>" for n in range(600)) + "</div>" + "<p>x</p>" * 20_000),
        says="nested up to",
    ),
    page_case(
        _P,
        "50,000 nested elements, with end tags of others between them",
        S.BROKEN,
        document("<b><div></b>" * 50_000),
    ),
    page_case(
        _P,
        "letters of no size, 1,000 times inside each other",
        None,
        article("<div style='font-size:0'><p style='x:y'>k</p>" * 1_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P, "100,000 tags that are closed and never opened", None, article("</div>" * 100_000), holds=sane
    ),
    page_case(
        _P,
        "100,000 attributes on one element",
        S.CRASHED,
        article("<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">"),
        holds=sane,
    ),
    page_case(
        _P,
        "a tag that never ends",
        None,
        article("<a " + "x" * 500_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "a comment that never ends",
        None,
        article("<!--" + "-" * 500_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "50,000 openings of a comment",
        None,
        article("<!--" * 50_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "100,000 openings of a script",
        None,
        article("<script" * 70_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "100,000 openings of a style",
        None,
        article("<style=" * 70_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "bait for patterns: openings of titles",
        S.BROKEN,
        article("<title " * 80_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "bait for patterns: openings of metadata",
        None,
        article("<meta property=og:title content='" * 25_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "bait for patterns: openings of dates",
        S.BROKEN,
        article("<time datetime=" * 40_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "bait for patterns: white space",
        None,
        article(" " * 400_000 + "<br>" + "\t\n" * 200_000),
        holds=sane,
    ),
    page_case(
        _P,
        "bait for patterns: one line of full stops",
        None,
        article("." * 700_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "50,000 references to entities",
        None,
        article("&amp;&#x202e;&lt;" * 30_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(
        _P,
        "style that hides 20,000 elements",
        None,
        article('<i style="display:none">k</i>' * 20_000),
        holds=sane,
    ),
    page_case(
        _P,
        "20,000 forms with 20,000 fields",
        S.BROKEN,
        article("<form><input><select><option>k" * 12_000),
        holds=lambda page: PROSE[:60] in page.text,
    ),
    page_case(_P, "XML that multiplies its entities", S.EMPTY, Reply(_laughs(), "application/xml")),
    page_case(
        _P,
        "XML with entities from outside",
        None,
        Reply(_OUTSIDE, "application/xml"),
        holds=lambda page: "root:" not in page.text,
    ),
    page_case(
        _P, "JSON nested 100,000 deep", S.BROKEN, Reply(b"[" * 100_000 + b"]" * 100_000, "application/json")
    ),
    page_case(_P, "JSON that is cut off", S.BROKEN, Reply(b'{"kettles": [1, 2', "application/json")),
    page_case(
        _P,
        "JSON with a number of a million digits",
        S.BROKEN,
        Reply(b"[" + b"9" * 900_000 + b"]", "application/json"),
    ),
    page_case(_P, "a PDF that is cut off", S.BROKEN, Reply(b"%PDF-1.7\n1 0 obj <<", "application/pdf")),
    page_case(
        _P,
        "a PDF of random bytes",
        S.BROKEN,
        Reply(b"%PDF-1.7\n" + zlib.compress(bytes(range(256)) * 40), "application/pdf"),
    ),
    page_case(
        _P,
        "a PDF whose pages are their own parents",
        S.EMPTY,
        Reply(pdf_page(stream(TEXT_OP), b"[2 0 R 2 0 R]"), "application/pdf"),
    ),
    page_case(
        _P,
        "a PDF of 100 MB, packed four times over",
        S.EMPTY,
        Reply(
            pdf_page(
                stream(
                    _squeezed(zlib_stream(b" ", 100), 3),
                    b"/Filter [/FlateDecode /FlateDecode /FlateDecode /FlateDecode]",
                )
            ),
            "application/pdf",
        ),
    ),
    page_case(
        _P,
        "a PDF that draws itself",
        None,
        Reply(pdf_page(stream(TEXT_OP + b"/F Do\n" * 50_000)), "application/pdf"),
        holds=lambda page: "Kettles boil" in page.text,
    ),
    page_case(
        _P,
        "a PDF with 30,000 lines of text",
        None,
        Reply(pdf_page(stream(_squeezed(TEXT_OP * 30_000, 1), b"/Filter /FlateDecode")), "application/pdf"),
        holds=lambda page: "Kettles boil" in page.text,
    ),
    page_case(
        _P,
        "a PDF with a password",
        S.BROKEN,
        Reply(
            pdf_page(stream(TEXT_OP)).replace(
                b"/Size",
                b"/Encrypt << /Filter /Standard /V 1 /R 2 /O ("
                + b"k" * 32
                + b") /U ("
                + b"k" * 32
                + b") /P -4 >> /ID [(k)(k)] /Size",
            ),
            "application/pdf",
        ),
    ),
)
