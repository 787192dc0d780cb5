"""Plots of a run as SVG and HTML without scripts, from the pages' analyses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from htpy import Element, Node, b, circle, div, figure, line, polyline, svg, title
from htpy import text as svg_text

from core.analysis.answers.attribution import Attribution, Cell
from core.analysis.embedding_map.embedding_map import Projection, passage_projection
from core.analysis.rankings.ranked_passages import ranked_passages, sampled
from core.analysis.rankings.score_curve import ScoreCurve, elbow, score_curve
from core.analysis.retrieval.attrition import Attrition, attrition
from core.analysis.retrieval.flow_diagram import flow_diagram
from core.features.notebook.display import Display, bar, caption, empty, rows_table
from core.model import readable
from core.run.state import Run
from core.text.display import decimal
from core.text.sanitize import one_line, plural, pluralize

MOST_POINTS = 500
"""The most points of a plot: the context, the best, and an even sample of the others."""
WIDTH, HEIGHT, MARGIN = 640, 300, 34
COLOURS = ("#5c6ede", "#1f9d63", "#c2569a", "#2a9bb5", "#a06a2c", "#8a63d2", "#d64550")
REST, MARK = "#9a9aa2", "#d98a00"


def score_plot(run: Run) -> Display[ScoreCurve | None]:
    """Plot cosine and BM25 by rank, with the context and its cut-off. Each has its own scale."""
    curve = score_curve(run)
    if curve is None:
        return empty(None, "The run has no ranking with scores.")
    series = {name: scores for name, scores in (("cosine", curve.cosine), ("BM25", curve.bm25)) if scores}
    ranks = max(map(len, series.values()), default=1)
    shapes: list[Element] = []
    for colour, (name, scores) in zip((COLOURS[0], REST), series.items(), strict=False):
        known = [score for score in scores if score is not None]
        low, high = min([0.0, *known]), max([0.0, *known]) or 1.0

        def height(score: float, low: float = low, high: float = high) -> float:
            return (score - low) / ((high - low) or 1.0)

        every = -(-len(scores) // MOST_POINTS) or 1
        places = [(rank, scores[rank - 1]) for rank in range(1, len(scores) + 1, every)]
        points = [_place(_share(rank, ranks), height(score)) for rank, score in places if score is not None]
        shapes.append(polyline(points=" ".join(points), fill="none", stroke=colour, stroke_width="1.8"))
        x = WIDTH - MARGIN if len(shapes) > 1 else MARGIN
        shapes.append(svg_text(x=str(x), y="14", text_anchor="middle")[f"{name} {decimal(high, 2)}"])
        if len(shapes) == 2:
            shapes += [
                _dot(_share(rank, ranks), height(score), MARK, 4, f"rank {rank}: {name} {decimal(score, 3)}")
                for rank in curve.context
                if rank <= len(scores) and (score := scores[rank - 1]) is not None
            ]
    cut = _share(curve.cutoff + 0.5, ranks) if curve.cutoff else 0.0
    shapes += [_vertical(cut)] if curve.cutoff else []
    bend = elbow(np.asarray(curve.scores, dtype=np.float32))
    words = (
        f"{' and '.join(series)} by rank, {pluralize(ranks, 'passage')}. {len(curve.context)} {plural(len(curve.context), 'is', 'are')} in the context, "
        f"the last at rank {curve.cutoff}. {curve.name}: {f'elbow after rank {bend}' if bend else 'no elbow'}."
    )
    return Display(value=curve, content=_figure(shapes, words))


def map_plot(run: Run) -> Display[Projection | None]:
    """Plot question and passages in two dimensions. Pages of the context have colours."""
    projected = passage_projection(run.index, run.embedded_for_answer) if run.index and run.ranking else None
    if projected is None:
        return empty(None, "The passages have no vectors, so there is no map.")
    has_point = ~np.isnan(projected.points[:, 0])
    rows = [row for row in sampled(ranked_passages(run), MOST_POINTS) if has_point[row.row]]
    places = np.vstack([projected.points[[row.row for row in rows]], projected.question[None]])
    low, spread = places.min(axis=0), np.ptp(places, axis=0)
    shares = (places - low) / np.where(spread > 0, spread, 1)
    colours = dict(zip(dict.fromkeys(row.key for row in rows if row.number), COLOURS, strict=False))
    shapes = [
        _dot(
            x,
            y,
            colours.get(row.key, REST),
            7 if row.number else 3.5,
            f"{f'[{row.number}] ' if row.number else ''}rank {row.rank} · {row.title}: {one_line(readable(row.text), 120)}",
            ring=bool(row.number),
        )
        for row, (x, y) in sorted(
            zip(rows, shares[:-1].tolist(), strict=True), key=lambda pair: pair[0].number is not None
        )
    ]
    x, y = shares[-1].tolist()
    shapes.append(_dot(x, y, MARK, 8, f"question: {one_line(run.question, 100)}"))
    words = (
        f"{pluralize(len(rows), 'passage')} and the question (amber), projected to the plane: "
        f"{sum(projected.explained):.0%} of the variance. Large points are in the context, a colour is a page. "
        "Close points are similar; the projection is approximate."
    )
    return Display(value=projected, content=_figure(shapes, words))


def attrition_plot(run: Run) -> Display[Attrition]:
    """Show the number of items at each step from search results to citations, and the losses."""
    losses = attrition(run)
    steps = flow_diagram(losses)
    if not steps:
        return empty(losses, "No search results were found.")
    rows = (
        (
            b[f"{step.count:,}"],
            str(step.step),
            bar(step.width, wide=True),
            [div[b(".bad")[f"{band.flow.count:,}"], f" × {band.flow.reason}"] for band in step.losses],
        )
        for step in steps
    )
    table = rows_table(("items", "step", "share", "lost after it"), rows, numbers=("items",))
    return Display(value=losses, content=table)


def attribution_plot(attributed: Attribution) -> Display[Attribution]:
    """Show the answer's sentences against its sources.

    Cited cells have a frame, dashed below the limit.
    """
    if not attributed.sentences or not attributed.sources:
        return empty(attributed, "The answer has no sentence to compare with a source.")
    summary = attributed.summary
    words = (
        f"{summary.cited} of {pluralize(summary.sentences, 'sentence')} cite a source; {summary.similar} of "
        f"{pluralize(summary.citations, 'citation')} similar by {attributed.measure} of at least "
        f"{decimal(attributed.limit, 2)}. Similarity is not entailment."
    )
    numbers = [str(source.number) for source in attributed.sources]
    rows: Iterable[Sequence[Node]] = (
        (
            (entry.text, [div(".bad")[flag] for flag in entry.flag_labels]),
            *(_heat(cell, attributed.strength(cell)) for cell in entry.cells),
        )
        for entry in attributed.sentences
    )
    table = rows_table(("sentence of the answer", *numbers), rows, numbers=numbers)
    return Display(value=attributed, content=figure[table, caption(words)])


def _heat(cell: Cell, share: float) -> Element:
    frame = f";outline:2px {'dashed' if cell.dissimilar else 'solid'} {MARK}" if cell.cited else ""
    return div(
        style=f"background:rgba(92,110,222,{0.6 * share:.2f});padding:2px 6px;border-radius:3px{frame}"
    )[decimal(cell.similarity, 2)]


def _figure(shapes: Iterable[Element], words: str) -> Element:
    return figure[
        svg(
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            width=str(WIDTH),
            height=str(HEIGHT),
            role="img",
            aria_label=words,
        )[list(shapes)],
        caption(words),
    ]


def _share(rank: float, ranks: int) -> float:
    return (rank - 1) / max(ranks - 1, 1)


def _xy(x: float, y: float) -> tuple[str, str]:
    """Return coordinates of shares of width and height, from the lower left."""
    return (
        f"{MARGIN + x * (WIDTH - 2 * MARGIN):.1f}",
        f"{HEIGHT - MARGIN / 2 - y * (HEIGHT - 1.5 * MARGIN):.1f}",
    )


def _place(x: float, y: float) -> str:
    return ",".join(_xy(x, y))


def _dot(x: float, y: float, colour: str, radius: float, label: str, *, ring: bool = False) -> Element:
    cx, cy = _xy(x, y)
    stroke = {"stroke": MARK, "stroke-width": "2"} if ring else {}
    return circle(stroke, cx=cx, cy=cy, r=str(radius), fill=colour, fill_opacity="0.85")[title[label]]


def _vertical(x: float) -> Element:
    at, _ = _xy(x, 0)
    return line(x1=at, x2=at, y1="20", y2=str(HEIGHT - MARGIN // 2), stroke=MARK, stroke_dasharray="3 3")
