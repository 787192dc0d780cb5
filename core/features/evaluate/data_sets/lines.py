"""Numbered lines of an untrusted file: plain, JSON, or CSV, each with a size limit."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from core.errors import BadInput
from core.features.evaluate.data_sets.column_names import named_places
from core.features.evaluate.data_sets.source import Source
from core.text.decoding import decode
from core.text.delimited import MalformedRow, delimited_rows
from core.text.lenient_json import count_values, valid_json

LINE_LIMIT = 32_000_000
"""The longest line, in bytes. A longer line is refused before it is read."""
LINE_VALUES, FILE_VALUES = 2_000_000, 10_000_000
"""JSON values per line, and per file held in memory, because small values need many times their length there."""
_SHOWN = 300
"""Characters of a line in `BadLine.nearby`."""


class BadLine(BadInput):
    """An unusable line of a file."""

    def __init__(self, source: Source, number: int, problem: str, *, hint: str) -> None:
        """`problem` continues a message such as `questions.jsonl, line 4,812`, with its blank or colon."""
        super().__init__(f"{source.name}, line {number:,}{problem}", hint=hint)
        self.source, self.number = source, number
        self.near: tuple[tuple[int, str], ...] = ()
        """The result of `nearby`, kept for when the file is deleted."""

    def nearby(self) -> tuple[tuple[int, str], ...]:
        """Return the line and its two neighbours, shortened.

        The result is empty if the file is deleted.
        """
        near: list[tuple[int, str]] = []
        with suppress(OSError, BadInput), self.source.open() as file:
            for number in range(1, self.number + 2):
                line = file.readline(LINE_LIMIT)
                if line and number >= self.number - 1:
                    near.append((number, line[: 4 * _SHOWN].decode(errors="replace").rstrip()[:_SHOWN]))
        return tuple(near)


def blank_line(error: BadLine) -> bool:
    """Overwrite an unusable JSON line with blanks.

    The other lines keep their numbers. Returns False for a file that is packed or of another format.
    """
    if error.source.member or error.source.packed or error.source.suffix != ".jsonl":
        return False
    with error.source.path.open("r+b") as file:
        for _ in range(1, error.number):
            file.readline()
        start = file.tell()
        length = len(file.readline().rstrip(b"\r\n"))
        file.seek(start)
        file.write(b" " * length)
    return True


def lines(source: Source, *, complete: bool = False) -> Iterator[tuple[int, str]]:
    """Yield number and text of every line with content, counted from 1.

    Line ends and a byte-order mark are removed. With `complete` a last line without an end is skipped, because a killed
    process may have left it.

    Raises:
        BadInput: for a line that is too long or not UTF-8, with its number, and as `Source.open`.
        OSError: when the file cannot be read.
    """
    for number, line in _numbered(source):
        if (text := line.strip()) and (line.endswith("\n") or not complete):
            yield number, text


def objects(
    source: Source, *, complete: bool = False, in_memory: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of every line of a JSON Lines file.

    Texts are valid UTF-8, and NaN becomes None.

    Raises:
        BadInput: as `lines`, for a line that is no JSON object or has too many values, and with `in_memory` for a file
            that has too many.
    """
    values = 0
    for number, text in lines(source, complete=complete):
        body = text.encode()
        in_line = count_values(body)
        values += in_line
        if in_line > LINE_VALUES or (in_memory and values > FILE_VALUES):
            raise BadLine(
                source,
                number,
                " has too many values, or all lines up to it.",
                hint=f"A line has at most {LINE_VALUES:,}, a file {FILE_VALUES:,}. Use a smaller data set.",
            )
        try:
            value = valid_json(body)
        except ValueError as error:
            raise BadLine(
                source, number, f" is not JSON: {error}.", hint="Correct or remove the line."
            ) from error
        if not isinstance(value, dict):
            raise BadLine(source, number, " is no JSON object.", hint="Write one object a line.")
        yield number, value


def rows(
    source: Source, columns: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, list[str]]]:
    """Yield line and stripped cells of every row of a CSV file.

    The cells are in the order of `columns`, then `optional`. A missing cell is "". The file may be written by a
    spreadsheet: `core.text.delimited` finds its delimiter, `core.text.decoding` its encoding, `column_names` the
    columns. Lines that begin with `#` before the head, or after it with fewer cells, are comments.

    Raises:
        BadInput: for a missing column, for a line that is no CSV, with its number, and as `Source.open`.
        OSError: when the file cannot be read.
    """
    with source.open() as file:
        text = decode(file.read())
    try:
        table = delimited_rows(text)
        head, places = _head(table, (*columns, *optional))
        if missing := [name for name in columns if name not in places]:
            raise BadInput(
                f"{source.name} has no column {missing[0]}.",
                hint=f"The first line names the columns {', '.join(columns)}, divided by commas, semicolons or tabs.",
            )
        order = [places.get(name, len(head)) for name in (*columns, *optional)]
        for line, row in table:
            if len(row) < len(head) and _is_comment(row):
                continue
            yield line, [row[place] if place < len(row) else "" for place in order]
    except MalformedRow as error:
        raise BadLine(source, error.line, f": {error}.", hint="Correct the line.") from error


def _head(table: Iterator[tuple[int, list[str]]], columns: Sequence[str]) -> tuple[list[str], dict[str, int]]:
    """Return the first row that is no comment, and the places of the columns that it names."""
    for _, row in table:
        if (places := named_places(row, columns)) or not _is_comment(row):
            return row, places
    return [], {}


def _is_comment(row: Sequence[str]) -> bool:
    return row[0].startswith("#")


_EXACT = 2**53
"""From here on, JSON's numbers with a fraction or beyond 64 bits are not exact."""


def text_field(source: Source, number: int, value: dict[str, Any], *names: str) -> str:
    """Return the first field found among these, as text. A number is converted.

    Raises:
        BadInput: when it has none of them, or something else than text.
    """
    for name in names:
        field = value.get(name)
        if isinstance(field, int) and not isinstance(field, bool):
            return str(field)
        if isinstance(field, str):
            return field
        if isinstance(field, float) and field.is_integer():
            if abs(field) < _EXACT:
                return str(int(field))
            raise BadLine(
                source,
                number,
                f" has a {name} of too many digits.",
                hint='Write it as text: "…", not as a number.',
            )
    raise BadLine(
        source,
        number,
        f" has no {' or '.join(names[:2])}.",
        hint=f'Write "{names[0]}": "…"; every line needs this field, as text.',
    )


def _numbered(source: Source) -> Iterator[tuple[int, str]]:
    with source.open() as file:
        number = 0
        while data := file.readline(LINE_LIMIT + 1):
            number += 1
            if len(data) > LINE_LIMIT:
                raise BadLine(
                    source,
                    number,
                    f" is longer than {LINE_LIMIT:,} bytes.",
                    hint="Split the document, or check that the file has one object a line.",
                )
            try:
                yield number, data.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise BadLine(source, number, " is not UTF-8.", hint="Convert the file to UTF-8.") from error
