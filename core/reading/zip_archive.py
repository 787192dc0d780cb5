"""Untrusted zip archives (office files, books, uploads), unpacked in memory within limits."""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import SEEK_END, BytesIO
from typing import IO

from core.model import SkipReason, Unreadable

MAX_ENTRIES = 20_000
_LARGEST_LISTING = 8_000_000
"""Bytes of the central directory, which is read at once."""
_STEP = 1 << 16
_RATIO = 200
"""Maximum ratio of unpacked to packed bytes. Text reaches 5, tables 50, bombs 1,000."""
_HARMLESS = 10_000_000
"""Unpacked bytes up to which the ratio does not count."""
_END, _END_LENGTH = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_LENGTH = b"PK\x06\x07", 20
"""A record before the end that points to a zip64 table of contents.

It counts regardless of the end record.
"""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Python does not unpack other methods in steps, so it would notice bombs too late. Nobody uses them here."""
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, NotImplementedError, OSError)
"""Errors of `zipfile` for a damaged zip. ValueError is raised for invalid names too."""


class Archive:
    """The files of a zip by name, unpacked one at a time. `limit` bounds their total bytes."""

    def __init__(self, content: bytes | IO[bytes], limit: int) -> None:
        """Open a zip. Raises Unreadable: BROKEN when it is no zip, TOO_LARGE when it holds too many files."""
        file = BytesIO(content) if isinstance(content, bytes) else content
        _refuse_listing(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise Unreadable(SkipReason.BROKEN, "the zip is damaged") from error
        self._entries = {entry.filename: entry for entry in self._zip.infolist() if _is_file(entry.filename)}
        if len(self._entries) > MAX_ENTRIES:
            raise Unreadable(SkipReason.TOO_LARGE, f"more than {MAX_ENTRIES:,} files in it")
        self._limit = self._remaining = limit

    @property
    def names(self) -> tuple[str, ...]:
        """Files in the order of the table of contents. Names are untrusted: never use one as a path."""
        return tuple(self._entries)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Declared bytes of each file by name. `open` unpacks no more."""
        return {name: entry.file_size for name, entry in self._entries.items()}

    @property
    def over_limit(self) -> bool:
        """Whether more was unpacked than the total limit."""
        return self._remaining < 0

    def is_locked(self, name: str) -> bool:
        """Whether a file is encrypted."""
        return bool(self._entries[name].flag_bits & 0x1)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, limit: int | None = None) -> bytes:
        """The bytes of a file, at most `limit`.

        Raises:
            Unreadable: TOO_LARGE beyond a limit or when it is packed like a bomb, BROKEN when it is damaged,
                locked or not there.
        """
        entry = self._entry(name)
        body = bytearray()
        try:
            with self._zip.open(entry) as stream:
                while piece := stream.read(_STEP):
                    body += piece
                    self._remaining -= len(piece)
                    self._refuse(entry, len(body), limit)
        except _DAMAGE as error:
            raise Unreadable(SkipReason.BROKEN, f"{_printable(name)} in it is damaged") from error
        return bytes(body)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file as a stream, to avoid holding it in memory.

        Its declared length counts against the limits, and no more is unpacked.

        Raises:
            Unreadable: for the reasons of `read`. BROKEN is also raised during reading.
        """
        entry = self._entry(name)
        self._remaining -= entry.file_size
        self._refuse(entry, entry.file_size, None)
        damaged = Unreadable(SkipReason.BROKEN, f"{_printable(name)} in it is damaged")
        try:
            stream = self._zip.open(entry)
        except _DAMAGE as error:
            raise damaged from error
        try:
            with stream:
                yield stream
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError) as error:
            raise damaged from error

    def _entry(self, name: str) -> zipfile.ZipInfo:
        """Return the entry of a file.

        Raises Unreadable: when it is missing, locked, or packed by an unsupported method.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise Unreadable(SkipReason.BROKEN, f"{_printable(name)} is missing in it")
        if entry.flag_bits & 0x1:
            raise Unreadable(SkipReason.BROKEN, "it is locked with a password")
        if entry.compress_type not in _METHODS:
            raise Unreadable(SkipReason.UNSUPPORTED, f"{_printable(name)} is packed in an unusual way")
        return entry

    def _refuse(self, entry: zipfile.ZipInfo, length: int, limit: int | None) -> None:
        """Refuse too many unpacked bytes. Raises Unreadable: TOO_LARGE.

        Sizes that the archive declares are not trusted.
        """
        if length > _HARMLESS and length > _RATIO * entry.compress_size:
            raise Unreadable(
                SkipReason.TOO_LARGE, f"{_printable(entry.filename)} unpacks to over {_RATIO} times its size"
            )
        if limit is not None and length > limit:
            raise Unreadable(
                SkipReason.TOO_LARGE, f"{_printable(entry.filename)} unpacks to more than {limit / 1e6:g} MB"
            )
        if self._remaining < 0:
            raise Unreadable(SkipReason.TOO_LARGE, f"it unpacks to more than {self._limit / 1e6:g} MB")


def _refuse_listing(file: IO[bytes]) -> None:
    """Refuse a table of contents that would fill the memory. It is read before any file is unpacked."""
    file.seek(max(0, file.seek(0, SEEK_END) - _LOCATOR_LENGTH - _END_LENGTH - 0xFFFF))
    tail = file.read()
    end = tail.rfind(_END)
    if end < 0 or end + _END_LENGTH > len(tail):
        raise Unreadable(SkipReason.BROKEN, "the zip is damaged or was cut off")
    _, _, _, count, size = struct.unpack("<HHHHI", tail[end + 4 : end + 16])
    large = tail[max(0, end - _LOCATOR_LENGTH) : end].startswith(_LOCATOR)
    if large or count == 0xFFFF or size == 0xFFFFFFFF:
        raise Unreadable(SkipReason.TOO_LARGE, "it is a zip of the large kind (zip64)")
    if size > _LARGEST_LISTING:
        raise Unreadable(SkipReason.TOO_LARGE, "its table of contents is too long")


def _is_file(name: str) -> bool:
    return bool(name) and not name.endswith("/")


def _printable(name: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in name[-80:])
