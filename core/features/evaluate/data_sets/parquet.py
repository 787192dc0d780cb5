"""Parquet files as lines of JSON, and the names by which hubs of data sets know them."""

import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from core.errors import BadInput
from core.sandbox.worker_command import IMPORT_ROOT, command, environment

PARQUET = ".parquet"
_PART = re.compile(r"-\d+-of-(?P<parts>\d+)\Z")
"""The end of the name of a file that a hub has written, before its suffix."""
_WHOLE = ("corpus", "queries")
"""Folders that have one file, whatever split it is named after."""
_QRELS = ("qrels", "default")
"""Folders of relevance judgements. MTEB's are the default configuration of their data set."""
_RATIO, _HARMLESS = 200, 100_000_000
"""How many times its own size the lines of a file may have, and the size up to which that does not count."""


def name_of_lines(name: str) -> str:
    """Return the name that the lines of a Parquet file have in BEIR's layout.

    `corpus/train-00000-of-00001.parquet` is `corpus.jsonl`. A file that is one of several parts keeps its name.
    """
    folder, slash, file = name[: -len(PARQUET)].rpartition("/")
    part = _PART.search(file)
    if part and int(part["parts"]) > 1:
        return f"{folder}{slash}{file}.jsonl"
    split = file[: part.start()] if part else file
    if folder in _WHOLE:
        return f"{folder}.jsonl"
    return f"qrels/{split}.jsonl" if folder in _QRELS else f"{folder}{slash}{split}.jsonl"


@contextmanager
def parquet_lines(file: IO[bytes], name: str, limit: int) -> Iterator[IO[bytes]]:
    """Open the rows of a Parquet file as lines of JSON, which a confined process writes.

    Args:
        file: the file from its beginning. One that cannot be searched, such as a member of a zip, is copied first.
        name: its name for messages.
        limit: the most bytes of lines.

    Raises:
        BadInput: when it is no Parquet file, or beyond the limits, which is noticed while it is read.
    """
    with tempfile.TemporaryFile() as copy:
        if not _is_regular(file):
            shutil.copyfileobj(file, copy)
            copy.seek(0)
            file = copy
        most = min(limit, max(_HARMLESS, _RATIO * file.seek(0, io.SEEK_END)))
        file.seek(0)
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command("features.evaluate.data_sets.parquet_worker"),
            cwd=IMPORT_ROOT,
            env=environment(),
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield io.BufferedReader(_Lines(process, name, most), io.DEFAULT_BUFFER_SIZE)
        finally:
            process.kill()
            process.communicate()


def _is_regular(file: IO[bytes]) -> bool:
    try:
        return file.seekable() and file.fileno() >= 0
    except (AttributeError, OSError):
        return False


class _Lines(io.RawIOBase):
    """The output of a process that writes lines."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, most: int) -> None:
        if process.stdout is None:
            raise OSError("it has no pipe")
        self._process, self._output = process, process.stdout
        self._name, self._most, self._length = name, most, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes of lines. Raises `BadInput` for a file that is damaged, and beyond the limit."""
        data = self._output.read(len(buffer))
        if not data and self._process.wait():
            raise BadInput(
                f"{self._name} is no Parquet file that can be read.",
                hint="Write it again, with smaller row groups if it is large, or as JSON lines.",
            )
        self._length += len(data)
        if self._length > self._most:
            raise BadInput(
                f"{self._name} unpacks to more than {self._most:,} bytes.", hint="Use a smaller data set."
            )
        buffer[: len(data)] = data
        return len(data)
