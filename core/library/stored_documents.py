"""Documents that are stored as JSON: pages that a run read, and passages of a collection being re-embedded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError

from core.model import Article, LibraryPassage, Page, SkipReason, Unreadable
from core.model.library import passage_id

PAGE = "application/vnd.openquery.page+json"
"""The media type of a run's page. No uploaded file gets it."""
STORED_PASSAGES = "application/vnd.openquery.excerpts+json"
"""The media type of passages that were read from a collection in order to be embedded again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page's address and its article."""

    url: str
    article: Article


_PAGE = TypeAdapter(ReadPage)
_PASSAGES = TypeAdapter(tuple[LibraryPassage, ...])


def page_to_json(page: Page) -> bytes:
    """The page as JSON: the same bytes for the same page, whenever it was read."""
    article = replace(page.article, title=page.title or page.article.title, seconds=0.0)
    return _PAGE.dump_json(ReadPage(url=page.url, article=article))


def page_from_json(body: bytes) -> ReadPage:
    """The page in stored JSON.

    Raises:
        Unreadable: BROKEN when another version wrote the bytes.
    """
    try:
        return _PAGE.validate_json(body)
    except ValidationError as error:
        raise Unreadable(SkipReason.BROKEN, "the stored page is of another version") from error


def passages_to_json(passages: Sequence[LibraryPassage]) -> bytes:
    """Passages as JSON, to be stored while their collection is created again."""
    return _PASSAGES.dump_json(tuple(passages))


def passages_from_json(body: bytes, embedder: str) -> tuple[LibraryPassage, ...]:
    """The passages in stored JSON, for another embedder; those without text are left out.

    Passages that another tool added keep their id, ours get the id that belongs to the embedder.

    Raises:
        Unreadable: BROKEN when another version wrote the bytes.
    """
    try:
        found = _PASSAGES.validate_json(body)
    except ValidationError as error:
        raise Unreadable(SkipReason.BROKEN, "the stored passages are of another version") from error
    return tuple(
        replace(
            one,
            embedder=embedder,
            id=passage_id(one.document, one.position, embedder) if one.document else one.id,
        )
        for one in found
        if one.content.strip()
    )
