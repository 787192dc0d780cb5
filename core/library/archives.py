"""Documents in an uploaded zip. The names in it are only shown, never used as paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from core.model import SkipReason, Unreadable
from core.reading.zip_archive import Archive

_SYSTEM_FILE = re.compile(r"(?:^|/)(?:__MACOSX/|\.(?!\.?/)|Thumbs\.db$|desktop\.ini$)")
"""Metadata files of operating systems, and hidden files."""


def members(name: str, body: bytes, *, each: int, together: int) -> Iterator[tuple[str, bytes | Unreadable]]:
    """The files of a zip as `zip/file`, each with its bytes or why it was refused.

    `each` and `together` bound the unpacked size of one file and of all, in bytes.

    Raises:
        Unreadable: when it is no zip, or unpacks to more than `together`.
    """
    archive = Archive(body, together)
    for inner in archive.names:
        if _SYSTEM_FILE.search(inner):
            continue
        shown = f"{name}/{inner}"
        if _is_outside(inner):
            yield shown, Unreadable(SkipReason.BROKEN, "its path leads out of the zip")
            continue
        try:
            content = archive.read(inner, each)
        except Unreadable as why:
            if archive.spent:
                raise
            yield shown, why
        else:
            yield shown, content


def count_members(body: bytes) -> int:
    """The number of documents that a zip lists.

    Raises:
        Unreadable: when it is no zip.
    """
    return sum(not _SYSTEM_FILE.search(name) for name in Archive(body, 0).names)


def _is_outside(name: str) -> bool:
    path = name.replace("\\", "/")
    return path.startswith("/") or ".." in PurePosixPath(path).parts or bool(re.match(r"[A-Za-z]:", path))
