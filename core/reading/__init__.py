"""Text extraction: a fetched document becomes an article.

The functions are pure, and run in worker processes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING

from core.injection import MAX_SIGNS, contradictions, injection_signs, invisible_words, spell_out_invisible
from core.model import Article, Document, Extractor, SkipReason, Unreadable
from core.reading import file_types
from core.reading.article_limits import within_limits
from core.text.language import page_language

if TYPE_CHECKING:
    from core.reading.html.extraction import Extraction

_WITHOUT_LANGUAGE = ("application/json", file_types.SITEMAP)
"""Media types of data rather than of prose."""
_MIN_CHARACTERS = 200
"""Minimum characters of the fast extractor's text. Below this, the accurate extractor runs too."""
_CARRIER = b"\xf3\xa0"
"""How characters that carry hidden words begin in UTF-8. Bytes are found a hundred times quicker than ranges."""
_REFERENCE = re.compile("&#(?:[xX]0*[eE]0[0-9a-fA-F]{3}|0*91[78][0-9]{3});")
"""A reference to a character that carries hidden words."""

_UNDRAWN = (SkipReason.NEEDS_JAVASCRIPT, SkipReason.EMPTY)
"""Reasons for which the text that a page declares in its structured data is read instead."""
EDITION = 19
"""Version of the extraction. A new one makes cached documents be extracted again."""


def extract(document: Document, extractor: Extractor = Extractor.ACCURATE) -> Article:
    """Extract the article of a document: its visible text.

    `seconds` is CPU time of this thread.

    Raises:
        Unreadable: when the document has no article. The reason names the kind of page.
    """
    began = time.thread_time()
    if document.media_type == file_types.SAVED_PAGE:
        from core.reading.mail import saved_page

        document = saved_page(document)
    article = _html(document, extractor) if document.media_type in file_types.HTML else _other(document)
    if not article.text:
        raise Unreadable(SkipReason.EMPTY, "there is no text in it")
    # Done in the worker, which can be killed if a text takes for ever.
    marks = (*article.injection_signs, *injection_signs(article.text, article.hidden))[:MAX_SIGNS]
    hidden, seconds = spell_out_invisible(article.hidden), time.thread_time() - began
    return within_limits(replace(article, hidden=hidden, injection_signs=marks, seconds=seconds))


def _html(document: Document, extractor: Extractor) -> Article:
    from core.reading.html.headings import sections
    from core.reading.html.html_parsing import HTML_LIMIT, MarkupSize, truncate_html
    from core.reading.html.metadata import metadata
    from core.reading.html.non_articles import reject_non_articles
    from core.reading.html.rewriting import rewrite_markup
    from core.reading.normalization import left_out
    from core.reading.page_parts.kept_blocks import keep_blocks
    from core.reading.page_parts.repeated_parts import part_sections, with_parts
    from core.reading.page_parts.structures import write_structures
    from core.text.decoding import decode

    whole = decode(document.body[: 4 * HTML_LIMIT], document.charset)
    cut, size = truncate_html(whole)
    html = rewrite_markup(cut)
    if size.excess and html is not cut:  # formulas have many elements
        size = MarkupSize.of(html)
    facts = metadata(html, document.url)
    extraction = None
    fallback = size.excess if extractor is Extractor.ACCURATE else ""
    if extractor is Extractor.FAST or fallback:
        from core.reading.html.fast_extractor import extract_fast

        extraction = extract_fast(html)
    if extractor is Extractor.VISIBLE:
        from core.reading.html.fast_extractor import extract_visible_text

        extraction = extract_visible_text(html)
    elif extraction is None or (len(extraction.text) < _MIN_CHARACTERS and not size.excess):
        from core.reading.html.accurate_extractor import extract_accurate

        extraction = extract_accurate(html, document.url, dated=bool(facts.date), signed=bool(facts.author))
    try:
        reject_non_articles(extraction.text, facts.title, html, document.url)
    except Unreadable as error:
        if error.reason in _UNDRAWN and len(facts.body) > len(extraction.text):
            extraction = replace(extraction, text=facts.body, extractor="structured data")
            fallback = fallback or error.detail
        else:
            extraction = _beside_consent(extraction, html, error)
    text, structures = write_structures(extraction.text, extraction.structures)
    text, structures, kept = keep_blocks(html, text, structures, document.kept)
    headings, parts = sections(text, extraction.headings), part_sections(text, extraction.parts)
    contradicted = contradictions(facts.product, facts.prices, extraction.visible)
    article = Article(
        text=text,
        extractor=extraction.extractor,
        title=facts.title,
        author=facts.author or extraction.author or facts.byline,
        date=facts.date or extraction.date,
        site=facts.site,
        language=facts.language,
        sections=with_parts(headings, parts),
        parts=len(parts),
        structures=structures,
        kept=kept,
        hidden="\n".join(
            [*(sign.quote for sign in contradicted), extraction.hidden, _invisible_words(html)]
        ).strip(),
        injection_signs=contradicted,
        left_out=left_out(len(whole) if len(cut) == HTML_LIMIT else 0, HTML_LIMIT),
        kind=extraction.kind,
        kind_reason=extraction.kind_reason,
        fallback=fallback and f"{extractor} extractor: {fallback}",
    )
    return _in_its_language(article)


def _beside_consent(extraction: Extraction, html: str, refusal: Unreadable) -> Extraction:
    """Return the visible text beside a request for consent. Raises the refusal if there is none."""
    from core.reading.html.fast_extractor import extract_visible_text
    from core.reading.html.non_articles import beside_consent

    if refusal.reason is not SkipReason.CONSENT_WALL:
        raise refusal
    visible = extract_visible_text(html)
    if not (rest := beside_consent(visible.text)):
        raise refusal
    return replace(extraction, text=rest, extractor=visible.extractor)


def _in_its_language(article: Article) -> Article:
    """Return the article with the language of its text. The declared language is kept too, if different."""
    language = page_language(article.language, article.text)
    return replace(
        article, language=language, declared_language=article.language if language != article.language else ""
    )


def _invisible_words(html: str) -> str:
    """Words in invisible characters. Extractors drop some of these, so they are looked for in the markup."""
    carried = _CARRIER in html.encode("utf-8", "surrogatepass") or _REFERENCE.search(html)
    return invisible_words(unescape(html)) if carried else ""


def _marked(document: Document) -> bool:
    """Whether a text is Markdown, by its type or address."""
    path = document.url.partition("?")[0]
    return document.media_type == "text/markdown" or path.endswith((".md", ".markdown"))


def _other(document: Document) -> Article:
    """Extract the article of a document that is not HTML.

    Readers are imported when first needed, so that a worker starts quickly.

    Raises:
        Unreadable: the errors of the readers, and UNSUPPORTED for any other media type.
    """
    from core.reading import mail, plain_text, sitemap
    from core.reading.office import epub, tables
    from core.reading.office.reader import read_office
    from core.reading.pdf.reader import read_pdf
    from core.text.decoding import decode

    of_bytes: dict[str, Callable[[bytes], Article]] = {
        file_types.PDF: read_pdf,
        file_types.EPUB: epub.read_epub,
        file_types.SITEMAP: sitemap.read_sitemap,
        file_types.MAIL: mail.read_mail,
        file_types.MAILBOX: mail.read_mailbox,
    }
    of_text: dict[str, Callable[[str], Article]] = {
        "text/plain": plain_text.read_markdown if _marked(document) else plain_text.read_text,
        "text/markdown": plain_text.read_markdown,
        "application/json": plain_text.read_json,
        "application/xml": plain_text.read_xml,
        file_types.CSV: tables.read_table,
    }
    if document.media_type in file_types.OFFICE_NAMES:
        article = read_office(document.body, document.media_type)
    elif read_bytes := of_bytes.get(document.media_type):
        article = read_bytes(document.body)
    elif read_text := of_text.get(document.media_type):
        article = read_text(decode(document.body, document.charset))
    else:
        raise Unreadable(SkipReason.UNSUPPORTED, document.media_type or "no type")
    if document.media_type in _WITHOUT_LANGUAGE and article.extractor != "notebook":
        return article
    return _in_its_language(article)
