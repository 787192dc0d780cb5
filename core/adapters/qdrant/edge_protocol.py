"""Messages between OpenQuery and the process that holds the embedded database: JSON, then float32 numbers."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

CONFIG = "edge_config.json"
"""The file that makes a folder a collection."""
HEAD = struct.Struct(">II")
NOTHING = np.empty(0, dtype=np.float32)


def packed(message: dict[str, Any], numbers: NDArray[np.float32] = NOTHING) -> bytes:
    """A frame: the lengths of both parts in bytes, the message, the numbers row by row."""
    told = orjson.dumps(message)
    raw = np.ascontiguousarray(numbers, dtype="<f4").tobytes()
    return HEAD.pack(len(told), len(raw)) + told + raw


def unpacked(told: bytes, raw: bytes) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """The message and its numbers, as one row that is read-only."""
    message: dict[str, Any] = orjson.loads(told)
    return message, np.frombuffer(raw, dtype="<f4")
