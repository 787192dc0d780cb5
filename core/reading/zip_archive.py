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
"""Bytes of the central directory, which is read as a whole."""
_STEP = 1 << 16
_RATIO = 200
"""How many times larger than packed a file may become. Text comes to 5, tables to 50, bombs to 1,000."""
_HARMLESS = 10_000_000
"""Unpacked bytes up to which the ratio does not count."""
_END, _END_LENGTH = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_LENGTH = b"PK\x06\x07", 20
"""Just before the end, it leads to a table of contents of the large kind, whatever the end itself says."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Others are not unpacked in steps by Python, so their bombs would be noticed too late; nobody uses them here."""
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, NotImplementedError, OSError)
"""What `zipfile` raises about a zip that is not as it should be: ValueError also for names that are no text."""


class Archive:
    """The files of a zip by name, unpacked one at a time. `limit` bounds the bytes of all of them together."""

    def __init__(self, content: bytes | IO[bytes], limit: int) -> None:
        """Raises Unreadable: BROKEN when it is no zip, TOO_LARGE when it holds too many files."""
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
        """Files in the order of the zip's table of contents. Names are untrusted: never use one as a path."""
        return tuple(self._entries)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The bytes that each file declares to have, by its name. No more is unpacked by `open`."""
        return {name: entry.file_size for name, entry in self._entries.items()}

    @property
    def over_limit(self) -> bool:
        """Whether more has come out of it than it may hold in all."""
        return self._remaining < 0

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
        """A file as a stream, for what is not to be held in memory. The length that it declares counts against the
        limits: no more is unpacked.

        Raises:
            Unreadable: as `read`; BROKEN also while it is read.
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
        """Raises Unreadable: when it is not there, locked, or packed in a way that is not read."""
        entry = self._entries.get(name)
        if entry is None:
            raise Unreadable(SkipReason.BROKEN, f"{_printable(name)} is missing in it")
        if entry.flag_bits & 0x1:
            raise Unreadable(SkipReason.BROKEN, "it is locked with a password")
        if entry.compress_type not in _METHODS:
            raise Unreadable(SkipReason.UNSUPPORTED, f"{_printable(name)} is packed in an unusual way")
        return entry

    def _refuse(self, entry: zipfile.ZipInfo, length: int, limit: int | None) -> None:
        """Raises Unreadable: TOO_LARGE by the bytes unpacked so far. Sizes that the archive declares are not trusted."""
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
    """Refuse a table of contents that would fill the memory before a single file is unpacked."""
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
