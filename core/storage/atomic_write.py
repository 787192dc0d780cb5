"""Atomic file writes."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

UNFINISHED = ".part"
"""The suffix of files that are being written, or were when a process was killed."""


def atomic_write(path: Path, body: bytes) -> None:
    """Write or replace a file atomically: a reader sees the old bytes or the new ones, never a part.

    Missing folders are created with mode 0700.

    Raises:
        OSError: when it cannot be written; the old file is then unchanged.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(body)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `path` at the end; after an exception there is what was before.

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
