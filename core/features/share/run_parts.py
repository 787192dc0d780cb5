"""The values that one HTML file of a run shows."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.answers.answer_stats import answer_seconds, answer_stats, partial_version
from core.analysis.embedding_map.embedding_map import passage_projection
from core.analysis.progress import hit_progress, phase_progress
from core.analysis.rankings.ranked_passages import passage_in_context
from core.analysis.steps import step_rows
from core.config.knobs import RankKnobs, Strategy
from core.config.schema import Parameter, parameters
from core.config.version import __version__
from core.model import Index, Passage, Place, snippet_numbers, source_numbers
from core.model.arrays import array_to_json
from core.model.passage_urls import site
from core.run.hit_merging import RRF_K
from core.run.notices import passage_embedder
from core.run.reports.sections import SectionState
from core.run.state import Run
from core.stages.rank import UNSUPPORTED_LANGUAGE_WEIGHT, cosine_share, rank, waiting_above
from core.stages.ranking.calibration import calibration_of
from core.stages.ranking.context_selection import PER_PAGE, ExclusionReason
from core.stages.ranking.mmr import POOL
from core.stages.ranking.near_duplicates import copies
from core.text.markdown.elements import elements
from core.text.markdown.safe_markdown import web_address
from core.text.qrels_names import page_name, question_id
from core.text.sanitize import json_without_surrogates, one_line, plural
from core.text.urls import host_of

_SHARES = (0.5, 0.5 * UNSUPPORTED_LANGUAGE_WEIGHT, 0.0, 1.0)
"""Results of `cosine_share` for a weight of 0.5: unchanged, reduced, none, all. The script numbers them from 0."""
SURROUNDINGS = 800
"""The most characters on each side of a context passage that stay when full texts are left out."""


def ranking_part(run: Run) -> dict[str, Any] | None:
    """Return the part `ranking` of a run, or None without a ranking.

    From it, `ranking.js` ranks like `core.stages.rank`.

    Passages are rows, and pages are numbers of `pages`. Scores equal the server's scores to the bit. Vectors, which
    only diversity needs, are 16-bit integers to be multiplied by `unit`: for components within one range that is more
    exact than float16. `length` counts the characters of the stripped passage, because the shortest passage is measured
    so.
    """
    index, ranking = run.index, run.ranking
    if index is None or ranking is None:
        return None
    vectors, unit = _fixed_point(index.vectors)
    scores = rank(run.question, index, RankKnobs(strategy=Strategy.FUSED), run.pages)
    arrays: dict[str, NDArray[Any] | None] = {
        "order": ranking.order.astype(np.int32),
        "page": _page_numbers(index.passages),
        "length": np.array([len(passage.text.strip()) for passage in index.passages], dtype=np.int32),
        "share": _share_kinds(run, index),
        "cosine": scores.cosine,
        "above": waiting_above(run.question, index, run.pages),
        "bm25": scores.bm25,
        "rerank": ranking.rerank,
        "vectors": vectors,
    }
    return {
        "context": ranking.context,
        "pages": _pages(run, index.passages),
        "copies": {str(row): others for row, others in copies(index.passages).items()},
        "width": 0 if vectors is None else vectors.shape[1],
        "unit": unit,
        "rules": _rules(index),
        **{name: array_to_json(array) for name, array in arrays.items() if array is not None},
    }


def _fixed_point(vectors: NDArray[np.float32] | None) -> tuple[NDArray[np.int16] | None, float]:
    """Return components as 16-bit steps, and the step size. Values that are not numbers become 0."""
    if vectors is None or not vectors.size:
        return None, 0.0
    finite = np.nan_to_num(vectors)
    unit = float(np.abs(finite).max()) / 32767 or 1.0
    return np.rint(finite / unit).astype(np.int16), unit


def page_keys(passages: tuple[Passage, ...]) -> tuple[str, ...]:
    """Return the distinct page keys in order of their first passages."""
    return tuple(dict.fromkeys(passage.place.page for passage in passages))


def _page_numbers(passages: tuple[Passage, ...]) -> NDArray[np.int32]:
    numbers = {key: number for number, key in enumerate(page_keys(passages))}
    return np.array([numbers[passage.place.page] for passage in passages], dtype=np.int32)


def _pages(run: Run, passages: tuple[Passage, ...]) -> list[dict[str, Any]]:
    return [
        {
            "key": key,
            "host": host_of(key),
            "document": run.pages[key].document if key in run.pages else key,
        }
        for key in page_keys(passages)
    ]


def _share_kinds(run: Run, index: Index) -> NDArray[np.uint8]:
    shares = cosine_share(run.question, index, run.pages, 0.5)
    distances = np.abs(shares[:, None] - np.array(_SHARES, dtype=np.float32))
    kinds: NDArray[np.uint8] = distances.argmin(axis=1).astype(np.uint8)
    return kinds


def _rules(index: Index) -> dict[str, Any]:
    return {
        "rrf_k": RRF_K,
        "unsupported_language_weight": UNSUPPORTED_LANGUAGE_WEIGHT,
        "mmr_pool": POOL,
        "per_page": PER_PAGE,
        "calibration": asdict(calibration_of(index.embedder)),
        "reasons": {reason.name.lower(): reason.value for reason in ExclusionReason},
    }


def run_parts(run: Run, *, full_texts: bool = True) -> dict[str, Any]:
    """Return the parts of the file by name, as JSON values.

    The parts of the ranking are None for a run without a ranking. `texts` has the pages with pieces of their text, each
    with its offset, and the places of the passages by row. Offsets count characters of Python. Without `full_texts` the
    pieces are the passages of the context with `SURROUNDINGS`.
    """
    ranking = ranking_part(run)
    parts = {
        "run": _run(run, full_texts=full_texts),
        "ranking": ranking,
        "texts": _texts(run, full_texts=full_texts) if ranking else None,
        "map": _map(run),
    }
    return {name: json_without_surrogates(value) for name, value in parts.items()}


def _run(run: Run, *, full_texts: bool) -> dict[str, Any]:
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "id": run.id,
        "question": run.question,
        "question_id": question_id(run.question),
        "started": run.started,
        "status": run.status,
        "seconds": run.seconds,
        "turn": {"number": run.turn.number, "written": run.turn.written} if run.turn else None,
        "phases": [
            _without(asdict(phase), "detail", "waiting") for phase in phase_progress(run, run.seconds)
        ],
        "queries": [{"text": query.text, "author": query.author} for query in run.queries],
        "hits": [
            {
                "title": one_line(progress.hit.title) or progress.site,
                "site": progress.site,
                "url": web_address(progress.hit.url),
                "outcome": progress.outcome,
                "reason": f"{progress.skip.reason}" if progress.skip else "",
            }
            for progress in hit_progress(run)
        ],
        "notices": [asdict(notice) for notice in run.notices],
        "error": {"message": run.error.message, "hint": run.error.hint} if run.error else None,
        "steps": [
            _without(asdict(row), "tokens", "arguments", *(() if full_texts else ("result",)))
            for row in step_rows(run)
        ],
        "sections": list(_sections(run)),
        "answer": elements(run.text, source_numbers(run.sources), snippet_numbers(run.sources)),
        "facts": list(_facts(run)),
        "citations": {str(number): count for number, count in run.check.citation_counts.items()},
        "numbers": _numbers(run),
        "knobs": asdict(run.knobs.rank),
        "controls": [
            _control(knob) for knob in parameters() if knob.group == "rank" and knob.name != "surroundings"
        ],
        "embedder": passage_embedder(run),
        "full_texts": full_texts,
    }


def _control(knob: Parameter) -> dict[str, Any]:
    """Return the description of a knob that the file can move. Text around passages is not in the file."""
    own = ("name", "title", "type", "default", "minimum", "maximum", "step", "longest")
    return {
        **{name: getattr(knob, name) for name in own},
        "unit": knob.control.unit,
        "labels": {str(value): label for value, label in knob.control.labels.items()},
        "common": knob.control.common,
        "needs_vectors": knob.control.needs_vectors,
    }


def _sections(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the sub-questions of a deep run with their outcomes.

    A plan that nobody has approved has only sub-questions.
    """
    for section in run.sections:
        is_interrupted = section.state is SectionState.RESEARCHING and not run.live
        yield {
            "question": section.question,
            "state": "interrupted" if is_interrupted else section.reason or section.state,
            "sources": [source.number for source in section.sources],
            "tokens": section.tokens,
            "seconds": section.end - section.start if section.end is not None else None,
        }
    if run.plan and not run.sections:
        yield from ({"question": question, "state": "planned"} for question in run.plan.sub_questions)


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    """Yield figures of the answer with their units. The last item has no figure, and names author and time."""
    if (version := partial_version(run)) is None:
        return
    stats, seconds = answer_stats(version), answer_seconds(run)
    yield f"{stats.citations:,}", plural(stats.citations, "citation")
    if stats.snippet_citations:
        yield f"{stats.snippet_citations:,}", f"{plural(stats.snippet_citations, 'citation')} of a snippet"
    if stats.sentences:
        yield f"{stats.sentences_cited}/{stats.sentences}", f"{plural(stats.sentences, 'sentence')} cited"
    if stats.length:
        yield f"{stats.length.count:,}", stats.length.noun
    if not version.answer.complete:
        yield "incomplete", ""
    yield (
        "",
        ", ".join(part for part in (f"{seconds:.1f} s" if seconds else "", one_line(stats.author)) if part),
    )


def _numbers(run: Run) -> list[tuple[int, int]]:
    """Return index rows with source numbers. They are the answer's numbers, or the numbers that an answer would use."""
    if run.index is None:
        return []
    rows = {passage.id: row for row, passage in enumerate(run.index.passages)}
    of_answer = [
        (rows[source.passage.id], source.number) for source in run.sources if source.passage.id in rows
    ]
    return of_answer or list(run.context_numbers.items())


def _texts(run: Run, *, full_texts: bool) -> dict[str, Any]:
    passages = run.index.passages if run.index else ()
    shown_rows = {row for row, _ in _numbers(run)} | set(run.ranking.context if run.ranking else ())
    by_page: dict[str, list[Place]] = {}
    for row in sorted(shown_rows):
        by_page.setdefault(passages[row].place.page, []).append(passages[row].place)
    own_texts = {passage.place.page: (passage.place.start, passage.text) for passage in passages}
    pages = []
    for key in page_keys(passages):
        page = run.pages.get(key)
        if page is None:
            pieces = [own_texts[key]]
        elif full_texts:
            pieces = [(0, page.text)]
        else:
            pieces = list(_pieces(run, key, by_page.get(key, [])))
        pages.append(
            {
                "title": one_line(page.title if page else "") or site(key),
                "site": site(page.url if page else key),
                "url": web_address(page.url) if page else "",
                "qrels": page_name(key),
                "pieces": pieces,
            }
        )
    return {"pages": pages, "places": [(passage.place.start, passage.place.end) for passage in passages]}


def _pieces(run: Run, key: str, places: list[Place]) -> Iterator[tuple[int, str]]:
    """Yield offsets and texts of a page around these places. Overlapping pieces are merged."""
    text = run.pages[key].text
    spans: list[tuple[int, int]] = []
    for place in sorted(places, key=lambda place: place.start):
        around = passage_in_context(run.pages[key], place, SURROUNDINGS)
        start, end = place.start - len(around.before), place.end + len(around.after)
        if spans and start <= spans[-1][1]:
            first, last = spans.pop()
            start, end = first, max(last, end)
        spans.append((start, end))
    yield from ((start, text[start:end]) for start, end in spans)


def _map(run: Run) -> dict[str, Any] | None:
    index = run.index
    if index is None or run.ranking is None or not index.passages:
        return None
    if (projection := passage_projection(index, run.embedded_for_answer)) is None:
        return None
    points = projection.points.astype(float).round(4).tolist()
    return {
        "points": [None if isnan(point[0]) else point for point in points],
        "question": projection.question.astype(float).round(4).tolist(),
        "explained": sum(projection.explained),
    }


def _without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
