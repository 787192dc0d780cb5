"""Stored document files, each under the SHA-256 of its bytes: a document's name is never used as a path."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.storage.atomic_write import UNFINISHED, atomic_write

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MEASURED_EVERY = 10.0
"""Seconds. Measuring ten thousand files takes a while, and other processes add files too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A document's file as it was added."""

    name: str
    media_type: str
    body: bytes


def digest_of(body: bytes) -> str:
    """The SHA-256 of `body` in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


class DocumentFiles:
    """A content-addressed store: bytes by digest in one folder. Every call blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._size = 0
        self._measured: float | None = None

    def put(self, body: bytes, digest: str) -> None:
        """Write the bytes atomically, unless they are there; a damaged file is replaced.

        Raises:
            OSError: when they cannot be written.
        """
        if self.get(digest) is not None:
            return
        atomic_write(self._path(digest), body)
        self._size += len(body)

    def get(self, digest: str) -> bytes | None:
        """The bytes; None when there are none, or they no longer have this digest.

        Raises:
            OSError: when they cannot be read.
        """
        try:
            body = self._path(digest).read_bytes()
        except FileNotFoundError:
            return None
        return body if digest_of(body) == digest else None

    def __contains__(self, digest: str) -> bool:
        return self._path(digest).exists()

    def delete(self, digest: str) -> None:
        self._path(digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """The digests of all files."""
        return (entry.name for entry in self._entries() if _DIGEST.fullmatch(entry.name))

    def size(self) -> int:
        """Total size in bytes, measured at most `_MEASURED_EVERY` seconds ago, with what was added since."""
        now = time.monotonic()
        if self._measured is None or now - self._measured > _MEASURED_EVERY:
            self._size, self._measured = sum(stat.st_size for _, stat in self._stats()), now
        return self._size

    def delete_temporary(self, older: float) -> None:
        """Delete unfinished writes last modified before `older` (seconds since 1970)."""
        for entry, stat in self._stats():
            if entry.name.endswith(UNFINISHED) and stat.st_mtime < older:
                Path(entry.path).unlink(missing_ok=True)

    def _stats(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        """Files with their size and time; a file that is deleted or renamed meanwhile is left out."""
        for entry in self._entries():
            try:
                stat = entry.stat()
            except FileNotFoundError:
                continue
            yield entry, stat

    def _entries(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as entries:
                return [entry for entry in entries if entry.is_file(follow_symlinks=False)]
        except FileNotFoundError:
            return []

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise ValueError("not a digest")
        return self.folder / digest
