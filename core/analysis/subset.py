"""A run as it would rank without some of its pages. Nothing is fetched or embedded."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from core.analysis.context import ranked
from core.model import Index, Passage
from core.run import Run


def without_pages(run: Run, keys: AbstractSet[str]) -> Run:
    """The run without the pages of these keys, ranked anew under its own knobs.

    A text that also stands on another page stays, as a passage of that page. The answer and its sources
    stay what they were.
    """
    pages = {key: page for key, page in run.pages.items() if key not in keys}
    passages = tuple(passage for passage in run.passages if passage.place.page not in keys)
    if run.index is None:
        return replace(run, pages=pages, passages=passages)
    index = _without(run.index, keys)
    return ranked(replace(run, pages=pages, passages=passages, index=index))


def _without(index: Index, keys: AbstractSet[str]) -> Index:
    left = [(row, kept) for row, passage in enumerate(index.passages) if (kept := _moved(passage, keys))]
    vectors = None
    if index.vectors is not None:
        vectors = index.vectors[np.array([row for row, _ in left], dtype=np.int64)]
        vectors.flags.writeable = False
    lost = (kept for passage in index.lost if (kept := _moved(passage, keys)))
    return replace(index, passages=tuple(passage for _, passage in left), vectors=vectors, lost=tuple(lost))


def _moved(passage: Passage, keys: AbstractSet[str]) -> Passage | None:
    """The passage at its places on other pages; itself when it has lost none, None when it has no other."""
    places = tuple(place for place in (passage.place, *passage.also) if place.page not in keys)
    if len(places) == 1 + len(passage.also):
        return passage
    return replace(passage, place=places[0], also=places[1:]) if places else None
