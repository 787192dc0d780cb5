"""Workbooks of Excel 97 (XLS) whose dates, times and durations become the text that their format shows.

The conversion library writes day and seconds whatever the format says. The file has no XML to rewrite, so the records
of its cells are replaced, in a new compound file with the workbook alone.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from core.reading.office.number_formats import (
    PLAIN_FRACTION,
    TimeFormat,
    cell_formats,
    plain_code,
    time_format,
)

_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LISTED = 109
"""Sectors of the table that the head lists."""
_FREE, _END, _TABLE, _FURTHER, _LAST = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC, 0xFFFFFFFA
_SECTOR, _NUMBERS = 512, 128
"""Bytes of a sector of a new file, and the numbers of sectors that one holds."""
_ENTRY = 128
_SHORTEST = 4096
"""Bytes from which a stream has sectors of its own."""
_WORKBOOK = "Workbook"
_BOF, _EOF, _FILEPASS, _SHEET, _FORMAT, _XF, _DATEMODE = 0x809, 0x0A, 0x2F, 0x85, 0x41E, 0xE0, 0x22
_FORMULA, _NUMBER, _LABEL, _RK, _MULRK = 0x06, 0x203, 0x204, 0x27E, 0xBD
_EXCEL_97, _WORKSHEET = 0x600, 0x10
_NO_NUMBER = b"\xff\xff"
"""The end of the value of a formula that has a text, an error or a truth value."""


def with_shown_times(body: bytes) -> bytes:
    """Return a workbook whose dates and times are texts. A damaged one, or one of Excel 95, is returned as it is."""
    try:
        stream = _workbook(body)
        changed = _rewritten(stream)
    except (struct.error, IndexError, ValueError, OverflowError):
        return body
    return _packed(changed)


def _workbook(body: bytes) -> bytes:
    """Return the stream of the workbook of a compound file. Raises ValueError: when it has none."""
    if not body.startswith(_MAGIC):
        raise ValueError("no compound file")
    (shift,) = struct.unpack_from("<H", body, 30)
    (first,) = struct.unpack_from("<I", body, 48)
    if shift not in (9, 12):
        raise ValueError("sectors of an unknown size")
    size = 1 << shift

    def sector(number: int) -> bytes:
        return body[(number + 1) * size : (number + 2) * size]

    table: list[int] = []
    for number in _table_sectors(body, size):
        if len(table) > len(body) // size:
            break
        table += struct.unpack(f"<{size // 4}I", sector(number))

    def chain(number: int) -> bytes:
        pieces: list[bytes] = []
        while number < _LAST and len(pieces) <= len(table):
            pieces.append(sector(number))
            number = table[number]
        return b"".join(pieces)

    entries = chain(first)
    for start in range(0, len(entries), _ENTRY):
        (length,) = struct.unpack_from("<H", entries, start + 64)
        if entries[start : start + max(length - 2, 0)].decode("utf-16-le", "replace") == _WORKBOOK:
            begin, count = struct.unpack_from("<II", entries, start + 116)
            if count >= _SHORTEST:
                return chain(begin)[:count]
    raise ValueError("no stream of a workbook")


def _table_sectors(body: bytes, size: int) -> Iterator[int]:
    """Yield the sectors of the table, which the head lists, and further sectors for a large file."""
    listed = struct.unpack_from(f"<{_LISTED}I", body, 76)
    yield from (number for number in listed if number < _LAST)
    following, count = struct.unpack_from("<II", body, 68)
    for _ in range(min(count, len(body) // size)):
        if following >= _LAST:
            return
        *numbers, following = struct.unpack_from(f"<{size // 4}I", body, (following + 1) * size)
        yield from (number for number in numbers if number < _LAST)


class _Record(NamedTuple):
    start: int
    kind: int
    data: bytes


def _records(stream: bytes) -> Iterator[_Record]:
    place = 0
    while place + 4 <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, place)
        if not kind and not length:  # the rest fills the last sector
            return
        yield _Record(place, kind, stream[place + 4 : place + 4 + length])
        place += 4 + length


def _rewritten(stream: bytes) -> bytes:
    """Return a stream with texts in place of dates and times, and formats of numbers that the library reads."""
    formats, from_1904 = _formats(stream)
    pieces: list[bytes] = []
    begun: dict[int, int] = {}
    sheets: list[tuple[int, int]] = []
    length = done = depth = 0
    is_sheet = has_fractions = False
    for start, kind, data in _records(stream):
        if kind == _BOF:
            begun[start] = length + start - done
            depth += 1
            is_sheet = (depth == 1 and struct.unpack_from("<H", data, 2)[0] == _WORKSHEET) or (
                is_sheet and depth > 1
            )
        elif kind == _EOF:
            depth -= 1
        written = b""
        if kind == _SHEET and not is_sheet:
            sheets.append((length + start - done + 4, struct.unpack_from("<I", data)[0]))
        elif kind == _FORMAT and not is_sheet:
            written = _plain_format(data)
        elif is_sheet and depth == 1 and kind in (_FORMULA, _NUMBER, _RK, _MULRK):
            written = _texts(kind, data, formats, from_1904=from_1904)
        elif kind == _XF and not has_fractions:
            has_fractions = True
            written = _format(*PLAIN_FRACTION) + stream[start : start + 4 + len(data)]
        if written:
            pieces += (stream[done:start], written)
            length += start - done + len(written)
            done = start + 4 + len(data)
    out = bytearray(b"".join((*pieces, stream[done:])))
    for place, old in sheets:
        struct.pack_into("<I", out, place, begun.get(old, old))
    return bytes(out)


def _plain_format(data: bytes) -> bytes:
    """Return a format of numbers in the form that the conversion library reads, or nothing if it is."""
    number, code = _code(data)
    plain = plain_code(code)
    if plain == code or time_format(code) is not None:
        return b""
    return _format(number, plain)


def _format(number: int, code: str) -> bytes:
    units = code.encode("utf-16-le")
    return _record(_FORMAT, struct.pack("<HHB", number, len(units) // 2, 1) + units)


def _code(data: bytes) -> tuple[int, str]:
    number, count, wide = struct.unpack_from("<HHB", data)
    text = data[5 : 5 + count * (1 + (wide & 1))]
    return number, text.decode("utf-16-le" if wide & 1 else "latin-1", "replace")


def _formats(stream: bytes) -> tuple[Mapping[int, TimeFormat], bool]:
    """Return the formats of dates and times by the style of a cell, and whether days count from 1904.

    Raises:
        ValueError: for a workbook of an earlier version, or an encrypted one.
    """
    codes: dict[int, str] = {}
    cells: list[int] = []
    from_1904 = False
    for _, kind, data in _records(stream):
        if kind == _FILEPASS or (kind == _BOF and struct.unpack_from("<H", data)[0] != _EXCEL_97):
            raise ValueError(kind)
        if kind == _EOF:
            break
        if kind == _FORMAT:
            number, code = _code(data)
            codes[number] = code
        elif kind == _XF:
            cells.append(struct.unpack_from("<H", data, 2)[0])
        elif kind == _DATEMODE:
            from_1904 = data[:2] == b"\1\0"
    return cell_formats(codes, cells), from_1904


def _texts(kind: int, data: bytes, formats: Mapping[int, TimeFormat], *, from_1904: bool) -> bytes:
    """Return the cells of a record with texts for dates, or b"" if no cell has one."""
    cells: list[tuple[int, int, float]] = []
    row, column = struct.unpack_from("<HH", data)
    if kind == _MULRK:
        for place in range(4, len(data) - 2, 6):
            (style,) = struct.unpack_from("<H", data, place)
            cells.append((column + (place - 4) // 6, style, compact_number(data[place + 2 : place + 6])))
    elif kind == _RK:
        cells.append((column, struct.unpack_from("<H", data, 4)[0], compact_number(data[6:10])))
    elif kind == _NUMBER or data[12:14] != _NO_NUMBER:
        cells.append((column, *struct.unpack_from("<Hd", data, 4)))
    texts = [
        form.write(value, from_1904=from_1904) if (form := formats.get(style)) else None
        for _, style, value in cells
    ]
    if all(text is None for text in texts):
        return b""
    written = []
    for (place, style, value), text in zip(cells, texts, strict=True):
        head = struct.pack("<HHH", row, place, style)
        if text is None:
            written.append(_record(_NUMBER, head + struct.pack("<d", value)))
        else:
            units = text.encode("utf-16-le")
            written.append(_record(_LABEL, head + struct.pack("<HB", len(units) // 2, 1) + units))
    return b"".join(written)


def compact_number(data: bytes) -> float:
    """Return a number of 30 bits: an integer or the upper half of a float, perhaps in hundredths."""
    (number,) = struct.unpack("<i", data)
    value = (
        float(number >> 2)
        if number & 2
        else struct.unpack("<d", bytes(4) + struct.pack("<i", number & ~3))[0]
    )
    return value / 100 if number & 1 else value


def _record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _packed(stream: bytes) -> bytes:
    """Return a compound file with the workbook alone: its directory, its stream and the tables of sectors."""
    stream = stream.ljust(_SHORTEST, b"\0")
    count = -(-len(stream) // _SECTOR)
    tables = further = 0
    while tables * _NUMBERS < 1 + count + tables + further:
        tables += 1
        further = -(-max(tables - _LISTED, 0) // (_NUMBERS - 1))
    first_table, first_further = 1 + count, 1 + count + tables
    chain = [_END, *range(2, 1 + count), _END, *[_TABLE] * tables, *[_FURTHER] * further]
    chain += [_FREE] * (tables * _NUMBERS - len(chain))
    listed = [*range(first_table, first_further)]
    head = struct.pack(
        "<8s16sHHHHH6xIIIIIIIII",
        _MAGIC, b"", 0x3E, 3, 0xFFFE, 9, 6, 0, tables, 0, 0, _SHORTEST, _END, 0,
        first_further if further else _END, further,
    )  # fmt: skip
    head += _numbers(listed[:_LISTED], _LISTED)
    rest = b"".join(
        _numbers(listed[_LISTED + place * (_NUMBERS - 1) :][: _NUMBERS - 1], _NUMBERS - 1)
        + struct.pack("<I", first_further + place + 1 if place + 1 < further else _END)
        for place in range(further)
    )
    entries = _entry("Root Entry", 5, child=1, start=_END) + _entry(_WORKBOOK, 2, start=1, size=len(stream))
    entries += _entry("", 0, start=0) * 2
    return b"".join((head, entries, stream.ljust(count * _SECTOR, b"\0"), _numbers(chain, len(chain)), rest))


def _numbers(numbers: Sequence[int], count: int) -> bytes:
    return struct.pack(f"<{count}I", *numbers, *[_FREE] * (count - len(numbers)))


def _entry(name: str, kind: int, *, start: int, child: int = _FREE, size: int = 0) -> bytes:
    written = name.encode("utf-16-le")
    length = len(written) + 2 if name else 0
    return struct.pack(
        "<64sHBBIII16sIQQIQ", written, length, kind, 1, _FREE, _FREE, child, b"", 0, 0, 0, start, size
    )
