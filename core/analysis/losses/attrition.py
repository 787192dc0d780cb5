"""What was lost on the way from search results to citations, step by step, with the reason of every loss.

The way has two units. Up to the articles, addresses are counted; from there on, the passages they were cut
into. Within a unit nothing appears or vanishes: what enters a step leaves it, onwards or as a loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.analysis.rankings.context_membership import answers_this_context, cited_rows, verdicts_of
from core.model import Place, Query, Result, SkipReason
from core.run.state import Run
from core.text.urls import canonical_url


class AttritionStep(StrEnum):
    """The steps, in order. The first four count addresses, the others passages."""

    HITS = "search results"
    UNIQUE = "different pages"
    FETCHED = "fetched"
    EXTRACTED = "articles"
    PASSAGES = "passages"
    RANKED = "ranked"
    CONTEXT = "in the context"
    CITED = "cited"


AFTER_FETCHING = frozenset(
    {
        SkipReason.BROKEN,
        SkipReason.CRASHED,
        SkipReason.NEEDS_JAVASCRIPT,
        SkipReason.CONSENT_WALL,
        SkipReason.LOGIN_WALL,
        SkipReason.NOT_FOUND,
        SkipReason.EMPTY,
    }
)
"""Skip reasons of pages that did arrive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """What went from one step to the next (`reason` empty), or was lost after it (`to` None).

    `items` are names of what it holds: "query\\nrank" for search results, keys of hits, ids of passages.
    `width` is the band's share of all, from 0 to 1, and is conserved at every step, also where the unit
    changes: there the whole width of the articles goes on as that of their passages.
    """

    start: AttritionStep
    to: AttritionStep | None
    reason: str
    items: tuple[str, ...]
    width: float

    @property
    def count(self) -> int:
        return len(self.items)

    @property
    def key(self) -> str:
        """A name for links and widgets, unique within one attrition."""
        return f"{self.start.name.lower()}:{self.reason or 'on'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attrition:
    """All bands, in the order of the steps; losses stand before what goes on, the greatest first.

    `counts` has what reached each step. `answered` is False when there is no answer to the context that
    is ranked now; nothing is then said about citations.
    """

    counts: dict[AttritionStep, int]
    bands: tuple[Band, ...]
    answered: bool

    def losses(self, step: AttritionStep) -> tuple[Band, ...]:
        return tuple(band for band in self.bands if band.start is step and band.to is None)

    def band(self, key: str) -> Band | None:
        return next((band for band in self.bands if band.key == key), None)


def attrition(run: Run) -> Attrition:
    """Follow every result of the run to where it ended."""
    way = _Way()
    rows, kept, repeated = _results(run)
    way.begin(rows)
    way.pass_on(AttritionStep.HITS, AttritionStep.UNIQUE, repeated, kept)
    unfetched, unread, articles = _pages(run)
    away = {key for _, key in unfetched}
    way.pass_on(
        AttritionStep.UNIQUE,
        AttritionStep.FETCHED,
        unfetched,
        [hit.key for hit in run.hits if hit.key not in away],
    )
    way.pass_on(AttritionStep.FETCHED, AttritionStep.EXTRACTED, unread, articles)
    unranked, ranked = _passages(run)
    way.change_unit(
        AttritionStep.EXTRACTED, AttritionStep.PASSAGES, [*ranked, *(item for _, item in unranked)]
    )
    way.pass_on(AttritionStep.PASSAGES, AttritionStep.RANKED, unranked, ranked)
    left_out, context = _ranked(run)
    way.pass_on(AttritionStep.RANKED, AttritionStep.CONTEXT, left_out, context)
    answered = run.answer is not None and answers_this_context(run)
    if answered and run.index is not None:
        cited = {run.index.passages[row].id for row in cited_rows(run)}
        uncited = [("never cited", item) for item in context if item not in cited]
        way.pass_on(
            AttritionStep.CONTEXT, AttritionStep.CITED, uncited, [item for item in context if item in cited]
        )
    return Attrition(counts=way.counts, bands=tuple(way.bands), answered=answered)


Lost = Sequence[tuple[str, str]]
"""Pairs of a reason and an item."""


class _Way:
    """Bands as they are laid, step by step."""

    def __init__(self) -> None:
        self.bands: list[Band] = []
        self.counts: dict[AttritionStep, int] = {}
        self._widths: dict[AttritionStep, float] = {}

    def begin(self, items: Sequence[str]) -> None:
        self.counts[AttritionStep.HITS], self._widths[AttritionStep.HITS] = len(items), 1.0

    def pass_on(self, start: AttritionStep, to: AttritionStep, lost: Lost, on: Sequence[str]) -> None:
        by_reason: dict[str, list[str]] = {}
        for reason, item in lost:
            by_reason.setdefault(reason, []).append(item)
        scale = self._widths[start] / max(len(lost) + len(on), 1)
        for reason, items in sorted(by_reason.items(), key=lambda pair: (-len(pair[1]), pair[0])):
            self._lay(start, None, reason, items, scale * len(items))
        self._lay(start, to, "", on, scale * len(on))

    def change_unit(self, start: AttritionStep, to: AttritionStep, items: Sequence[str]) -> None:
        self._lay(start, to, "", items, self._widths[start] if items else 0.0)

    def _lay(
        self, start: AttritionStep, to: AttritionStep | None, reason: str, items: Iterable[str], width: float
    ) -> None:
        band = Band(start=start, to=to, reason=reason, items=tuple(items), width=width)
        self.bands.append(band)
        if to is not None:
            self.counts[to], self._widths[to] = band.count, width


def _results(run: Run) -> tuple[list[str], list[str], Lost]:
    """Names of all result rows, of those that named a page first, and of the others with the reason."""
    # A rank alone tells no row: the web and each collection count from 1.
    taken = {(found.query, found.rank, hit.key) for hit in run.hits for found in hit.found}
    keys = {hit.key for hit in run.hits}
    named: set[str] = set()
    rows, kept, lost = [], [], []
    for name, query, result in result_rows(run):
        key = canonical_url(result.url)
        rows.append(name)
        if (query.text, result.rank, key) in taken and key not in named:
            named.add(key)
            kept.append(name)
        elif key in keys:
            lost.append(("found again", name))
        else:
            lost.append(("beyond the results read per query", name))
    return rows, kept, lost


def result_rows(run: Run) -> Iterator[tuple[str, Query, Result]]:
    """All rows of all replies, each with the name that it has in a band."""
    for query in run.queries:
        for place, result in enumerate(run.replies[query].results if query in run.replies else ()):
            yield f"{query.text}\n{place}", query, result


def _pages(run: Run) -> tuple[Lost, Lost, list[str]]:
    """Keys of hits that were not fetched and of hits that were not read, with reasons; those of articles.

    Where snippets stand in for pages that could not be read, they count as articles.
    """
    unfetched, unread, articles = [], [], []
    for hit in run.hits:
        skip = run.skips.get(hit.key)
        if hit.key in run.pages:
            articles.append(hit.key)
        elif skip is None:
            unfetched.append(("not fetched", hit.key))
        elif skip.reason in AFTER_FETCHING:
            unread.append((str(skip.reason), hit.key))
        else:
            unfetched.append((str(skip.reason), hit.key))
    return unfetched, unread, articles


def _passages(run: Run) -> tuple[Lost, list[str]]:
    """Ids of passages that take no part in the ranking, with the reason, and of those that do."""
    if run.index is None:
        return [("not embedded yet", passage.id) for passage in run.passages], []
    index = run.index
    folded = [
        ("same text as another passage", place_id(place))
        for passage in (*index.passages, *index.lost)
        for place in passage.also
    ]
    lost = [("could not be embedded", passage.id) for passage in index.lost]
    if run.ranking is None:
        waiting = [("not ranked yet", passage.id) for passage in index.passages]
        return [*folded, *lost, *waiting], []
    return [*folded, *lost], [passage.id for passage in index.passages]


def _ranked(run: Run) -> tuple[Lost, list[str]]:
    """Ids of ranked passages that are no sources, with the reason, and of those that are."""
    if run.index is None:
        return [], []
    ids = [passage.id for passage in run.index.passages]
    told = verdicts_of(run)
    left_out = [(str(reason), ids[row]) for row, reason in told.items() if reason is not None]
    return left_out, [ids[row] for row, reason in told.items() if reason is None]


def place_id(place: Place) -> str:
    """The id that a passage at this place has."""
    return f"{place.page}#{place.start}-{place.end}"
