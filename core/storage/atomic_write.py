"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

UNFINISHED = ".part"
"""How files end that are still being written, or were when a process was killed."""


def atomic_write(path: Path, body: bytes) -> None:
    """Write a file, or replace it: a reader finds the bytes before or these, never a part. Folders that are
    missing are made for their owner alone.

    Raises:
        OSError: when it cannot be written; what was there before is still there.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
