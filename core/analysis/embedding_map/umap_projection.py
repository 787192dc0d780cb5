"""The plane by UMAP (McInnes, Healy and Melville, 2018), where the optional package for it is installed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from core.analysis.embedding_map.embedding_map import EmbeddingMap
from core.analysis.embedding_map.pca import Projection
from core.errors import BadInput

FEWEST = 16
"""Points below which UMAP has too little to go by."""
MOST = 5000
"""Points beyond which it takes longer than a person waits."""
NEIGHBOURS = 15


def installed() -> bool:
    return find_spec("umap") is not None


def by_umap(found: EmbeddingMap) -> EmbeddingMap:
    """The same points where UMAP puts them: by cosine, from a fixed seed, so always in the same places.

    `explained` is (0, 0): such a plane explains no share of the variance.

    Raises:
        BadInput: when the package is missing, or there are too few points or too many.
    """
    count = len(found.points)
    if not installed():
        raise BadInput("UMAP is not installed.", hint="Run: pip install -r requirements-umap.txt")
    if not FEWEST <= count <= MOST:
        raise BadInput(
            f"UMAP draws from {FEWEST} to {MOST:,} points; here are {count:,}.",
            hint="The plane by PCA shows them.",
        )
    from umap import UMAP

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a fixed seed means one thread
        model = UMAP(
            n_neighbors=min(NEIGHBOURS, count - 1), min_dist=0.1, metric="cosine", random_state=0, n_jobs=1
        )
        points = np.asarray(model.fit_transform(found.vectors), dtype=np.float32)
    points = np.nan_to_num(points - points.mean(axis=0))
    plane = Projection(points=points, question=points[-1], explained=(0.0, 0.0))
    return replace(found, plane=plane)
