"""The handbook as pages of the app: contents, and articles without see-also lines."""

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

CONTENTS = "contents.toml"
"""The file with the order of the articles."""

_SEE_ALSO = re.compile(r"^See also:(.*)\Z", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([a-z0-9-]+)\.md\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """An article. `lead` is the first paragraph. `body` is Markdown without title and see-also line."""

    slug: str
    title: str
    lead: str
    body: str
    related: tuple[str, ...]
    """Slugs of the articles in the see-also line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the handbook, with its articles in reading order."""

    title: str
    lead: str
    chapters: tuple[Chapter, ...]


@functools.cache
def parts(folder: Path) -> tuple[Part, ...]:
    """Return the parts in the order of `contents.toml`.

    Unlisted articles are a part at the end, sorted by title.
    """
    unlisted = {path.stem: _chapter(path.stem, path.read_text("utf-8")) for path in folder.glob("*.md")}
    contents = tomllib.loads((folder / CONTENTS).read_text("utf-8"))
    chapters = [
        Part(
            title=part["title"],
            lead=part["lead"],
            chapters=tuple(unlisted.pop(slug) for slug in part["articles"] if slug in unlisted),
        )
        for part in contents["parts"]
    ]
    if unlisted:
        rest = sorted(unlisted.values(), key=lambda chapter: chapter.title.casefold())
        chapters.append(Part(title="Other articles", lead="", chapters=tuple(rest)))
    return tuple(chapters)


def chapters(folder: Path) -> tuple[Chapter, ...]:
    """Return every article of the folder, in reading order."""
    return tuple(chapter for part in parts(folder) for chapter in part.chapters)


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
