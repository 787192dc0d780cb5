"""Items of an attrition flow as table rows: what was lost at a step, or passed on."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.rankings.ranked_passages import ranks_by_row
from core.analysis.retrieval.attrition import AttritionStep, Flow, place_id, result_rows
from core.model.passage_urls import site
from core.run.state import Run
from core.text.sanitize import one_line

_ADDRESS_STEPS = (AttritionStep.HITS, AttritionStep.UNIQUE, AttritionStep.FETCHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowItem:
    """One row: a search result, a page or a passage."""

    label: str
    detail: str
    url: str


def flow_items(run: Run, flow: Flow) -> tuple[FlowItem, ...]:
    """The flow's items in its order; `detail` has rank, site, or the reason of a skip."""
    if flow.to is AttritionStep.PASSAGES or flow.start not in _ADDRESS_STEPS:
        return _passage_items(run, flow.items)
    if flow.start is AttritionStep.HITS:
        return _result_items(run, flow.items)
    hits = {hit.key: hit for hit in run.hits}
    return tuple(
        FlowItem(
            label=one_line(hits[key].title or site(hits[key].url)),
            detail=run.skips[key].detail if key in run.skips else site(hits[key].url),
            url=hits[key].url,
        )
        for key in flow.items
        if key in hits
    )


def _result_items(run: Run, names: Sequence[str]) -> tuple[FlowItem, ...]:
    rows = {name: (query, result) for name, query, result in result_rows(run)}
    return tuple(
        FlowItem(
            label=one_line(result.title or site(result.url)),
            detail=f"rank {result.rank} for “{one_line(query.text)}”",
            url=result.url,
        )
        for query, result in (rows[name] for name in names if name in rows)
    )


def _passage_items(run: Run, names: Sequence[str]) -> tuple[FlowItem, ...]:
    places = {
        place_id(place): place
        for passage in ((*run.index.passages, *run.index.not_embedded) if run.index else run.passages)
        for place in (passage.place, *passage.also)
    }
    ranks = _ranks(run)
    items = []
    for name in names:
        place = places.get(name)
        page = run.pages.get(place.page) if place else None
        if place is None or page is None:
            continue
        rank = ranks.get(name)
        items.append(
            FlowItem(
                label=one_line(page.text[place.start : place.end], 160),
                detail=f"rank {rank}, {site(page.url)}" if rank else site(page.url),
                url=page.url,
            )
        )
    return tuple(items)


def _ranks(run: Run) -> dict[str, int]:
    if run.index is None or run.ranking is None:
        return {}
    return {run.index.passages[row].id: rank for row, rank in ranks_by_row(run.ranking).items()}
