"""Vectors of a run while they arrive: one matrix that grows, so that none of them is in memory twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_ROOM = 64_000_000
"""Bytes that are asked for at first, and whenever more are needed. The system gives memory once it is
written to, and so large a piece it can move and cut without a copy."""


class VectorBuffer:
    """Vectors of one width by their text: float32, a row each."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._matrix: Vectors = np.empty((0, 0), dtype=np.float32)

    def __contains__(self, text: str) -> bool:
        return text in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep copies of these vectors, shape (len(texts), width). A text that is there already keeps its own.

        Raises:
            ValueError: when the width is not that of the vectors before.
        """
        new = {text: row for row, text in enumerate(texts) if text not in self._rows}
        begin, end = len(self._rows), len(self._rows) + len(new)
        if not self._rows:
            self._matrix = np.empty((_room(end, vectors.shape[1]), vectors.shape[1]), dtype=np.float32)
        elif end > len(self._matrix):
            # Nobody else has a view of the matrix before it is given away.
            width = self._matrix.shape[1]
            self._matrix.resize((_room(end, width), width), refcheck=False)
        self._matrix[begin:end] = vectors[list(new.values())]
        self._rows.update(zip(new, range(begin, end), strict=True))

    def of(self, texts: Sequence[str]) -> Vectors:
        """Copies of the vectors of these texts, in their order."""
        return self._matrix[[self._rows[text] for text in texts]]

    def given_away(self, texts: Sequence[str]) -> Vectors:
        """The matrix itself, read-only, with the rows of these different texts in their order and no others.

        Nothing is left here. The rows are moved in place, one cycle of the permutation after the other.
        """
        matrix, wanted = self._matrix, [self._rows[text] for text in texts]
        source = [*wanted, *sorted(set(self._rows.values()).difference(wanted))]
        for first in range(len(source)):
            if source[first] == first:
                continue
            held, row = matrix[first].copy(), first
            while (following := source[row]) != first:
                matrix[row] = matrix[following]
                source[row], row = row, following
            matrix[row] = held
            source[row] = row
        matrix.resize((len(texts), matrix.shape[1]), refcheck=False)
        matrix.flags.writeable = False
        self._rows, self._matrix = {}, np.empty((0, 0), dtype=np.float32)
        return matrix


def _room(rows: int, width: int) -> int:
    """So many rows, and as many more as fill up the room."""
    return rows + _ROOM // (4 * width) if width else rows
