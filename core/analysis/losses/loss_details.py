"""The list behind a band of the attrition: what was lost there, or went on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.losses.attrition import AttritionStep, Band, place_id, result_rows
from core.model.passage_urls import site
from core.run.state import Run
from core.text.sanitize import one_line

_OF_ADDRESSES = (AttritionStep.HITS, AttritionStep.UNIQUE, AttritionStep.FETCHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of the list behind a band."""

    label: str
    detail: str
    url: str


def loss_details(run: Run, band: Band) -> tuple[Item, ...]:
    """What the band is made of, for a table."""
    if band.to is AttritionStep.PASSAGES or band.start not in _OF_ADDRESSES:
        return _passage_items(run, band.items)
    if band.start is AttritionStep.HITS:
        return _result_items(run, band.items)
    hits = {hit.key: hit for hit in run.hits}
    return tuple(
        Item(
            label=one_line(hits[key].title or site(hits[key].url)),
            detail=run.skips[key].detail if key in run.skips else site(hits[key].url),
            url=hits[key].url,
        )
        for key in band.items
        if key in hits
    )


def _result_items(run: Run, names: Sequence[str]) -> tuple[Item, ...]:
    rows = {name: (query, result) for name, query, result in result_rows(run)}
    return tuple(
        Item(
            label=one_line(result.title or site(result.url)),
            detail=f"rank {result.rank} for “{one_line(query.text)}”",
            url=result.url,
        )
        for query, result in (rows[name] for name in names if name in rows)
    )


def _passage_items(run: Run, names: Sequence[str]) -> tuple[Item, ...]:
    places = {
        place_id(place): place
        for passage in ((*run.index.passages, *run.index.lost) if run.index else run.passages)
        for place in (passage.place, *passage.also)
    }
    ranks = _ranks(run)
    found = []
    for name in names:
        place = places.get(name)
        page = run.pages.get(place.page) if place else None
        if place is None or page is None:
            continue
        rank = ranks.get(name)
        found.append(
            Item(
                label=one_line(page.text[place.start : place.end], 160),
                detail=f"rank {rank}, {site(page.url)}" if rank else site(page.url),
                url=page.url,
            )
        )
    return tuple(found)


def _ranks(run: Run) -> dict[str, int]:
    if run.index is None or run.ranking is None:
        return {}
    return {run.index.passages[row].id: rank for rank, row in enumerate(run.ranking.order.tolist(), 1)}
