"""Digests of the static files that the pages are served with, compared with those of the release."""

import hashlib
from pathlib import Path

from core.config.settings import ROOT

STATIC = ROOT / "static"
DIGESTS = "SHA256SUMS"
"""The file with a line `SHA-256 digest, two blanks, path` for every other file of the folder, as sha256sum writes it."""

REINSTALL = "Install OpenQuery again: its files were changed, or not copied whole."
"""What to do about altered files."""


def altered_files(folder: Path = STATIC) -> tuple[str, ...]:
    """Paths of the folder's files that are missing, changed, or without a digest in `SHA256SUMS`, sorted.

    Raises:
        OSError: when `SHA256SUMS` or a file cannot be read.
    """
    lines = (folder / DIGESTS).read_text("utf-8").splitlines()
    expected = {path: digest for digest, _, path in (line.partition("  ") for line in lines)}
    present = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != DIGESTS
    }
    return tuple(
        sorted(path for path in expected.keys() | present.keys() if expected.get(path) != present.get(path))
    )
