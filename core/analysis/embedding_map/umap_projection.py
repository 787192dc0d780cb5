"""UMAP projection of the embedding map (McInnes, Healy and Melville, 2018), an optional package."""

import warnings
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from core.analysis.embedding_map.embedding_map import EmbeddingMap, Projection
from core.errors import BadInput

MIN_POINTS = 16
"""The fewest points for UMAP."""
MAX_POINTS = 5000
"""The most points for UMAP, because more take too long."""
NEIGHBOURS = 15


def installed() -> bool:
    """Return whether the optional package umap-learn is installed."""
    return find_spec("umap") is not None


def umap_projection(embedding_map: EmbeddingMap) -> EmbeddingMap:
    """Return the map projected by UMAP by cosine, reproducibly with a fixed seed.

    `explained` is (0, 0), because UMAP explains no share of the variance.

    Raises:
        BadInput: when the package is missing, or there are too few points or too many.
    """
    count = len(embedding_map.points)
    if not installed():
        raise BadInput("UMAP is not installed.", hint="Run: pip install -r requirements-umap.txt")
    if not MIN_POINTS <= count <= MAX_POINTS:
        raise BadInput(
            f"UMAP needs {MIN_POINTS} to {MAX_POINTS:,} points; there are {count:,}.",
            hint="Use the PCA projection.",
        )
    from umap import UMAP

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP warns that a fixed seed means one thread
        model = UMAP(
            n_neighbors=min(NEIGHBOURS, count - 1), min_dist=0.1, metric="cosine", random_state=0, n_jobs=1
        )
        points = np.asarray(model.fit_transform(embedding_map.vectors), dtype=np.float32)
    points = np.nan_to_num(points - points.mean(axis=0))
    projection = Projection(points=points, question=points[-1], explained=(0.0, 0.0))
    return replace(embedding_map, projection=projection)
