"""Vectors of texts for an analysis: one matrix, in calls as large as the embedder likes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.errors import EmbedFailed
from core.ports import Embed

Vectors = NDArray[np.float32]


async def vectors_of(texts: Sequence[str], embed: Embed, *, width: int | None = None) -> Vectors:
    """Unit vectors: float32, shape (len(texts), dimensions). The same text is embedded once.

    `width` is the number of dimensions that the vectors are to be compared with.

    Raises:
        EmbedFailed: when the embedder does, or gives vectors of another width.
    """
    different = list(dict.fromkeys(texts))
    if not different:
        return np.empty((0, width or 0), dtype=np.float32)
    batches = [await embed(different[at : at + embed.batch]) for at in range(0, len(different), embed.batch)]
    widths = {batch.shape[1] for batch in batches} | ({width} if width else set())
    if len(widths) > 1:
        raise EmbedFailed(
            f"{embed.identity} gives vectors of another width than those of the run.",
            hint="The run was embedded by another model: rank it anew with this one, or connect that one.",
        )
    rows = {text: row for row, text in enumerate(different)}
    together: Vectors = np.concatenate(batches)[[rows[text] for text in texts]]
    return together
