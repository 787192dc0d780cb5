"""Title, author, date, site and language, from what a page says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.reading.text import one_line

_TITLE = ("og:title", "twitter:title", "dc.title", "title")
_AUTHOR = ("author", "article:author", "dc.creator", "parsely-author", "sailthru.author", "byl")
_DATE = (
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dc.date.issued",
    "pubdate",
    "publishdate",
    "og:published_time",
    "parsely-pub-date",
    "sailthru.date",
)
_SITE = ("og:site_name", "application-name", "al:android:app_name")
_LANGUAGE = ("content-language", "og:locale", "dc.language", "language")
_DAY = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_SURE = 1000
"""resiliparse's distance from a language's profile: smaller is closer, and beyond this it is a guess."""


@dataclass(frozen=True, slots=True)
class Metadata:
    title: str = ""
    author: str = ""
    date: str = ""
    """ISO 8601 day."""
    site: str = ""
    language: str = ""
    """The language's two- or three-letter code, lower case."""


def from_metas(metas: Iterable[tuple[str, str]], title: str, heading: str, language: str) -> Metadata:
    """Metadata from (name or property, content) pairs, the `title`, the first `h1` and the `lang` attribute."""
    said: dict[str, str] = {}
    for name, content in metas:
        said.setdefault(name.strip().lower(), content)

    def first(names: tuple[str, ...]) -> str:
        return next((found for name in names if (found := one_line(said.get(name)))), "")

    author = first(_AUTHOR)
    day = _DAY.search(first(_DATE))
    return Metadata(
        title=first(_TITLE) or one_line(heading) or one_line(title),
        author="" if author.startswith(("http://", "https://")) else author,
        date=day[0] if day else "",
        site=first(_SITE),
        language=language_code(language) or language_code(first(_LANGUAGE)),
    )


def language_code(tag: str) -> str:
    """`en` of `en-GB` or `en_US`; empty for what is no language tag."""
    match = re.match(r"\s*([A-Za-z]{2,3})(?:[-_;, ]|$)", tag or "")
    return match[1].lower() if match else ""


def detected_language(text: str) -> str:
    """The language of the text itself, empty when it is short or unlike any that is known."""
    if len(text) < 100:
        return ""
    from resiliparse.parse.lang import detect_fast

    language, distance = detect_fast(text[:20_000])
    return str(language) if distance and distance < _SURE else ""
