"""Documents out of a zip that was uploaded. Names in it are labels: nothing is ever written under them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from core.model import SkipReason, Unreadable
from core.reading.zip_archive import Archive

_NOISE = re.compile(r"(?:^|/)(?:__MACOSX/|\.(?!\.?/)|Thumbs\.db$|desktop\.ini$)")
"""What systems put beside documents: nobody means to add it."""


def members(name: str, body: bytes, *, each: int, together: int) -> Iterator[tuple[str, bytes | Unreadable]]:
    """The files of a zip as `zip/file` with their bytes, or with why one was refused. Sizes are bytes.

    Raises:
        Unreadable: when it is no zip, or unpacks to more than `together`.
    """
    archive = Archive(body, together)
    for inner in archive.names:
        if _NOISE.search(inner):
            continue
        shown = f"{name}/{inner}"
        if _leads_out(inner):
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


def counted(body: bytes) -> int:
    """How many documents a zip claims to hold. Raises Unreadable: when it is no zip."""
    return sum(not _NOISE.search(name) for name in Archive(body, 0).names)


def _leads_out(name: str) -> bool:
    path = name.replace("\\", "/")
    return path.startswith("/") or ".." in PurePosixPath(path).parts or bool(re.match(r"[A-Za-z]:", path))
