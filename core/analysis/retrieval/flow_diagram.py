"""Flow diagram of the attrition, from the first step at the top to the last.

Steps are bars from the left edge, as wide as their share of all results. The remaining items run straight down at the
left. Losses leave at the right of the bar and bend to the right edge, each on its own line, so every label has a line
on any screen. `flow_items` are the rows of a table about one flow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.rankings.ranked_passages import ranks_by_row
from core.analysis.retrieval.attrition import Attrition, AttritionStep, Flow, place_id, result_rows
from core.model.passage_urls import site
from core.run.state import Run
from core.text.display import passage_label
from core.text.sanitize import one_line

MIN_WIDTH = 0.006
"""The least drawn share of a flow or a bar, to keep it visible."""

_THINNEST, _THICKEST = 0.12, 0.8
"""The shares of its line for the end of an empty loss and of the largest loss."""


_POINTS = 16
"""The number of straight pieces of a bend."""

Point = tuple[float, float]
_ADDRESS_STEPS = (AttritionStep.HITS, AttritionStep.UNIQUE, AttritionStep.FETCHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossBand:
    """A loss from the bar's `left` to `right` to the right edge's `top` to `bottom`.

    `left` and `right` are shares of the diagram's width, `top` and `bottom` of the height of the step's losses.
    """

    flow: Flow
    left: float
    right: float
    top: float
    bottom: float

    @property
    def outline(self) -> tuple[Point, ...]:
        """The corners of its polygon, as shares of width and height from the upper left."""
        return (*_bend(self.right, self.top), *reversed(_bend(self.left, self.bottom)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagramStep:
    """A step. `width` is that of its bar, `onward` of the part for the next step, from 0 to 1."""

    step: AttritionStep
    count: int
    width: float
    onward: float
    arriving: Flow | None
    """The flow to this step, or None for the first step."""
    losses: tuple[LossBand, ...]
    """The losses in the order of their lines."""


def flow_diagram(attrition: Attrition) -> tuple[DiagramStep, ...]:
    """Return the reached steps, with the losses after each."""
    arriving = {flow.to: flow for flow in attrition.flows if flow.to is not None}
    largest = max((flow.width for flow in attrition.flows if flow.to is None), default=1.0)
    steps = []
    for step in AttritionStep:
        count = attrition.counts.get(step, 0)
        if not count:
            continue
        into = arriving.get(step)
        width = max(into.width if into else 1.0, MIN_WIDTH)
        passed = next((flow for flow in attrition.flows if flow.start is step and flow.to is not None), None)
        onward = max(passed.width, MIN_WIDTH) if passed and passed.count else 0.0
        losses = tuple(flow for flow in attrition.losses(step) if flow.count)
        steps.append(
            DiagramStep(
                step=step,
                count=count,
                width=width,
                onward=min(onward, width),
                arriving=into,
                losses=_bands(losses, min(onward, width), width, largest),
            )
        )
    return tuple(steps)


def _bend(x: float, y: float) -> tuple[Point, ...]:
    """Return a cubic Bézier curve from the upper edge at `x` to the right edge at `y`.

    Both control points are (x, y).
    """
    along = (step / _POINTS for step in range(_POINTS + 1))
    return tuple((x + (1 - x) * t**3, y * (1 - (1 - t) ** 3)) for t in along)


def _bands(losses: tuple[Flow, ...], onward: float, width: float, largest: float) -> tuple[LossBand, ...]:
    """Return the bands of the losses without crossings.

    The first loss leaves furthest to the right and has the uppermost line.
    """
    shares = [max(flow.width, MIN_WIDTH) for flow in losses]
    room = max(width - onward, MIN_WIDTH)
    scale = room / sum(shares) if shares else 1.0
    bands = []
    right = onward + room
    for line, (flow, share) in enumerate(zip(losses, shares, strict=True)):
        thickness = _THINNEST + (_THICKEST - _THINNEST) * min(share / max(largest, MIN_WIDTH), 1.0)
        middle = line + 0.5
        bands.append(
            LossBand(
                flow=flow,
                left=right - scale * share,
                right=right,
                top=(middle - thickness / 2) / len(losses),
                bottom=(middle + thickness / 2) / len(losses),
            )
        )
        right -= scale * share
    return tuple(bands)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowItem:
    """One row: a search result, a page or a passage."""

    label: str
    detail: str
    url: str


def flow_items(run: Run, flow: Flow) -> tuple[FlowItem, ...]:
    """Return the flow's items in order. `detail` has rank, site, or the reason of a skip."""
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
    ranks = ranks_by_row(run.ranking) if run.ranking else {}
    rank_of = {run.index.passages[row].id: rank for row, rank in ranks.items()} if run.index else {}
    items = []
    for name in names:
        place = places.get(name)
        page = run.pages.get(place.page) if place else None
        if place is None or page is None:
            continue
        rank = rank_of.get(name)
        items.append(
            FlowItem(
                label=passage_label(page.text[place.start : place.end], 160),
                detail=f"rank {rank}, {site(page.url)}" if rank else site(page.url),
                url=page.url,
            )
        )
    return tuple(items)
