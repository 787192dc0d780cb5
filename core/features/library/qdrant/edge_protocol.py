"""Messages between OpenQuery and the worker process of the embedded database: JSON with float32 vectors."""

from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from core.sandbox.frames import Frame

CONFIG = "edge_config.json"
"""The configuration file of a collection. A folder without it is no collection."""
MESSAGE_LIMIT, VECTORS_LIMIT = 100_000_000, 2_000_000_000
"""The maximum bytes of a reply's message and vectors."""
NOTHING = np.empty(0, dtype=np.float32)


def to_frame(message: dict[str, Any], vectors: NDArray[np.float32] = NOTHING) -> Frame:
    """Encode the message as JSON, and vectors row by row."""
    return orjson.dumps(message), np.ascontiguousarray(vectors, dtype="<f4").tobytes()


def from_frame(head: bytes, body: bytes) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """Decode a message and its vectors. The vectors are one read-only row.

    Raises:
        ValueError: when the head is no JSON object, or the body no float32 numbers.
    """
    message = orjson.loads(head)
    if not isinstance(message, dict):
        raise ValueError("not an object")  # noqa: TRY004 - the type of other invalid frames
    return message, np.frombuffer(body, dtype="<f4")
