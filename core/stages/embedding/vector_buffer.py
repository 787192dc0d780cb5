"""Store embedding vectors in a growing matrix, so that none is in memory twice."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_GROWTH_BYTES = 64_000_000
"""The bytes allocated at first and whenever the matrix is full.

The system commits memory when it is written to, and resizes such a large allocation without a copy.
"""


class VectorBuffer:
    """Vectors of one width by their text: float32, one row each."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._matrix: Vectors = np.empty((0, 0), dtype=np.float32)

    def __contains__(self, text: str) -> bool:
        return text in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Copy these vectors, shape (len(texts), width), into the buffer. Known texts keep their vectors.

        Raises:
            ValueError: when the width differs from the buffer's.
        """
        new = {text: row for row, text in enumerate(texts) if text not in self._rows}
        begin, end = len(self._rows), len(self._rows) + len(new)
        if not self._rows:
            self._matrix = np.empty((_capacity(end, vectors.shape[1]), vectors.shape[1]), dtype=np.float32)
        elif end > len(self._matrix):
            # The matrix has no views before `take_matrix`.
            width = self._matrix.shape[1]
            self._matrix.resize((_capacity(end, width), width), refcheck=False)
        self._matrix[begin:end] = vectors[list(new.values())]
        self._rows.update(zip(new, range(begin, end), strict=True))

    def of(self, texts: Sequence[str]) -> Vectors:
        """Copy the vectors of these texts, in order."""
        return self._matrix[[self._rows[text] for text in texts]]

    def take_matrix(self, texts: Sequence[str]) -> Vectors:
        """Take the read-only matrix with these distinct texts' rows.

        The rows have the order of `texts`. The buffer is then empty. Rows are permuted in place, cycle by cycle.
        """
        matrix, rows = self._matrix, [self._rows[text] for text in texts]
        source = [*rows, *sorted(set(self._rows.values()).difference(rows))]
        for first in range(len(source)):
            if source[first] == first:
                continue
            saved, row = matrix[first].copy(), first
            while (following := source[row]) != first:
                matrix[row] = matrix[following]
                source[row], row = row, following
            matrix[row] = saved
            source[row] = row
        matrix.resize((len(texts), matrix.shape[1]), refcheck=False)
        matrix.flags.writeable = False
        self._rows, self._matrix = {}, np.empty((0, 0), dtype=np.float32)
        return matrix


def _capacity(rows: int, width: int) -> int:
    """Return the rows to allocate for `rows` vectors."""
    return rows + _GROWTH_BYTES // (4 * width) if width else rows
