"""X-ray of a page: all that a reader sees of it, and what each extractor kept of that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from core.knobs import Extractor
from core.model import Article, Document, Unreadable
from core.ports import Extract, Keeping, Ports
from core.run import Run
from core.words import sentences

PIECES = 4000
"""Sentences of each text that are compared; what follows is left out, and the reading says so."""


class Part(StrEnum):
    KEPT = "kept"
    LEFT_OUT = "left out"
    """Seen on the page, and not in the article."""
    ADDED = "added"
    """In the article, and not seen on the page like this: joined, unwrapped or spelt differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    part: Part
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Xray:
    """`visible` is the page's text as a reader sees it. `used` is the text that the run has of the page."""

    key: str
    visible: Reading
    readings: tuple[Reading, ...]
    used: str
    from_cache: bool


async def xray(run: Run, key: str, ports: Ports, *, fetch: bool = False) -> Xray | None:
    """The page of this key under every extractor; None when it was not kept and must be fetched again.

    `fetch` allows that.

    Raises:
        Unreadable: when it is fetched, and cannot be.
    """
    url = next((hit.url for hit in run.hits if hit.key == key), "")
    if not url:
        return None
    document = await ports.web.at_hand(url) if isinstance(ports.web, Keeping) else None
    if document is None and fetch:
        document = await ports.web(url, run.knobs.read)
    if document is None:
        return None
    visible, *readings = await asyncio.gather(
        *(_read(document, ports.extract, extractor) for extractor in _ALL)
    )
    seen = visible.article.text if visible.article else ""
    compared = await asyncio.gather(*(asyncio.to_thread(against, seen, reading) for reading in readings))
    return Xray(
        key=key,
        visible=visible,
        readings=tuple(compared),
        used=run.pages[key].text if key in run.pages else "",
        from_cache=document.from_cache,
    )


_ALL = (Extractor.VISIBLE, *(extractor for extractor in Extractor if extractor is not Extractor.VISIBLE))


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
    length = sum(len(piece.text) for piece in pieces if piece.part is not Part.ADDED)
    both = sum(len(piece.text) for piece in pieces if piece.part is Part.KEPT)
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
            pieces += (Piece(part=Part.KEPT, text=text) for text in seen[first:last])
        else:
            pieces += (Piece(part=Part.LEFT_OUT, text=text) for text in seen[first:last])
            pieces += (Piece(part=Part.ADDED, text=text) for text in kept[start:end])
    return tuple(pieces)


def _pieces(text: str) -> list[str]:
    """The sentences of each line: extractors break lines in other places, and within none of them."""
    return [
        line[start:end]
        for line in text.splitlines()
        for start, end in sentences(line)
        if any(character.isalnum() for character in line[start:end])
    ]


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
