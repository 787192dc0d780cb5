"""Ranked passages as table rows, with filters, samples and surrounding text."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
from cachetools import LRUCache, cached
from numpy.typing import NDArray

from core.model import Index, Page, Place, Ranking, readable
from core.model.passage_urls import site
from core.run.notices import passage_embedder
from core.run.state import Run
from core.text.sanitize import has_words, one_line

CACHED_ORDERS = 16
"""The number of passage orders whose rows are cached, for rankings that differ only in the context."""
SNIPPET = 160
"""Characters of a passage in a table: whole passages would dominate the data for the browser."""
SCORES = ("cosine", "bm25", "fused", "rerank", "diverse")
"""The possible scores of a ranked passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPassage:
    """A ranked passage. `row` is its row in the index, `id` the same under every ranking.

    `number` is its number in the context, or None. Scores are raw, or None if not computed.
    """

    row: int
    id: str
    rank: int
    number: int | None
    cosine: float | None
    bm25: float | None
    fused: float | None
    rerank: float | None
    diverse: float | None
    text: str
    title: str
    site: str
    url: str
    key: str
    embedder: str
    """The model of the passage's vector, or "" without a vector."""

    @property
    def snippet(self) -> str:
        """The beginning of the text on one line, made on reading because most rows are never drawn."""
        return one_line(readable(self.text), SNIPPET)


def ranked_passages(run: Run) -> tuple[RankedPassage, ...]:
    """Return the ranked passages, best first."""
    if run.index is None or run.ranking is None:
        return ()
    numbers = run.context_numbers
    rows = _in_order(run, run.index, run.ranking).rows
    return tuple(replace(row, number=numbers[row.row]) if row.row in numbers else row for row in rows)


def passages_by_page(run: Run) -> list[list[RankedPassage]]:
    """Return the ranked passages of each page, in the order of their best passages."""
    pages: dict[str, list[RankedPassage]] = {}
    for row in ranked_passages(run):
        pages.setdefault(row.key, []).append(row)
    return list(pages.values())


@dataclass(frozen=True, slots=True)
class _Ordered:
    rows: Sequence[RankedPassage]
    index: Index
    pages: Mapping[str, Page]
    """The origin of the rows. While it is cached, the `id` of its objects is not reused."""


def _identity(run: Run, index: Index, ranking: Ranking) -> Hashable:
    arrays = (ranking.order, *(getattr(ranking, name) for name in SCORES))
    return id(index), id(run.pages), *(None if array is None else array.tobytes() for array in arrays)


@cached(LRUCache(CACHED_ORDERS), key=_identity, lock=Lock())
def _in_order(run: Run, index: Index, ranking: Ranking) -> _Ordered:
    """Return the rows, none in the context."""
    embedder = passage_embedder(run)
    names = {key: _names(page) for key, page in run.pages.items()}
    scores = {name: known(getattr(ranking, name)) for name in SCORES}
    ranked = []
    for rank, row in enumerate(ranking.order.tolist(), 1):
        passage = index.passages[row]
        title, host, url = names.get(passage.place.page, ("", "", ""))
        ranked.append(
            RankedPassage(
                row=row,
                id=passage.id,
                rank=rank,
                number=None,
                **{name: column[row] if column else None for name, column in scores.items()},
                text=passage.text,
                title=title,
                site=host,
                url=url,
                key=passage.place.page,
                embedder=embedder
                if ranking.cosine is not None and math.isfinite(ranking.cosine[row])
                else "",
            )
        )
    return _Ordered(tuple(ranked), index, run.pages)


def _names(page: Page) -> tuple[str, str, str]:
    """Return title, site and address of a page."""
    host = site(page.url)
    return one_line(page.title or host, 120), host, page.url


def known(scores: NDArray[np.float32] | None) -> list[float | None]:
    """Return the scores in order, with None if not finite, or an empty list if not computed."""
    return [] if scores is None else [score if math.isfinite(score) else None for score in scores.tolist()]


def ranks_by_row(ranking: Ranking) -> dict[int, int]:
    """Return ranks from 1 by row, best first."""
    return {row: rank for rank, row in enumerate(ranking.order.tolist(), 1)}


def filtered(
    table: Sequence[RankedPassage], *, words: str = "", only_context: bool = False, key: str | None = None
) -> tuple[RankedPassage, ...]:
    """Return the rows with all `words`, in any letter case, in passage, title or site."""
    return tuple(
        row
        for row in table
        if (not only_context or row.number is not None)
        and (key is None or row.key == key)
        and (not words or has_words(f"{row.title} {row.site} {row.text}", words))
    )


def sorted_by(table: Sequence[RankedPassage], name: str) -> tuple[RankedPassage, ...]:
    """Sort the rows by a score or by "source".

    Rows without the score come last. Equal rows keep their order.
    """
    if name == "source":
        return tuple(sorted(table, key=lambda row: (row.site, row.title)))
    if name not in SCORES:
        return tuple(table)

    def falling(row: RankedPassage) -> float:
        score: float | None = getattr(row, name)
        return math.inf if score is None else -score

    return tuple(sorted(table, key=falling))


def score_at(scores: NDArray[np.float32] | None, row: int) -> float | None:
    """Return the row's score, or None if it was not computed or is not finite."""
    return None if scores is None or not math.isfinite(scores[row]) else float(scores[row])


def cosines(run: Run) -> Mapping[str, float]:
    """Return the cosine to the question by passage id."""
    if run.index is None or run.ranking is None or run.ranking.cosine is None:
        return {}
    return {
        passage.id: float(score)
        for passage, score in zip(run.index.passages, run.ranking.cosine, strict=True)
    }


def sampled(table: Sequence[RankedPassage], limit: int) -> tuple[RankedPassage, ...]:
    """Return about `limit` rows: the context, the best half, and a sample of the others."""
    if len(table) <= limit:
        return tuple(table)
    best = limit // 2
    step = math.ceil((len(table) - best) / (limit - best))
    return tuple(
        row
        for place, row in enumerate(table)
        if place < best or row.number is not None or (place - best) % step == 0
    )


# --- a passage in its article -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageInContext:
    """A passage with the surrounding text. `begins` and `ends` mark the limits of the article."""

    before: str
    passage: str
    after: str
    begins: bool
    ends: bool


def passage_in_context(page: Page, place: Place, around: int = 2500) -> PassageInContext:
    """Return the passage at `place` with surrounding text.

    Each side has up to `around` characters, cut between words.
    """
    text = page.text
    start = 0 if place.start <= around else text.find(" ", place.start - around) + 1
    start = start if 0 < start <= place.start else max(0, place.start - around)
    end = len(text)
    if len(text) - place.end > around:
        space = text.rfind(" ", place.end, place.end + around)
        end = space if space > place.end else place.end + around
    return PassageInContext(
        before=text[start : place.start],
        passage=text[place.start : place.end],
        after=text[place.end : end],
        begins=start == 0,
        ends=end == len(text),
    )


def nearest_passages(run: Run, vector: NDArray[np.float32]) -> tuple[RankedPassage, ...]:
    """Return the passages of a run by their cosine to another question, nearest first.

    A passage keeps its number in the context of the run's answer. Passages without a vector are left out.
    """
    if run.index is None or run.index.vectors is None:
        return ()
    cosines = (run.index.vectors @ vector).tolist()
    rows = [row for row in ranked_passages(run) if math.isfinite(cosines[row.row])]
    rows.sort(key=lambda row: -cosines[row.row])
    return tuple(
        replace(row, rank=rank, cosine=cosines[row.row], bm25=None, fused=None, rerank=None, diverse=None)
        for rank, row in enumerate(rows, 1)
    )
