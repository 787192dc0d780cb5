"""A run as it would rank without some of its pages. Nothing is fetched or embedded."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.analysis.rankings.context_membership import ranked
from core.model import Passage
from core.run.state import Run


def without_pages(run: Run, keys: AbstractSet[str]) -> Run:
    """The run without the pages of these keys, ranked anew under its own knobs.

    A text that also stands on another page stays, as a passage of that page. The answer and its sources
    stay what they were.
    """
    pages = {key: page for key, page in run.pages.items() if key not in keys}
    passages = tuple(passage for passage in run.passages if passage.place.page not in keys)
    if run.index is None:
        return replace(run, pages=pages, passages=passages)
    left = [(row, kept) for row, one in enumerate(run.index.passages) if (kept := _moved(one, keys))]
    rows = np.array([row for row, _ in left], dtype=np.int64)
    index = replace(
        run.index,
        passages=tuple(passage for _, passage in left),
        vectors=_only(run.index.vectors, rows),
        lost=tuple(kept for one in run.index.lost if (kept := _moved(one, keys))),
    )
    ranking = run.ranking and replace(run.ranking, rerank=_only(run.ranking.rerank, rows))
    return ranked(replace(run, pages=pages, passages=passages, index=index, ranking=ranking))


def _only(array: NDArray[np.float32] | None, rows: NDArray[np.int64]) -> NDArray[np.float32] | None:
    if array is None:
        return None
    chosen: NDArray[np.float32] = array[rows]
    chosen.flags.writeable = False
    return chosen


def _moved(passage: Passage, keys: AbstractSet[str]) -> Passage | None:
    """The passage at its places on other pages; itself when it has lost none, None when it has no other."""
    places = tuple(place for place in (passage.place, *passage.also) if place.page not in keys)
    if len(places) == 1 + len(passage.also):
        return passage
    return replace(passage, place=places[0], also=places[1:]) if places else None
