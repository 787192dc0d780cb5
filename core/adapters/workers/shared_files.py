"""Values in files, for processes of one machine. Arrays are mapped into memory, so that all processes share one copy.

A value is pickled with its arrays out of band (PEP 574): `value` holds the pickle, `0`, `1` and so on the arrays.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

AT_ONCE = 4
"""Values that a process keeps: those of the settings under way, and of the next way of chunking."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """What a job is sent in place of a shared value."""

    folder: Path


def write_value(folder: Path, value: Any) -> None:
    """Write into a new folder, which nobody else may write: reading runs what the pickle says."""
    folder.mkdir(mode=0o700)
    arrays: list[pickle.PickleBuffer] = []
    (folder / "value").write_bytes(pickle.dumps(value, protocol=5, buffer_callback=arrays.append))
    for number, array in enumerate(arrays):
        (folder / str(number)).write_bytes(array.raw())


@lru_cache(maxsize=AT_ONCE)
def read_value(folder: Path) -> Any:
    """The value, its arrays read-only. It is the same object until `AT_ONCE` others have been read."""
    arrays = sorted(
        (path for path in folder.iterdir() if path.name != "value"), key=lambda path: int(path.name)
    )
    mapped = [np.memmap(path, mode="r") if path.stat().st_size else b"" for path in arrays]
    return pickle.loads((folder / "value").read_bytes(), buffers=mapped)  # noqa: S301 - written by our parent process
