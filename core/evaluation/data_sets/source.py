"""Files of strangers: regular ones, or members of a zip, of a bounded length. Every layout reads through them."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from core.errors import BadInput
from core.model import Unreadable
from core.reading.zip_archive import Archive

HELD_LIMIT = 200_000_000
"""Bytes of a file whose content is held in memory."""
STREAM_LIMIT = 100_000_000_000
"""Bytes of a file that is read in parts."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of at most `limit` bytes, or with `member` a file in a zip, which is never unpacked to disk."""

    path: Path
    member: str = ""
    limit: int = HELD_LIMIT

    @property
    def name(self) -> str:
        """The name of the file or member."""
        return self.member or self.path.name

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The content from its beginning.

        Raises:
            BadInput: when it is no regular file, or too large; for a zip also when it is none, does not have the
                member, or is damaged, which may be noticed while it is read.
            OSError: when it cannot be read.
        """
        # Without waiting for a writer, should it be a FIFO.
        descriptor = os.open(
            self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BadInput(f"{self.path.name} is no file that can be read.", hint="Name a regular file.")
            if self.member:
                with self._in_zip(file) as member:
                    yield member
            elif status.st_size > self.limit:
                raise BadInput(
                    f"{self.path.name} has {status.st_size:,} bytes; the limit is {self.limit:,}.",
                    hint="Use a smaller data set, or BEIR's layout, which is streamed.",
                )
            else:
                yield file

    @contextmanager
    def _in_zip(self, file: IO[bytes]) -> Iterator[IO[bytes]]:
        hint = "Write it with openquery eval freeze."
        try:
            archive = Archive(file, self.limit)
        except Unreadable as why:
            raise BadInput(
                f"{self.path.name} is no zip file that can be used: {why.detail}.", hint=hint
            ) from why
        if self.member not in archive:
            raise BadInput(f"{self.path.name} has no {self.member}.", hint=hint)
        try:
            with archive.open(self.member) as member:
                yield member
        except Unreadable as why:
            raise BadInput(f"{self.path.name} cannot be used: {why.detail}.", hint=hint) from why
