"""What the front page draws of a recorded run, as a function of the second."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from core.analysis.embedding_map.embedding_map import project
from core.analysis.progress import phase_progress
from core.config.knobs import Strategy
from core.model import Index, Phase, source_numbers
from core.model.passage_urls import site
from core.run import events as e
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.stages.rank import rank
from core.text.markdown.elements import elements
from core.text.sanitize import one_line

LEAST_SECONDS = {
    Phase.PLAN: 1.5,
    Phase.SEARCH: 2.0,
    Phase.READ: 4.0,
    Phase.EMBED: 4.0,
    Phase.RANK: 2.0,
    Phase.ANSWER: 6.5,
}
"""Seconds that a phase is played at least. A ranking takes 20 ms, which nobody can see."""
MOST_PASSAGES = 12
"""The most passages in the context that can be tried."""
SIZES = range(200, 1001, 100)
"""The passage sizes that can be tried, besides that of the run."""


def recorded_stage(recorded: RecordedRun) -> dict[str, Any] | None:
    """Return the run's texts, times and rankings as JSON values, or None without a ranked answer.

    Times are seconds of the played run: in the order of the real one, each phase at least `LEAST_SECONDS` long. The
    seconds in `frames` are the real ones. Passages are rows of the index, and pages are listed once.

    The keys are `question`, `date`, `length`, `frames` (time, and a count, unit, state and seconds for each phase),
    `queries`, `pages`, `points` and `star` (0 to 1), `cut` (as `cut_stage` returns it), `numbers` of sources by row,
    `answer`, `answer_from`, `answer_to`, `ranked_from`, `ranked`, `strategy`, `top_k`, `size` and `sizes`.
    """
    run = recorded.run
    index, ranking = run.index, run.ranking
    if index is None or ranking is None or index.vectors is None or index.question is None or not run.text:
        return None
    played = _played(run)
    spans = run.timeline.phases
    projection = project(np.nan_to_num(index.vectors), index.question)
    points, star = _within_one(projection.points, projection.question)
    rows_by_id = {passage.id: row for row, passage in enumerate(index.passages)}
    return {
        "question": run.question,
        "date": run.started[:10],
        "length": round(played(run.seconds), 2),
        "frames": list(_frames(recorded, played)),
        "queries": [[played(at), query] for at, query in _queries(recorded)],
        "pages": _pages(recorded, played),
        "points": _points(recorded, index, points, played),
        "star": star,
        "cut": cut_stage(recorded, run),
        "numbers": {
            str(rows_by_id[source.passage.id]): source.number
            for source in run.sources
            if source.passage.id in rows_by_id
        },
        "answer": elements(run.text, source_numbers(run.sources)),
        "answer_from": played(spans[Phase.ANSWER].start),
        "answer_to": played(spans[Phase.ANSWER].end or run.seconds),
        "ranked_from": played(spans[Phase.RANK].start),
        "ranked": played(spans[Phase.RANK].end or run.seconds),
        "strategy": str(run.knobs.rank.strategy),
        "top_k": run.knobs.rank.top_k,
        "size": run.knobs.chunk.size,
        "sizes": sorted({*SIZES, run.knobs.chunk.size}),
    }


def cut_stage(recorded: RecordedRun, cut: Run) -> dict[str, Any]:
    """Return the contexts and ranks of the run whose pages were cut to another passage size.

    A passage of the recorded run keeps its row, and a new one has a row after them. The keys are `size`, `contexts` and
    `ranks` by strategy, and `passages`, which has the page titles of rows in any context.
    """
    original, index = recorded.run.index, cut.index
    if original is None or index is None:
        return {"size": cut.knobs.chunk.size, "contexts": {}, "ranks": {}, "passages": {}}
    rows_by_id = {passage.id: row for row, passage in enumerate(original.passages)}
    known = len(original.passages)
    rows = [rows_by_id.get(passage.id, known + row) for row, passage in enumerate(index.passages)]
    contexts, places = _rankings(cut, index)
    used = {row for lists in contexts.values() for context in lists for row in context}
    titles = {row: one_line(cut.pages[index.passages[row].place.page].title, 120) for row in sorted(used)}
    return {
        "size": cut.knobs.chunk.size,
        "contexts": {
            name: [[rows[row] for row in context] for context in lists] for name, lists in contexts.items()
        },
        "ranks": {
            name: {
                str(rows[row]): place for row, place in enumerate(of_rows) if row in used or rows[row] < known
            }
            for name, of_rows in places.items()
        },
        "passages": {str(rows[row]): title for row, title in titles.items()},
    }


def _played(run: Run) -> Callable[[float], float]:
    spans = run.timeline.phases
    ended = sorted(
        (span.end, phase) for phase, span in spans.items() if phase in LEAST_SECONDS and span.end is not None
    )
    real, played = [0.0], [0.0]
    for end, phase in ended:
        real.append(max(end, real[-1] + 1e-6))
        played.append(played[-1] + max(real[-1] - real[-2], LEAST_SECONDS[phase]))
    return lambda second: round(float(np.interp(second, real, played)), 3)


def _frames(recorded: RecordedRun, played: Callable[[float], float]) -> Iterator[list[Any]]:
    run, shown = recorded.base or Run(), None
    for record in recorded.records:
        run = run.apply(record)
        cells = [
            [step.count, step.unit, str(step.state), None if step.seconds is None else round(step.seconds, 3)]
            for step in phase_progress(run, record.at)
        ]
        if cells != shown:
            shown = cells
            yield [played(record.at), cells]


def _queries(recorded: RecordedRun) -> Iterator[tuple[float, str]]:
    for record in recorded.records:
        if isinstance(record.event, e.QueryPlanned):
            yield record.at, one_line(record.event.query.text, 200)


def _pages(recorded: RecordedRun, played: Callable[[float], float]) -> list[list[Any]]:
    """Return the title and the times of request and reading of each page that was read."""
    began = {
        record.event.key: record.at for record in recorded.records if isinstance(record.event, e.FetchStarted)
    }
    return [
        [
            one_line(record.event.page.title, 120) or site(record.event.page.key),
            played(began.get(record.event.page.key, record.at)),
            played(record.at),
        ]
        for record in recorded.records
        if isinstance(record.event, e.PageRead)
    ]


def _points(
    recorded: RecordedRun, index: Index, points: list[list[float]], played: Callable[[float], float]
) -> list[list[float]]:
    """Return the place of each row, and the time of its vector."""
    embedded = {
        passage: record.at
        for record in recorded.records
        if isinstance(record.event, e.Embedded)
        for passage in record.event.passages
    }
    end = recorded.run.seconds
    return [
        [*points[row], played(embedded.get(passage.id, end))] for row, passage in enumerate(index.passages)
    ]


def _rankings(run: Run, index: Index) -> tuple[dict[str, list[list[int]]], dict[str, list[int]]]:
    """Return the contexts of 1 to `MOST_PASSAGES` passages and the rank of each row, by strategy."""
    contexts: dict[str, list[list[int]]] = {}
    ranks: dict[str, list[int]] = {}
    for strategy in Strategy:
        tried = [
            rank(run.question, index, replace(run.knobs.rank, strategy=strategy, top_k=count), run.pages)
            for count in range(1, MOST_PASSAGES + 1)
        ]
        contexts[strategy] = [list(map(int, ranking.context)) for ranking in tried]
        places = np.empty(len(index.passages), dtype=int)
        places[tried[-1].order] = np.arange(1, len(index.passages) + 1)
        ranks[strategy] = places.tolist()
    return contexts, ranks


def _within_one(points: Any, star: Any) -> tuple[list[list[float]], list[float]]:
    """Scale the points and the star to 0 to 1 on both axes."""
    every = np.vstack([points, star[None]]).astype(float)
    low, high = every.min(axis=0), every.max(axis=0)
    scaled = ((every - low) / np.maximum(high - low, 1e-9)).round(4)
    scaled[:, 1] = (1 - scaled[:, 1]).round(4)  # pixels count downwards
    rows: list[list[float]] = scaled.tolist()
    return rows[:-1], rows[-1]
