"""A run's page as a document: what was read of it, kept as JSON, so that it can be embedded again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError

from core.model import Article, Page, SkipReason, Unreadable

PAGE = "application/vnd.openquery.page+json"
"""The media type of such a document. No file that is handed over gets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page's address and its article."""

    url: str
    article: Article


_ADAPTER = TypeAdapter(ReadPage)


def page_body(page: Page) -> bytes:
    """The same bytes for the same page, whenever it was read."""
    article = replace(page.article, title=page.title or page.article.title, seconds=0.0)
    return _ADAPTER.dump_json(ReadPage(url=page.url, article=article))


def read_page(body: bytes) -> ReadPage:
    """Raises Unreadable: BROKEN when the bytes are of another version."""
    try:
        return _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise Unreadable(SkipReason.BROKEN, "the kept page is of another version") from error
