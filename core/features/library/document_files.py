"""Stored document files by SHA-256, and the JSON form of run pages and passages.

A document's name is never used as a path.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.model import Article, LibraryPassage, Page, SkipReason, Unreadable
from core.model.library import passage_id
from core.storage.atomic_write import UNFINISHED, atomic_write

PAGE = "application/vnd.openquery.page+json"
"""The media type of a run's page. No uploaded file gets it."""
STORED_PASSAGES = "application/vnd.openquery.excerpts+json"
"""The media type of passages read from a collection to be embedded again."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MEASURED_EVERY = 10.0
"""Seconds between measurements. Measuring ten thousand files is slow, and other processes add files too."""
_PASSAGES = TypeAdapter(tuple[LibraryPassage, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A document's file as it was added."""

    name: str
    media_type: str
    body: bytes


def digest_of(body: bytes) -> str:
    """Return the SHA-256 of `body` in hexadecimal."""
    return hashlib.sha256(body).hexdigest()


class DocumentFiles:
    """A content-addressed store: bytes by digest in one folder. Every call blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._size = 0
        self._measured: float | None = None

    def put(self, body: bytes, digest: str) -> None:
        """Write the bytes atomically, unless they exist. A damaged file is replaced.

        Raises:
            OSError: when they cannot be written.
        """
        if self.get(digest) is not None:
            return
        atomic_write(self._path(digest), body)
        self._size += len(body)

    def get(self, digest: str) -> bytes | None:
        """Return the bytes, or None if missing or damaged.

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
        """Delete the file with this digest, if it exists."""
        self._path(digest).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """Return the digests of all files."""
        return (entry.name for entry in self._entries() if _DIGEST.fullmatch(entry.name))

    def size(self) -> int:
        """Return the total size in bytes.

        It is measured at most every `_MEASURED_EVERY` seconds. Later additions count too.
        """
        current_time = time.monotonic()
        if self._measured is None or current_time - self._measured > _MEASURED_EVERY:
            self._size, self._measured = sum(stat.st_size for _, stat in self._stats()), current_time
        return self._size

    def delete_temporary(self, older: float) -> None:
        """Delete unfinished writes last modified before `older` (seconds since 1970)."""
        for entry, stat in self._stats():
            if entry.name.endswith(UNFINISHED) and stat.st_mtime < older:
                Path(entry.path).unlink(missing_ok=True)

    def _stats(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        """Yield files with their status. A file deleted or renamed meanwhile is left out."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page's address and its article."""

    url: str
    article: Article


_PAGE = TypeAdapter(ReadPage)


def page_to_json(page: Page) -> bytes:
    """Return a page as JSON, with the same bytes for the same page at any time."""
    article = replace(page.article, title=page.title or page.article.title, seconds=0.0)
    return _PAGE.dump_json(ReadPage(url=page.url, article=article))


def page_from_json(body: bytes) -> ReadPage:
    """Parse the page in stored JSON.

    Raises:
        Unreadable: BROKEN when another version wrote the bytes.
    """
    try:
        return _PAGE.validate_json(body)
    except ValidationError as error:
        raise Unreadable(SkipReason.BROKEN, "the stored page is of another version") from error


def passages_to_json(passages: Sequence[LibraryPassage]) -> bytes:
    """Return passages as JSON, for storage while their collection is created again."""
    return _PASSAGES.dump_json(tuple(passages))


def passages_from_json(body: bytes, embedder: str) -> tuple[LibraryPassage, ...]:
    """Parse stored passages for another embedder, without passages that have no text.

    Passages of other tools keep their ids. OpenQuery's get the id for the embedder.

    Raises:
        Unreadable: BROKEN when another version wrote the bytes.
    """
    try:
        passages = _PASSAGES.validate_json(body)
    except ValidationError as error:
        raise Unreadable(SkipReason.BROKEN, "the stored passages are of another version") from error
    return tuple(
        replace(
            passage,
            embedder=embedder,
            id=passage_id(passage.document, passage.position, embedder) if passage.document else passage.id,
        )
        for passage in passages
        if passage.content.strip()
    )
