"""X-ray of a page: all that a reader sees of it, and what each extractor kept of that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from core.model import Article, Document, Extractor, Unreadable
from core.ports import CachedPages, Extract, Ports
from core.run.state import Run
from core.text.sentences import sentences

PIECES = 4000
"""Sentences of each text that are compared; what follows is left out, and the reading says so."""

RAW = 120_000
"""Characters of a page's source that are given."""


class PagePart(StrEnum):
    KEPT = "kept"
    LEFT_OUT = "left out"
    """Seen on the page, and not in the article."""
    ADDED = "added"
    """In the article, and not seen on the page like this: joined, unwrapped or spelt differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    part: PagePart
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one extractor made of the page. `fault` says why there is no article, where there is none.

    `kept` is the share of the visible text's characters that are in the article. `cut` is True when only
    the beginnings were compared.
    """

    extractor: Extractor
    article: Article | None
    pieces: tuple[Piece, ...] = ()
    kept: float = 0.0
    cut: bool = False
    fault: str = ""

    @property
    def left_out(self) -> int:
        """How many sentences a reader sees that are not in the article."""
        return sum(piece.part is PagePart.LEFT_OUT for piece in self.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorComparison:
    """`visible` is the page's text as a reader sees it. `used` is the text that the run has of the page.

    `raw` is the beginning of the page's source, of `length` characters in all; empty where the page is no text.
    """

    key: str
    visible: Reading
    readings: tuple[Reading, ...]
    used: str
    raw: str
    length: int
    media_type: str
    from_cache: bool

    def reading(self, extractor: Extractor) -> Reading:
        """What this extractor made of the page."""
        return next((one for one in self.readings if one.extractor is extractor), self.visible)

    @property
    def in_use(self) -> Extractor | None:
        """The extractor whose text the run has; None when it is none of them, as with a page that was skipped."""
        texts = ((one.extractor, one.article) for one in (*self.readings, self.visible))
        return next(
            (
                extractor
                for extractor, article in texts
                if article and self.used and article.text == self.used
            ),
            None,
        )


async def compare_extractors(
    run: Run, key: str, ports: Ports, *, fetch: bool = False
) -> ExtractorComparison | None:
    """The page of this key under every extractor; None when it was not kept and must be fetched again.

    `fetch` allows that.

    Raises:
        Unreadable: when it is fetched, and cannot be.
    """
    url = next((hit.url for hit in run.hits if hit.key == key), "")
    if not url:
        return None
    document = await ports.web.cached_page(url) if isinstance(ports.web, CachedPages) else None
    if document is None and fetch:
        document = await ports.web(url, run.knobs.read)
    if document is None:
        return None
    visible, *readings = await asyncio.gather(
        *(_read(document, ports.extract, extractor) for extractor in _ALL)
    )
    seen = visible.article.text if visible.article else ""
    compared = await asyncio.gather(
        *(asyncio.to_thread(against, seen, reading) for reading in (visible, *readings))
    )
    raw = await asyncio.to_thread(_source, document)
    visible, *compared = compared
    return ExtractorComparison(
        key=key,
        visible=visible,
        readings=tuple(compared),
        used=run.pages[key].text if key in run.pages else "",
        raw=raw[:RAW],
        length=len(raw),
        media_type=document.media_type,
        from_cache=document.from_cache,
    )


_ALL = (Extractor.VISIBLE, *(extractor for extractor in Extractor if extractor is not Extractor.VISIBLE))


def _source(document: Document) -> str:
    """The page as it came, as text; empty where it is something else, such as a PDF."""
    from core.text.decoding import decode

    textual = document.media_type.startswith("text/") or document.media_type.endswith(("xml", "json"))
    return decode(document.body, document.charset) if textual else ""


async def _read(document: Document, extract: Extract, extractor: Extractor) -> Reading:
    try:
        return Reading(extractor=extractor, article=await extract(document, extractor))
    except Unreadable as why:
        return Reading(extractor=extractor, article=None, fault=str(why))


def against(visible: str, reading: Reading) -> Reading:
    """The reading with its text compared, sentence by sentence, with what is seen."""
    text = reading.article.text if reading.article else ""
    seen, kept = _pieces(visible), _pieces(text)
    pieces = difference(seen[:PIECES], kept[:PIECES])
    length = sum(len(piece.text.rstrip()) for piece in pieces if piece.part is not PagePart.ADDED)
    both = sum(len(piece.text.rstrip()) for piece in pieces if piece.part is PagePart.KEPT)
    return Reading(
        extractor=reading.extractor,
        article=reading.article,
        pieces=pieces,
        kept=both / length if length else 0.0,
        cut=max(len(seen), len(kept)) > PIECES,
        fault=reading.fault,
    )


def difference(seen: list[str], kept: list[str]) -> tuple[Piece, ...]:
    """Both texts as one row of pieces in reading order (difflib). Case and white space do not count."""
    matcher = SequenceMatcher(None, [_plain(text) for text in seen], [_plain(text) for text in kept])
    pieces: list[Piece] = []
    for what, first, last, start, end in matcher.get_opcodes():
        if what == "equal":
            pieces += (Piece(part=PagePart.KEPT, text=text) for text in seen[first:last])
        else:
            pieces += (Piece(part=PagePart.LEFT_OUT, text=text) for text in seen[first:last])
            pieces += (Piece(part=PagePart.ADDED, text=text) for text in kept[start:end])
    return tuple(pieces)


def _pieces(text: str) -> list[str]:
    """The sentences of each line: extractors break lines in other places, and within none of them.

    The last of a line ends with a line feed, which does not count in the comparison.
    """
    found: list[str] = []
    for line in text.splitlines():
        parts = [line[start:end] for start, end in sentences(line)]
        parts = [part for part in parts if any(map(str.isalnum, part))]
        found += [*parts[:-1], *(f"{part}\n" for part in parts[-1:])]
    return found


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
