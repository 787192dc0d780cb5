"""Binary workbooks of Excel 2007 (XLSB) whose dates, times and durations become the text that their format shows."""

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from core.reading.office.number_formats import TimeFormat, cell_formats
from core.reading.office.old_workbook import compact_number

_FORMAT, _STYLE, _STYLES, _STYLES_END, _PROPERTIES = 44, 47, 617, 618, 153
_COMPACT, _NUMBER, _TEXT, _FORMULA = 2, 5, 6, 9


class _Record(NamedTuple):
    start: int
    kind: int
    data: bytes
    end: int


def binary_formats(styles: bytes) -> Mapping[int, TimeFormat]:
    """Return the formats of dates and times by the style of a cell. Damaged styles have none."""
    codes: dict[int, str] = {}
    cells: list[int] = []
    counted = False
    try:
        for record in _records(styles):
            if record.kind == _FORMAT:
                number, count = struct.unpack_from("<HI", record.data)
                codes[number] = record.data[6 : 6 + 2 * count].decode("utf-16-le", "replace")
            elif record.kind in (_STYLES, _STYLES_END):
                counted = record.kind == _STYLES
            elif record.kind == _STYLE and counted:
                cells.append(struct.unpack_from("<H", record.data, 2)[0])
    except (struct.error, IndexError):
        return {}
    return cell_formats(codes, cells)


def counts_from_1904(workbook: bytes) -> bool:
    """Whether day 0 of a workbook is 1 January 1904."""
    try:
        return any(record.kind == _PROPERTIES and record.data[0] & 1 for record in _records(workbook))
    except IndexError:
        return False


def show_binary_times(sheet: bytes, formats: Mapping[int, TimeFormat], *, from_1904: bool) -> bytes:
    """Return a sheet whose cells with these formats hold the text that they show. A damaged one stays as it is."""
    pieces: list[bytes] = []
    done = 0
    try:
        for start, kind, data, end in _records(sheet) if formats else ():
            if kind not in (_COMPACT, _NUMBER, _FORMULA):
                continue
            form = formats.get(int.from_bytes(data[4:7], "little"))
            if form is None:
                continue
            value = compact_number(data[8:12]) if kind == _COMPACT else struct.unpack_from("<d", data, 8)[0]
            if (text := form.write(value, from_1904=from_1904)) is not None:
                units = text.encode("utf-16-le")
                written = data[:8] + struct.pack("<I", len(units) // 2) + units
                pieces += (sheet[done:start], _record(_TEXT, written))
                done = end
    except (struct.error, IndexError, ValueError, OverflowError):
        return sheet
    return b"".join((*pieces, sheet[done:]))


def _records(part: bytes) -> Iterator[_Record]:
    """Yield the records of a part. Kinds and lengths have seven bits a byte."""
    place = 0
    while place < len(part):
        start, kind = place, part[place]
        place += 1
        if kind & 0x80:
            kind = kind & 0x7F | (part[place] & 0x7F) << 7
            place += 1
        length = 0
        for shift in (0, 7, 14, 21):
            byte = part[place]
            place += 1
            length |= (byte & 0x7F) << shift
            if not byte & 0x80:
                break
        yield _Record(start, kind, part[place : place + length], place + length)
        place += length


def _record(kind: int, data: bytes) -> bytes:
    """Return a record of a kind below 128."""
    length, rest = b"", len(data)
    while rest >= 0x80:
        length, rest = length + bytes([rest & 0x7F | 0x80]), rest >> 7
    return bytes([kind]) + length + bytes([rest]) + data
