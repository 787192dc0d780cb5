"""Ablation: a run ranked again without some of its pages or queries. Nothing is fetched or embedded."""

from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.analysis.rankings.context_membership import ranked
from core.model import Passage
from core.run.hit_merging import merge_hits
from core.run.state import Run


def without_pages(run: Run, keys: AbstractSet[str]) -> Run:
    """Return the run without some pages, ranked again under its own knobs.

    `keys` are those of the pages. A text that is also on another page stays, as a passage of that page. The answer and
    its sources are unchanged.
    """
    pages = {key: page for key, page in run.pages.items() if key not in keys}
    passages = tuple(passage for passage in run.passages if passage.place.page not in keys)
    if run.index is None:
        return replace(run, pages=pages, passages=passages)
    remaining = [
        (row, passage)
        for row, candidate in enumerate(run.index.passages)
        if (passage := _elsewhere(candidate, keys))
    ]
    rows = np.array([row for row, _ in remaining], dtype=np.int64)
    index = replace(
        run.index,
        passages=tuple(passage for _, passage in remaining),
        vectors=_rows(run.index.vectors, rows),
        not_embedded=tuple(
            passage for candidate in run.index.not_embedded if (passage := _elsewhere(candidate, keys))
        ),
    )
    ranking = run.ranking and replace(run.ranking, rerank=_rows(run.ranking.rerank, rows))
    return ranked(replace(run, pages=pages, passages=passages, index=index, ranking=ranking))


def without_query(run: Run, text: str) -> Run:
    """Return the run without a query and the pages that only the query found, ranked again."""
    queries = tuple(query for query in run.queries if query.text != text)
    replies = {query: reply for query, reply in run.replies.items() if query.text != text}
    hits = merge_hits([(query, replies[query]) for query in queries if query in replies], run.knobs.search)
    removed = {hit.key for hit in run.hits} - {hit.key for hit in hits}
    rest = replace(
        run,
        queries=queries,
        replies=replies,
        hits=hits,
        skips={key: skip for key, skip in run.skips.items() if key not in removed},
    )
    return without_pages(rest, removed)


def _rows(array: NDArray[np.float32] | None, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
    if array is None:
        return None
    chosen: NDArray[np.float32] = array[rows]
    chosen.flags.writeable = False
    return chosen


def _elsewhere(passage: Passage, keys: AbstractSet[str]) -> Passage | None:
    """Return the passage on the other pages, or None if it is on no other page.

    A passage that loses no page is returned unchanged.
    """
    places = tuple(place for place in (passage.place, *passage.also) if place.page not in keys)
    if len(places) == 1 + len(passage.also):
        return passage
    return replace(passage, place=places[0], also=places[1:]) if places else None
