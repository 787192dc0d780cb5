"""A file of JSON lines that can be continued after a kill: a header, then one record per line.

A line is on disk before the next record is computed, so a killed process loses only its current record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.data_sets.lines import objects
from core.features.evaluate.data_sets.source import Source
from core.features.evaluate.sweep_cost import summarize
from core.storage.atomic_write import atomic_write
from core.storage.process_lock import is_locked, lock_file

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True)
class RecordHeader:
    """The data set, embedder and questions of the records in a file."""

    data: str
    """The name of the data set."""
    embedder: str
    questions: Mapping[str, str]
    """The text of each question, by its id."""
    digest: str = ""
    """Digest of the documents and questions, or "" if unknown."""

    @classmethod
    def of(cls, data: DataSet, **fields: Any) -> Self:
        """Return the header for a data set, with `fields` for a subclass."""
        questions = {question.id: question.text for question in data.questions}
        return cls(data=data.name, questions=questions, digest=summarize(data).digest, **fields)


Header = TypeVar("Header", bound=RecordHeader)
Record = TypeVar("Record", bound="DataclassInstance")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the reader and writer of a class, which takes milliseconds to make."""
    return TypeAdapter(kind)


class RecordFile(Generic[Header, Record]):
    """A file with one header and its records, both dataclasses."""

    def __init__(self, source: Source, header: type[Header], record: type[Record], hint: str) -> None:
        """`hint` says how to recover from a damaged file."""
        self.source = source
        self._header: TypeAdapter[Header] = _adapter(cast("Hashable", header))
        self._record: TypeAdapter[Record] = _adapter(record)
        self._hint = hint
        self._written: IO[bytes] | None = None
        """The open file while this process writes, locked for other processes."""

    def begin(self, header: Header, wrong: Callable[[Header], str] = lambda earlier: "") -> None:
        """Write the header of a new file, or cut off an earlier process's unfinished line.

        `wrong` receives the header on disk and returns why the new records do not belong to it, or "".

        The file is locked against other processes until `close`.

        Raises:
            BadInput: when the file is damaged, has other contents, belongs to a data set that has changed, or is
                locked.
        """
        path = self.source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        file = self._written = path.open("a+b")
        if not lock_file(file.fileno()):
            self.close()
            raise self._measured_elsewhere()
        file.seek(0)
        complete = file.read().rfind(b"\n") + 1
        file.truncate(complete)
        if not complete:
            self.add(header)
        earlier = self.read()[0]
        if reason := wrong(earlier):
            raise BadInput(f"{path.parent} has {reason}.", hint="Choose another folder.")
        if earlier.digest not in ("", header.digest):
            raise BadInput(
                f"{header.data} has changed since the first of its questions was measured.",
                hint="Start anew: figures from different documents or judgements cannot be compared.",
            )

    @property
    def is_begun(self) -> bool:
        """Whether the whole header is on disk: another thread may be writing it."""
        try:
            with self.source.path.open("rb") as file:
                return file.readline().endswith(b"\n")
        except FileNotFoundError:
            return False

    def read(self) -> tuple[Header, list[Record]]:
        """Return the header and the records, in order.

        Raises:
            BadInput: when the file is damaged, with the line.
            FileNotFoundError: when there is none.
        """
        number = 1
        try:
            lines = objects(self.source, complete=True)
            _, first = next(lines, (1, {}))
            header, records = self._header.validate_python(first), []
            for number, line in lines:  # noqa: B007 - the number is in the message below
                records.append(self._record.validate_python(line))
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
            raise BadInput(
                f"{self.source.name}, line {number} is damaged: {fault['msg']}.", hint=self._hint
            ) from error
        return header, records

    def replace_header(self, header: Header) -> None:
        """Replace the header, and keep the records.

        Raises:
            BadInput: when another process begins the file meanwhile.
        """
        path = self.source.path
        records = path.read_bytes().partition(b"\n")[2]
        atomic_write(path, _line(header).encode("utf-8", "replace") + records)
        file = path.open("a+b")
        self.close()
        self._written = file
        if not lock_file(file.fileno()):
            self.close()
            raise self._measured_elsewhere()

    def _measured_elsewhere(self) -> BadInput:
        return BadInput(
            f"{self.source.path.parent} is being measured by another OpenQuery.",
            hint="Wait until it has ended, or stop it there.",
        )

    def close(self) -> None:
        """Let other processes write the file."""
        if self._written:
            self._written.close()
            self._written = None

    def add(self, record: Header | Record) -> None:
        """Write a record. The record is on disk on return."""
        with self.source.path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(_line(record))
            file.flush()
            os.fsync(file.fileno())


def _line(record: DataclassInstance) -> str:
    return json.dumps(asdict(record), ensure_ascii=False) + "\n"


def is_being_written(path: Path) -> bool:
    """Whether a process is writing the record file at `path`."""
    with suppress(OSError):
        return is_locked(path)
    return False
