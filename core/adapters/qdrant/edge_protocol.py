"""Messages between OpenQuery and the worker process of the embedded database: JSON with float32 vectors."""

from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from core.sandbox.frames import Frame

CONFIG = "edge_config.json"
"""The configuration file of a collection; a folder without it is none."""
MESSAGE_LIMIT, VECTORS_LIMIT = 100_000_000, 2_000_000_000
"""Bytes of a reply."""
NOTHING = np.empty(0, dtype=np.float32)


def to_frame(message: dict[str, Any], vectors: NDArray[np.float32] = NOTHING) -> Frame:
    """The message as JSON, and the vectors row by row."""
    return orjson.dumps(message), np.ascontiguousarray(vectors, dtype="<f4").tobytes()


def from_frame(head: bytes, body: bytes) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """The message and its vectors, as one row that is read-only.

    Raises:
        ValueError: when the head is no JSON object, or the body is of no numbers.
    """
    message = orjson.loads(head)
    if not isinstance(message, dict):
        raise ValueError("not an object")  # noqa: TRY004 - as of any other frame that is none
    return message, np.frombuffer(body, dtype="<f4")
