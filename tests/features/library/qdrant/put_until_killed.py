"""A process for `test_edge_collections.py` that puts passages until it is killed: `put_until_killed FOLDER`.

It prints how many passages are confirmed, a line a put.
"""

import asyncio
import sys
from pathlib import Path

import numpy as np

from core.features.library.qdrant.edge_collections import EdgeCollections
from core.model import LibraryPassage
from core.model.library import passage_id

NAME, WIDTH, TOGETHER = "book_content", 64, 200


def batch(number: int) -> list[LibraryPassage]:
    places = range(number * TOGETHER, (number + 1) * TOGETHER)
    return [
        LibraryPassage(
            id=passage_id("d", place, "m"),
            content=f"{place} " * 100,
            source="a.txt",
            document="d",
            position=place,
        )
        for place in places
    ]


def vectors(number: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    matrix = np.random.default_rng(number).standard_normal((TOGETHER, WIDTH)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


async def main() -> None:
    shelf = EdgeCollections(Path(sys.argv[1]))
    await shelf.create(NAME, WIDTH)
    for number in range(10_000):
        await shelf.put(NAME, batch(number), vectors(number))
        print((number + 1) * TOGETHER, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
