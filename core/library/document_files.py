"""The documents' own bytes, kept under their digest: whatever a file is called, its name is never a path."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from core.storage.atomic_write import UNFINISHED, atomic_write

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MEASURED_EVERY = 10.0
"""Seconds. Looking at ten thousand files takes a while, and other processes add to them too."""


def digest_of(body: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


class DocumentFiles:
    """Bytes by digest in one folder, which is made for its owner alone. Every call blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._size = 0
        self._measured: float | None = None

    def put(self, body: bytes, digest: str) -> None:
        """Keep the bytes. They appear whole or not at all, and in place of damaged ones. Raises OSError."""
        if self.get(digest) is not None:
            return
        atomic_write(self._place(digest), body)
        self._size += len(body)

    def get(self, digest: str) -> bytes | None:
        """The bytes; None when they are not here, or are no longer those that were kept. Raises OSError."""
        try:
            body = self._place(digest).read_bytes()
        except FileNotFoundError:
            return None
        return body if digest_of(body) == digest else None

    def __contains__(self, digest: str) -> bool:
        return self._place(digest).exists()

    def delete(self, digest: str) -> None:
        self._place(digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """All that is kept."""
        return (entry.name for entry in self._entries() if _DIGEST.fullmatch(entry.name))

    def size(self) -> int:
        """Bytes of everything in the folder, as measured at most `_MEASURED_EVERY` ago, and what came since."""
        now = time.monotonic()
        if self._measured is None or now - self._measured > _MEASURED_EVERY:
            self._size, self._measured = sum(facts.st_size for _, facts in self._looked_at()), now
        return self._size

    def tidy(self, older: float) -> None:
        """Delete what was being written before this time (seconds since 1970) and never finished."""
        for entry, facts in self._looked_at():
            if entry.name.endswith(UNFINISHED) and facts.st_mtime < older:
                Path(entry.path).unlink(missing_ok=True)

    def _looked_at(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        """Files with their size and time; one that goes away or gets its name meanwhile is left out."""
        for entry in self._entries():
            try:
                facts = entry.stat()
            except FileNotFoundError:
                continue
            yield entry, facts

    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as entries:
                return [entry for entry in entries if entry.is_file(follow_symlinks=False)]
        except FileNotFoundError:
            return []

    def _place(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise ValueError("not a digest")
        return self.folder / digest
