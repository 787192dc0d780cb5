"""Frames between OpenQuery and the worker process of the embedded database: JSON, then float32 vectors."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

CONFIG = "edge_config.json"
"""The configuration file of a collection; a folder without it is none."""
HEAD = struct.Struct(">II")
NOTHING = np.empty(0, dtype=np.float32)


def pack(message: dict[str, Any], vectors: NDArray[np.float32] = NOTHING) -> bytes:
    """A frame: the lengths of both parts in bytes, the message, the vectors row by row."""
    head = orjson.dumps(message)
    raw = np.ascontiguousarray(vectors, dtype="<f4").tobytes()
    return HEAD.pack(len(head), len(raw)) + head + raw


def unpack(head: bytes, raw: bytes) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """The message and its vectors, as one row that is read-only."""
    message: dict[str, Any] = orjson.loads(head)
    return message, np.frombuffer(raw, dtype="<f4")
