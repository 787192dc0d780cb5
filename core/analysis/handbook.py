"""The handbook as pages of the app: an index, and articles with their see-also lines taken apart."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

_SEE_ALSO = re.compile(r"^See also:(.*)\Z", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([a-z0-9-]+)\.md\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """`lead` is the first paragraph. `body` is Markdown without title and see-also line."""

    slug: str
    title: str
    lead: str
    body: str
    related: tuple[str, ...]
    """Slugs of the articles that the see-also line names."""


@functools.cache
def chapters(folder: Path) -> tuple[Chapter, ...]:
    """Every article of the folder, by title."""
    found = (_chapter(path.stem, path.read_text("utf-8")) for path in folder.glob("*.md"))
    return tuple(sorted(found, key=lambda chapter: chapter.title.casefold()))


def matching(all_chapters: tuple[Chapter, ...], words: str) -> tuple[Chapter, ...]:
    """The articles that hold all `words`, in any case."""
    wanted = words.casefold().split()
    return tuple(
        chapter
        for chapter in all_chapters
        if all(word in f"{chapter.title} {chapter.body}".casefold() for word in wanted)
    )


def _chapter(slug: str, text: str) -> Chapter:
    title, _, body = text.partition("\n")
    see_also = _SEE_ALSO.search(body)
    related = tuple(link[2] for link in _LINK.finditer(see_also[1])) if see_also else ()
    body = _LINK.sub(r"*\1*", body[: see_also.start()] if see_also else body).strip()
    return Chapter(
        slug=slug,
        title=title.removeprefix("#").strip() or slug,
        lead=body.split("\n\n", 1)[0].replace("\n", " "),
        body=body,
        related=related,
    )
