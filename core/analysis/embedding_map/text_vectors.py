"""Embedding of texts for an analysis, in batches, checked against the run's index."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.errors import EmbedFailed
from core.model import Index
from core.ports import Embed
from core.text.display import embedder_name, embedder_names

Vectors = NDArray[np.float32]

_OTHER = (
    "Vectors of two models cannot be compared: embed the run again with this model, or connect the other."
)


async def embed_texts(texts: Sequence[str], embed: Embed, *, index: Index | None = None) -> Vectors:
    """Return unit vectors: float32, shape (len(texts), dimensions).

    Each distinct text is embedded once. `index` is the index to compare the vectors with.

    Raises:
        EmbedFailed: when the embedder fails, or is not the one that embedded that index.
    """
    if index is not None and index.embedder != embed.identity:
        before, current = embedder_names(index.embedder, embed.identity)
        raise EmbedFailed(f"The run was embedded by {before}, and {current} is connected now.", hint=_OTHER)
    width = None if index is None or index.question is None else len(index.question)
    different = list(dict.fromkeys(texts))
    if not different:
        return np.empty((0, width or 0), dtype=np.float32)
    starts = range(0, len(different), embed.batch)
    batches = [(await embed(different[start : start + embed.batch])).vectors for start in starts]
    if len({batch.shape[1] for batch in batches} | ({width} if width else set())) > 1:
        raise EmbedFailed(
            f"{embedder_name(embed.identity)} now returns vectors with another number of dimensions.",
            hint=_OTHER,
        )
    rows = {text: row for row, text in enumerate(different)}
    together: Vectors = np.concatenate(batches)[[rows[text] for text in texts]]
    return together
