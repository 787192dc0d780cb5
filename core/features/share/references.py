"""The cited pages of an answer as references, with authors, dates and source numbers."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from core.errors import BadInput
from core.model import Page
from core.model.passage_urls import passage_at_url, site
from core.run.state import Run
from core.text.sanitize import encodable, one_line

_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_NOT_IN_KEY = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A page as a reference. Texts are untrusted, and on one line."""

    key: str
    """Lower-case letters, digits and hyphens, unique in the run."""
    title: str
    authors: tuple[str, ...]
    container: str
    """The name of the site, or the collection of a document."""
    url: str
    """The address, or "" for a document of a collection."""
    language: str
    issued: tuple[int, ...]
    """The known parts of year, month and day."""
    accessed: tuple[int, ...]
    """Year, month and day in UTC of the question, or empty if unknown."""
    numbers: tuple[int, ...]
    """The numbers of its sources in the answer."""


def references(run: Run) -> tuple[Reference, ...]:
    """Return the pages of the answer's sources, by source number.

    Raises:
        BadInput: when the run has no sources.
    """
    if not run.sources:
        raise BadInput(
            "This run has no sources to refer to.", hint="Export it as .json or .zip, or answer it first."
        )
    numbers: dict[str, list[int]] = {}
    for source in run.sources:
        numbers.setdefault(source.place.page, []).append(source.number)
    started = datetime.fromisoformat(run.started).astimezone(UTC) if run.started else None
    accessed = (started.year, started.month, started.day) if started else ()
    return tuple(_reference(run.pages[key], tuple(cited), accessed) for key, cited in numbers.items())


def _reference(page: Page, numbers: tuple[int, ...], accessed: tuple[int, ...]) -> Reference:
    article = page.article
    is_document = passage_at_url(page.url) is not None
    container = one_line(encodable(article.site)) or site(page.url)
    issued = _DATE.match(article.date.strip())
    return Reference(
        key=f"{_NOT_IN_KEY.sub('-', container.lower()).strip('-')[:40] or 'source'}-{numbers[0]}",
        title=one_line(encodable(page.title)) or container,
        authors=tuple(filter(None, (one_line(encodable(author)) for author in article.author.split(";")))),
        container=container,
        url="" if is_document else page.url,
        language=article.language,
        issued=tuple(int(part) for part in issued.groups() if part) if issued else (),
        accessed=accessed,
        numbers=numbers,
    )
