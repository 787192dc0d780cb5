"""Compare digests of the pages' static files with the release."""

import hashlib
from pathlib import Path

from core.config.settings import ROOT

STATIC = ROOT / "static"
DIGESTS = "SHA256SUMS"
"""The file of digests, in the format of sha256sum. It has a line for every other file of the folder."""

REINSTALL = "Install OpenQuery again: its files were changed, or not copied whole."
"""The remedy for altered files."""


def altered_files(folder: Path = STATIC) -> tuple[str, ...]:
    """Return sorted paths of missing, changed or unlisted files. `SHA256SUMS` lists the expected digests.

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
