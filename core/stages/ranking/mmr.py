"""Reorder by maximal marginal relevance (MMR): relevance minus similarity to picked passages."""

import numpy as np
from numpy.typing import NDArray

POOL = 200
"""The number of best passages that are reordered. The others keep their order."""

Scores = NDArray[np.float32]
Order = NDArray[np.int64]


def maximal_marginal_relevance(
    order: Order, relevance: Scores, vectors: Scores, diversity: float
) -> tuple[Order, Scores]:
    """Reorder the best `POOL` rows greedily by MMR.

    Returns the order, and the value of each row when it was picked. The next row has the greatest (1 - d) * relevance -
    d * (greatest cosine to an earlier row), after Carbonell and Goldstein, SIGIR 1998, whose lambda is 1 - d. A
    negative cosine counts as 0, so values never rise along the order, and ties keep the given order. `relevance`, by
    row, should run from 0 to 1 as cosines do. Rows outside the pool have the value NaN.
    """
    pool = order[:POOL]
    gain = (1 - diversity) * np.nan_to_num(relevance[pool], nan=-1.0).astype(np.float64)
    unit = np.nan_to_num(vectors[pool])
    likeness = np.clip(unit @ unit.T, 0, 1)
    nearest = np.zeros(len(pool))
    values = np.full(len(relevance), np.nan, dtype=np.float32)
    picked = np.empty_like(pool)
    for place in range(len(pool)):
        value = gain - diversity * nearest
        best = value.argmax()
        picked[place] = pool[best]
        values[pool[best]] = value[best]
        gain[best] = -np.inf
        np.maximum(nearest, likeness[best], out=nearest)
    return np.concatenate([picked, order[POOL:]]), values
