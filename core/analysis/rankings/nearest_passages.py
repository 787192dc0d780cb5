"""Passages of a run by their similarity to another question."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.analysis.rankings.ranked_passages import RankedPassage, ranked_passages
from core.run.state import Run


def nearest_passages(run: Run, vector: NDArray[np.float32]) -> tuple[RankedPassage, ...]:
    """Return the passages of a run by their cosine to another question, nearest first.

    A passage keeps its number in the context of the run's answer. Passages without a vector are left out.
    """
    if run.index is None or run.index.vectors is None:
        return ()
    cosines = (run.index.vectors @ vector).tolist()
    rows = [row for row in ranked_passages(run) if math.isfinite(cosines[row.row])]
    rows.sort(key=lambda row: -cosines[row.row])
    return tuple(
        replace(row, rank=rank, cosine=cosines[row.row], bm25=None, fused=None, rerank=None, diverse=None)
        for rank, row in enumerate(rows, 1)
    )
