"""Ranked passages as table rows, their filters and samples, and a passage with its surrounding text."""

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
"""Orders of passages whose rows are kept for the next ranking that differs from them in its context alone."""
SNIPPET = 160
"""Characters of a passage in a table; whole passages would dominate what is sent to the browser."""
SCORES = ("cosine", "bm25", "fused", "rerank", "diverse")
"""The scores that a ranked passage can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPassage:
    """A ranked passage. `row` is its place in the index, `id` the same under every ranking.

    `number` is its number in the context, or None. Scores are raw and None where they were not computed.
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
    """The name of the model whose vector it has; empty where it has none."""

    @property
    def snippet(self) -> str:
        """The beginning of the text on one line. It is made when it is read: most rows are never drawn."""
        return one_line(readable(self.text), SNIPPET)


def ranked_passages(run: Run) -> tuple[RankedPassage, ...]:
    """The ranked passages, best first; none before there is a ranking."""
    if run.index is None or run.ranking is None:
        return ()
    numbers = run.context_numbers
    rows = _in_order(run, run.index, run.ranking).rows
    return tuple(replace(row, number=numbers[row.row]) if row.row in numbers else row for row in rows)


@dataclass(frozen=True, slots=True)
class _Ordered:
    rows: Sequence[RankedPassage]
    index: Index
    pages: Mapping[str, Page]
    """What they are of: as long as it is cached, their `id` is not reused."""


def _identity(run: Run, index: Index, ranking: Ranking) -> Hashable:
    arrays = (ranking.order, *(getattr(ranking, name) for name in SCORES))
    return id(index), id(run.pages), *(None if array is None else array.tobytes() for array in arrays)


@cached(LRUCache(CACHED_ORDERS), key=_identity, lock=Lock())
def _in_order(run: Run, index: Index, ranking: Ranking) -> _Ordered:
    """The rows as if none were in the context."""
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
    """Title, site and address of a page in a table."""
    host = site(page.url)
    return one_line(page.title or host, 120), host, page.url


def known(scores: NDArray[np.float32] | None) -> list[float | None]:
    """The scores in order, None where they are not finite; empty when they were not computed."""
    return [] if scores is None else [score if math.isfinite(score) else None for score in scores.tolist()]


def ranks_by_row(ranking: Ranking) -> dict[int, int]:
    """Ranks, from 1, by row of the index, best first."""
    return {row: rank for rank, row in enumerate(ranking.order.tolist(), 1)}


def filtered(
    table: Sequence[RankedPassage], *, words: str = "", only_context: bool = False, key: str | None = None
) -> tuple[RankedPassage, ...]:
    """The rows with all `words`, in any letter case, in passage, title or site."""
    return tuple(
        row
        for row in table
        if (not only_context or row.number is not None)
        and (key is None or row.key == key)
        and (not words or has_words(f"{row.title} {row.site} {row.text}", words))
    )


def sorted_by(table: Sequence[RankedPassage], name: str) -> tuple[RankedPassage, ...]:
    """The rows by a score, highest first, or by "source"; rows without the score come last, ties stay in order."""
    if name == "source":
        return tuple(sorted(table, key=lambda row: (row.site, row.title)))
    if name not in SCORES:
        return tuple(table)

    def falling(row: RankedPassage) -> float:
        score: float | None = getattr(row, name)
        return math.inf if score is None else -score

    return tuple(sorted(table, key=falling))


def score_at(scores: NDArray[np.float32] | None, row: int) -> float | None:
    """The row's score; None where it was not computed or is not finite."""
    return None if scores is None or not math.isfinite(scores[row]) else float(scores[row])


def cosines(run: Run) -> Mapping[str, float]:
    """Cosine similarity to the question by passage id."""
    if run.index is None or run.ranking is None or run.ranking.cosine is None:
        return {}
    return {
        passage.id: float(score)
        for passage, score in zip(run.index.passages, run.ranking.cosine, strict=True)
    }


def sampled(table: Sequence[RankedPassage], limit: int) -> tuple[RankedPassage, ...]:
    """About `limit` rows: all of the context, the best half, and an even sample of the rest."""
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
    """A passage with the article's text around it. `begins` and `ends` say whether the article begins and ends there."""

    before: str
    passage: str
    after: str
    begins: bool
    ends: bool


def passage_in_context(page: Page, place: Place, around: int = 2500) -> PassageInContext:
    """The passage at `place` with up to `around` characters of the article on each side, cut between words."""
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
