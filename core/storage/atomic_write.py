"""Atomic file writes."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

UNFINISHED = ".part"
"""The suffix of unfinished files. A killed process may leave them behind."""


def atomic_write(path: Path, body: bytes) -> None:
    """Write or replace a file atomically. A reader sees the old bytes or the new bytes, never a part.

    Missing folders are created with mode 0700.

    Raises:
        OSError: when it cannot be written. The old file is then unchanged.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(body)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `path` when it is complete. An exception keeps the old file.

    Raises:
        OSError: when it cannot be written.
    """
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
