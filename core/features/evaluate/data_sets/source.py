"""Untrusted files of bounded length: regular files, or members of a zip.

Every layout is read through this module.
"""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from core.errors import BadInput
from core.features.evaluate.data_sets.parquet import PARQUET, name_of_lines, parquet_lines
from core.model import Unreadable
from core.reading.zip_archive import Archive

HELD_LIMIT = 200_000_000
"""The size limit of a file that is held in memory, in bytes."""
STREAM_LIMIT = 100_000_000_000
"""The size limit of a file that is streamed, in bytes."""
GZIP = ".gz"
"""The suffix of files that are unpacked while they are read."""
_RATIO, _HARMLESS = 200, 1_000_000
"""How many times its packed size a file may have, and the size up to which that does not count. Text reaches 5."""
_BUFFER = 65_536
_ZIP_HINT = "Write it with openquery eval freeze, or pack the files of a data set."


@dataclass(frozen=True, slots=True)
class Source:
    """A file of at most `limit` bytes, or the file `member` in a zip, which is never unpacked to disk.

    A file packed with gzip is read as what it unpacks to, and a Parquet file as lines of JSON.
    """

    path: Path
    member: str = ""
    limit: int = HELD_LIMIT
    length: int = 0
    """Its size in bytes, or 0 if unknown."""

    @property
    def name(self) -> str:
        """The name of the file or member."""
        return self.member or self.path.name

    @property
    def suffix(self) -> str:
        """The suffix of the name that its content has, in lower case."""
        return PurePosixPath(unpacked_name(self.name)).suffix.lower()

    @property
    def packed(self) -> bool:
        """Whether its content is read as something else, unpacked or as lines."""
        return unpacked_name(self.name) != self.name

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the content for reading from its beginning.

        Raises:
            BadInput: when it is no regular file, or too large; for a zip also when it is none, does not have the
                member, or is damaged, which may be noticed while it is read.
            OSError: when it cannot be read.
        """
        # Do not wait for a writer if the path is a FIFO.
        descriptor = os.open(
            self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BadInput(f"{self.path.name} is no file that can be read.", hint="Name a regular file.")
            if self.member:
                with self._in_zip(file) as member, self._content(member) as content:
                    yield content
            elif status.st_size > self.limit:
                raise BadInput(
                    f"{self.path.name} has {status.st_size:,} bytes; the limit is {self.limit:,}.",
                    hint="Use a smaller data set, or BEIR's layout, which is streamed.",
                )
            else:
                with self._content(file) as content:
                    yield content

    @contextmanager
    def _content(self, file: IO[bytes]) -> Iterator[IO[bytes]]:
        name = self.name.lower()
        if name.endswith(GZIP):
            file = io.BufferedReader(_Unpacked(self, file), _BUFFER)
        if not name.removesuffix(GZIP).endswith(PARQUET):
            yield file
            return
        with parquet_lines(file, self.name, self.limit) as lines:
            yield lines

    @contextmanager
    def _in_zip(self, file: IO[bytes]) -> Iterator[IO[bytes]]:
        archive = self.archive(file)
        if self.member not in archive:
            raise BadInput(f"{self.path.name} has no {self.member}.", hint=_ZIP_HINT)
        try:
            with archive.open(self.member) as member:
                yield member
        except Unreadable as why:
            raise BadInput(f"{self.path.name} cannot be used: {why.detail}.", hint=_ZIP_HINT) from why

    def archive(self, file: IO[bytes]) -> Archive:
        """Open the zip archive in an open file. Raises `BadInput` for any other file."""
        try:
            return Archive(file, self.limit)
        except Unreadable as why:
            raise BadInput(
                f"{self.path.name} is no zip file that can be used: {why.detail}.", hint=_ZIP_HINT
            ) from why


class _Unpacked(io.RawIOBase):
    """The bytes of a file packed with gzip, as far as its source allows."""

    def __init__(self, source: Source, file: IO[bytes]) -> None:
        self._source, self._packed = source, file
        self._file = gzip.GzipFile(fileobj=file)
        self._length = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read unpacked bytes. Raises `BadInput` for damage, and beyond the limits."""
        try:
            data = self._file.read(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            raise BadInput(
                f"{self._source.name} is no gzip file that can be used: {error}.", hint="Pack it again."
            ) from error
        self._length += len(data)
        most = min(self._source.limit, max(_HARMLESS, _RATIO * self._packed.tell()))
        if self._length > most:
            raise BadInput(
                f"{self._source.name} unpacks to more than {most:,} bytes.", hint="Use a smaller data set."
            )
        buffer[: len(data)] = data
        return len(data)


def unpacked_name(name: str) -> str:
    """Return the name that a file's content has: without the suffix of gzip, and with that of lines for Parquet."""
    name = name[: -len(GZIP)] if name.lower().endswith(GZIP) else name
    return name_of_lines(name) if name.lower().endswith(PARQUET) else name


def files_of(path: Path) -> Mapping[str, Source]:
    """Return the files of a folder and its subfolders, or of a zip, by the relative paths that their contents have.

    A folder that holds all files of a zip is left out of the paths. Of a file that is there packed and unpacked, the
    unpacked one is returned.

    Raises:
        BadInput: when it is neither a folder nor a zip that can be used.
        OSError: when it cannot be read.
    """
    if path.is_dir():
        files = [file for pattern in ("*", "*/*") for file in sorted(path.glob(pattern)) if file.is_file()]
        return _by_unpacked_name(
            (file.relative_to(path).as_posix(), Source(file, length=file.stat().st_size)) for file in files
        )
    whole = Source(path, limit=STREAM_LIMIT)
    with whole.open() as file:
        sizes = whole.archive(file).sizes
    names = [name for name in sizes if not name.startswith("__MACOSX/") and "/." not in f"/{name}"]
    tops = {name.partition("/")[0] for name in names}
    cut = len(tops.pop()) + 1 if len(tops) == 1 and all("/" in name for name in names) else 0
    return _by_unpacked_name((name[cut:], Source(path, name, length=sizes[name])) for name in names)


def _by_unpacked_name(files: Iterable[tuple[str, Source]]) -> dict[str, Source]:
    sources = list(files)
    return {unpacked_name(name): source for name, source in sources} | {
        name: source for name, source in sources if not source.packed
    }
