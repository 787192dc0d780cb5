"""Vectors of texts for an analysis: one matrix, in calls as large as the embedder likes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.errors import EmbedFailed
from core.model import Index
from core.ports import Embed

Vectors = NDArray[np.float32]

_OTHER = "Vectors of two models cannot be compared: rank the run anew with this one, or connect the other."


async def vectors_of(texts: Sequence[str], embed: Embed, *, beside: Index | None = None) -> Vectors:
    """Unit vectors: float32, shape (len(texts), dimensions). The same text is embedded once.

    `beside` is the index whose vectors they are to be compared with.

    Raises:
        EmbedFailed: when the embedder does, or is not the one that embedded that index.
    """
    if beside is not None and beside.embedder != embed.identity:
        raise EmbedFailed(
            f"The run was embedded by {beside.embedder}, and {embed.identity} is connected now.", hint=_OTHER
        )
    width = None if beside is None or beside.question is None else len(beside.question)
    different = list(dict.fromkeys(texts))
    if not different:
        return np.empty((0, width or 0), dtype=np.float32)
    batches = [await embed(different[at : at + embed.batch]) for at in range(0, len(different), embed.batch)]
    if len({batch.shape[1] for batch in batches} | ({width} if width else set())) > 1:
        raise EmbedFailed(f"{embed.identity} gives vectors of another width than before.", hint=_OTHER)
    rows = {text: row for row, text in enumerate(different)}
    together: Vectors = np.concatenate(batches)[[rows[text] for text in texts]]
    return together
