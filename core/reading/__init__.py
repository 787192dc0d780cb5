"""Text extraction: a fetched document becomes an article. Pure functions, which run inside worker processes."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from html import unescape

from core.injection import injection_signs, invisible_words, spell_out_invisible
from core.model import Article, Document, Extractor, SkipReason, Unreadable
from core.reading.article_limits import within_limits
from core.reading.file_types import CSV, DOCX, EPUB, ODT, PPTX, SITEMAP, XLSX
from core.text.language import page_language

_MIN_CHARACTERS = 200
"""Characters below which the fast extractor's text is not trusted, and the accurate one runs too."""
_CARRIER = b"\xf3\xa0"
"""How characters that carry hidden words begin in UTF-8. Bytes are found a hundred times quicker than ranges."""
_REFERENCE = re.compile("&#(?:[xX]0*[eE]0[0-9a-fA-F]{3}|0*91[78][0-9]{3});")
"""A reference to one of them."""

EDITION = 6
"""Version of the extraction. A new one makes cached documents be extracted again."""


def extract(document: Document, extractor: Extractor = Extractor.ACCURATE) -> Article:
    """The article of a document: the text that its reader would see. `seconds` is CPU time of this thread.

    Raises:
        Unreadable: when there is no article in it, with the kind of page that it is instead.
    """
    began = time.thread_time()
    article = _READERS.get(document.media_type, _unsupported)(document, extractor)
    if not article.text:
        raise Unreadable(SkipReason.EMPTY, "there is no text in it")
    # Here and not where pages are gathered: a worker can be killed, should a text ever take for ever.
    marks = injection_signs(article.text, article.hidden)
    hidden, seconds = spell_out_invisible(article.hidden), time.thread_time() - began
    return within_limits(replace(article, hidden=hidden, suspicions=marks, seconds=seconds))


def _html(document: Document, extractor: Extractor) -> Article:
    from core.reading.html.headings import sections
    from core.reading.html.html_parsing import HTML_LIMIT, truncate_html
    from core.reading.html.metadata import metadata
    from core.reading.html.non_articles import reject_non_articles
    from core.reading.normalization import left_out
    from core.text.decoding import decode

    whole = decode(document.body[: 4 * HTML_LIMIT], document.charset)
    html, size = truncate_html(whole)
    facts = metadata(html, document.url)
    found = None
    fallback = size.excess if extractor is Extractor.ACCURATE else ""
    if extractor is Extractor.FAST or fallback:
        from core.reading.html.fast_extractor import extract_fast

        found = extract_fast(html)
    if extractor is Extractor.VISIBLE:
        from core.reading.html.fast_extractor import extract_visible_text

        found = extract_visible_text(html)
    elif found is None or (len(found.text) < _MIN_CHARACTERS and not size.excess):
        from core.reading.html.accurate_extractor import extract_accurate

        found = extract_accurate(html, document.url, dated=bool(facts.date), signed=bool(facts.author))
    text = found.text
    reject_non_articles(text, facts.title, html)
    return Article(
        text=text,
        extractor=found.extractor,
        title=facts.title,
        author=facts.author or found.author or facts.byline,
        date=facts.date or found.date,
        site=facts.site,
        language=page_language(facts.language, text),
        sections=sections(text, found.headings),
        hidden=f"{found.hidden}\n{_unseen(html)}".strip(),
        left_out=left_out(len(whole), HTML_LIMIT),
        fallback=fallback and f"{extractor} extractor: {fallback}",
    )


def _unseen(html: str) -> str:
    """Words in invisible characters. Extractors drop some of these, so they are looked for in the markup."""
    carried = _CARRIER in html.encode("utf-8", "surrogatepass") or _REFERENCE.search(html)
    return invisible_words(unescape(html)) if carried else ""


def _pdf(document: Document, extractor: Extractor) -> Article:
    from core.reading.pdf import read_pdf

    article = read_pdf(document.body)
    return _with_language(article)


def _text(document: Document, extractor: Extractor) -> Article:
    from core.reading.plain_text import read_markdown, read_text
    from core.text.decoding import decode

    text = decode(document.body, document.charset)
    marked = document.media_type == "text/markdown" or document.url.partition("?")[0].endswith(
        (".md", ".markdown")
    )
    return _with_language(read_markdown(text) if marked else read_text(text))


def _json(document: Document, extractor: Extractor) -> Article:
    from core.reading.plain_text import read_json
    from core.text.decoding import decode

    return read_json(decode(document.body, document.charset))


def _xml(document: Document, extractor: Extractor) -> Article:
    from core.reading.plain_text import read_xml
    from core.text.decoding import decode

    return _with_language(read_xml(decode(document.body, document.charset)))


def _table(document: Document, extractor: Extractor) -> Article:
    from core.reading.office.tables import read_table
    from core.text.decoding import decode

    return _with_language(read_table(decode(document.body, document.charset)))


def _docx(document: Document, extractor: Extractor) -> Article:
    from core.reading.office.docx import read_docx

    return _with_language(read_docx(document.body))


def _pptx(document: Document, extractor: Extractor) -> Article:
    from core.reading.office.pptx import read_pptx

    return _with_language(read_pptx(document.body))


def _xlsx(document: Document, extractor: Extractor) -> Article:
    from core.reading.office.xlsx import read_xlsx

    return _with_language(read_xlsx(document.body))


def _odt(document: Document, extractor: Extractor) -> Article:
    from core.reading.office.opendocument import read_odt

    return _with_language(read_odt(document.body))


def _epub(document: Document, extractor: Extractor) -> Article:
    from core.reading.office.epub import read_epub

    return _with_language(read_epub(document.body))


def _sitemap(document: Document, extractor: Extractor) -> Article:
    from core.reading.sitemap import read_sitemap

    return read_sitemap(document.body)


def _unsupported(document: Document, extractor: Extractor) -> Article:
    raise Unreadable(SkipReason.UNSUPPORTED, document.media_type or "no type")


def _with_language(article: Article) -> Article:
    return replace(article, language=page_language(article.language, article.text))


_READERS = {
    "text/html": _html,
    "application/xhtml+xml": _html,
    "application/pdf": _pdf,
    "text/plain": _text,
    "text/markdown": _text,
    "application/json": _json,
    "application/xml": _xml,
    CSV: _table,
    DOCX: _docx,
    PPTX: _pptx,
    XLSX: _xlsx,
    ODT: _odt,
    EPUB: _epub,
    SITEMAP: _sitemap,
}
