"""The data to rank a run again outside of the server: scores, vectors and constants of the rules."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import RankKnobs, Strategy
from core.model import Index, Passage
from core.model.arrays import array_to_json
from core.run.hit_merging import RRF_K
from core.run.state import Run
from core.stages.rank import UNSUPPORTED_LANGUAGE_WEIGHT, cosine_share, rank, waiting_above
from core.stages.ranking.calibration import calibration_of
from core.stages.ranking.context_selection import PER_PAGE, ExclusionReason
from core.stages.ranking.mmr import POOL
from core.stages.ranking.near_duplicates import clusters
from core.text.domains import host_of

_SHARES = (0.5, 0.5 * UNSUPPORTED_LANGUAGE_WEIGHT, 0.0, 1.0)
"""Results of `cosine_share` for a weight of 0.5: unchanged, reduced, none, all. The script numbers them from 0."""


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
    cluster_of = clusters(run.pages.values())
    return [
        {
            "key": key,
            "host": host_of(key),
            "cluster": cluster_of.get(key, key),
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
