"""Extractor comparison: the visible text of a page against each extracted article."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from core.analysis.text_diff import DiffKind, DiffPiece, diff_sentences, line_sentences
from core.model import Article, Document, Extractor, Unreadable
from core.ports import Extract, Ports
from core.reading.absence import Absence
from core.run.state import Run

COMPARED_SENTENCES = 4000
"""The most sentences of each text to compare. `ExtractorResult.truncated` reports more."""

FindAbsence = Callable[[Document, str, Extractor], Awaitable[Absence]]
"""Finds in another process what kept a text of a page out of an article. Raises `Unreadable`."""

SHOWN_SOURCE = 120_000
"""The most characters of a page's source that are returned."""
_VISIBLE_FIRST = (
    Extractor.VISIBLE,
    *(extractor for extractor in Extractor if extractor is not Extractor.VISIBLE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorResult:
    """The result of one extractor, compared with the page's visible text.

    `article` is None after a failed extraction, with the reason in `error`. `kept` is the share of the visible text's
    characters in the article, from 0 to 1. `truncated` is True if only the first `COMPARED_SENTENCES` were compared.
    """

    extractor: Extractor
    article: Article | None
    pieces: tuple[DiffPiece, ...] = ()
    kept: float = 0.0
    truncated: bool = False
    error: str = ""

    @property
    def left_out(self) -> int:
        """The number of visible sentences missing in the article."""
        return sum(piece.kind is DiffKind.REMOVED for piece in self.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorComparison:
    """One page under every extractor.

    `visible` is the page's text for a reader, `used` the text that the run ranks, `kept_by_hand` the texts of blocks
    that a person has kept, which every result has. `source` is the beginning of the page's markup, of `length`
    characters in all, or "" for a page that is not text.
    """

    key: str
    visible: ExtractorResult
    results: tuple[ExtractorResult, ...]
    used: str
    kept_by_hand: tuple[str, ...]
    source: str
    length: int
    media_type: str
    from_cache: bool

    @property
    def in_use(self) -> Extractor | None:
        """The extractor of the text that the run ranks, or None if no extractor made it."""
        for result in (*self.results, self.visible):
            if result.article and self.used and result.article.text == self.used:
                return result.extractor
        return None


async def compare_extractors(
    run: Run, key: str, ports: Ports, *, fetch: bool = False
) -> ExtractorComparison | None:
    """Run every extractor on the page of a hit, or return None if its document is unavailable.

    `key` is that of the hit. Without `fetch` only a cached document is used.

    Raises:
        Unreadable: when the page cannot be fetched.
    """
    url = next((hit.url for hit in run.hits if hit.key == key), "")
    if not url:
        return None
    document = await ports.web.cached_page(url)
    if document is None and fetch:
        document = await ports.web(url, run.knobs.read)
    if document is None:
        return None
    kept_by_hand = run.kept_texts(key)
    document = replace(document, kept=kept_by_hand)
    extracted = await asyncio.gather(
        *(_extracted(document, ports.extract, extractor) for extractor in _VISIBLE_FIRST)
    )
    visible_text = extracted[0].article.text if extracted[0].article else ""
    visible, *results = await asyncio.gather(
        *(asyncio.to_thread(compared, visible_text, result) for result in extracted)
    )
    source = await asyncio.to_thread(_source, document)
    return ExtractorComparison(
        key=key,
        visible=visible,
        results=tuple(results),
        used=run.pages[key].text if key in run.pages else "",
        kept_by_hand=kept_by_hand,
        source=source[:SHOWN_SOURCE],
        length=len(source),
        media_type=document.media_type,
        from_cache=document.from_cache,
    )


async def absence_from_article(
    run: Run, key: str, text: str, extractor: Extractor, *, ports: Ports, find_absence: FindAbsence
) -> Absence | None:
    """Return why a page's text is missing in an extractor's article, or None for an uncached page.

    Raises:
        Unreadable: when no reader finds the reason.
    """
    url = next((hit.url for hit in run.hits if hit.key == key), "")
    document = await ports.web.cached_page(url) if url else None
    if document is None:
        return None
    return await find_absence(replace(document, kept=run.kept_texts(key)), text, extractor)


def _source(document: Document) -> str:
    """Return the page's markup as text, or "" for other formats such as PDF."""
    from core.text.decoding import decode

    textual = document.media_type.startswith("text/") or document.media_type.endswith(("xml", "json"))
    return decode(document.body, document.charset) if textual else ""


async def _extracted(document: Document, extract: Extract, extractor: Extractor) -> ExtractorResult:
    try:
        return ExtractorResult(extractor=extractor, article=await extract(document, extractor))
    except Unreadable as error:
        return ExtractorResult(extractor=extractor, article=None, error=str(error))


def compared(visible_text: str, result: ExtractorResult) -> ExtractorResult:
    """Return the result with its article compared with the page's visible text, by sentence."""
    visible = line_sentences(visible_text)
    article = line_sentences(result.article.text if result.article else "")
    pieces = diff_sentences(visible[:COMPARED_SENTENCES], article[:COMPARED_SENTENCES])
    length = sum(len(piece.text.rstrip()) for piece in pieces if piece.kind is not DiffKind.ADDED)
    common = sum(len(piece.text.rstrip()) for piece in pieces if piece.kind is DiffKind.COMMON)
    return replace(
        result,
        pieces=pieces,
        kept=common / length if length else 0.0,
        truncated=max(len(visible), len(article)) > COMPARED_SENTENCES,
    )
