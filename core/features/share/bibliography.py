"""The cited pages of an answer, for reference managers: BibTeX (biblatex), RIS and CSL-JSON, each as UTF-8.

The forms follow the biblatex manual, Research Information Systems' format specification, and the schema of the Citation
Style Language.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

import orjson

from core.errors import BadInput
from core.model import Page
from core.model.passage_urls import passage_at_url, site
from core.run.state import Run
from core.text.sanitize import encodable, one_line

_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_NOT_IN_KEY = re.compile(r"[^a-z0-9]+")
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "$&#%_"},
}
_TEX_MARK = re.compile(r"[\\{}~^$&#%_]")


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


def bibtex(entries: Iterable[Reference]) -> bytes:
    """Return an `@online` entry for each reference."""
    return "\n".join(map(_bibtex_entry, entries)).encode()


def ris(entries: Iterable[Reference]) -> bytes:
    """Return an `ELEC` record for each reference."""
    return "".join(f"{tag}  - {value}\r\n" for entry in entries for tag, value in _ris_lines(entry)).encode()


def csl_json(entries: Iterable[Reference]) -> bytes:
    """Return a JSON list with an item for each reference."""
    return orjson.dumps([_csl_item(entry) for entry in entries], option=orjson.OPT_INDENT_2)


def _bibtex_entry(entry: Reference) -> str:
    fields = {
        "title": f"{{{_tex(entry.title)}}}",  # double braces keep upper and lower case
        "author": " and ".join(f"{{{_tex(author)}}}" for author in entry.authors),
        "organization": _tex(entry.container),
        "date": _iso(entry.issued),
        "url": _address(entry.url),
        "urldate": _iso(entry.accessed),
        "langid": _tex(entry.language),
        "note": _tex(_numbered(entry)),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@online{{{entry.key},\n{lines}}}\n"


def _ris_lines(entry: Reference) -> Iterator[tuple[str, str]]:
    yield "TY", "ELEC"
    yield "TI", entry.title
    yield from (("AU", author) for author in entry.authors)
    optional = {
        "T2": entry.container,
        "PY": f"{entry.issued[0]:04}" if entry.issued else "",
        "DA": _iso(entry.issued).replace("-", "/"),
        "UR": _address(entry.url),
        "Y2": _iso(entry.accessed).replace("-", "/"),
        "LA": entry.language,
        "N1": _numbered(entry),
    }
    yield from ((tag, value) for tag, value in optional.items() if value)
    yield "ER", ""


def _csl_item(entry: Reference) -> dict[str, object]:
    item = {
        "id": entry.key,
        "type": "webpage" if entry.url else "document",
        "title": entry.title,
        "author": [{"literal": author} for author in entry.authors],
        "container-title": entry.container,
        "URL": entry.url,
        "issued": {"date-parts": [entry.issued]} if entry.issued else None,
        "accessed": {"date-parts": [entry.accessed]} if entry.accessed else None,
        "language": entry.language,
        "note": _numbered(entry),
    }
    return {name: value for name, value in item.items() if value}


def _numbered(entry: Reference) -> str:
    return f"Source {', '.join(f'[{number}]' for number in entry.numbers)}"


def _iso(date: tuple[int, ...]) -> str:
    return "-".join(f"{part:0{4 if n == 0 else 2}}" for n, part in enumerate(date))


def _tex(text: str) -> str:
    """Escape `text` for a BibTeX field. Its braces have to be balanced."""
    return _TEX_MARK.sub(lambda mark: _TEX[mark[0]], text)


def _address(url: str) -> str:
    """Return the address without characters that end a field or line."""
    return quote(url, safe="!#$%&'()*+,-./:;=?@[]_~|", errors="replace")
