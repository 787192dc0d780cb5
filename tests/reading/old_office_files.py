"""Office files of the old binary formats, as small as they can be: streams in a compound file."""

import struct
from collections.abc import Mapping, Sequence

from tests.reading.office_files import packed, related

SECTOR = 512
FREE, END, FAT_SECTOR = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
SMALLEST = 4096
"""Bytes from which a stream has sectors of its own. Shorter ones are filled up."""


def compound(streams: Mapping[str, bytes]) -> bytes:
    """A compound file of these streams (MS-CFB, version 3)."""
    padded = {
        name: data + b"\0" * (-max(len(data), SMALLEST) % SECTOR + max(0, SMALLEST - len(data)))
        for name, data in streams.items()
    }
    order = sorted(padded, key=lambda name: (len(name), name.upper()))
    padded = {name: padded[name] + b"\0" * (-len(padded[name]) % SECTOR) for name in order}
    entries = _entry("Root Entry", 5, child=1, start=END, size=0)
    sector = 2  # after the table and the directory
    chain = [FAT_SECTOR]
    directory_sectors = -(-(len(padded) + 1) // 4)
    chain += [n + 2 for n in range(directory_sectors - 1)] + [END]
    sector = 1 + directory_sectors
    for number, (name, data) in enumerate(padded.items(), 1):
        count = len(data) // SECTOR
        following = number + 1 if number < len(padded) else FREE
        entries += _entry(name, 2, right=following, start=sector, size=len(data))
        chain += [*range(sector + 1, sector + count), END]
        sector += count
    table = struct.pack(f"<{len(chain)}I", *chain)
    assert len(table) <= SECTOR, "one sector of the table is enough for tests"
    table += struct.pack("<I", FREE) * ((SECTOR - len(table)) // 4)
    entries += _entry("", 0, start=0, size=0) * (-(len(padded) + 1) % 4)
    head = struct.pack(
        "<8s16sHHHHH6xIIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, SMALLEST, END, 0, END, 0, 0,
    )  # fmt: skip
    head += struct.pack("<I", FREE) * ((SECTOR - len(head)) // 4)
    return head + table + entries + b"".join(padded.values())


def _entry(name: str, kind: int, *, right: int = FREE, child: int = FREE, start: int, size: int) -> bytes:
    written = name.encode("utf-16-le")
    length = len(written) + 2 if name else 0
    return struct.pack(
        "<64sHBBIII16sIQQIQ", written, length, kind, 1, FREE, right, child, b"", 0, 0, 0, start, size
    )


def _record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


Cell = str | float | tuple[float, int]
"""A text, a number in per cent, or a number with its place among the formats."""


def xls(
    name: str, rows: Sequence[Sequence[Cell]], codes: Sequence[str] = (), *, from_1904: bool = False
) -> bytes:
    """A workbook of Excel 97 with one sheet, and number formats with these codes."""
    formats = [0] * 16 + [9, *(164 + place for place in range(len(codes)))]  # the built-in format 9 is 0%
    begin = struct.pack("<HHHHII", 0x600, 5, 0x0DBB, 0x07CC, 0, 6)
    head = _record(0x809, begin) + _record(0x22, struct.pack("<H", from_1904))
    for place, code in enumerate(codes):
        head += _record(0x41E, struct.pack("<HHB", 164 + place, len(code), 1) + code.encode("utf-16-le"))
    for number in formats:
        head += _record(0xE0, struct.pack("<HHHBBBBIIH", 0, number, 0, 0, 0, 0, 0xFC, 0, 0, 0x20C0))
    title = name.encode("latin-1")
    sheet = _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0x0DBB, 0x07CC, 0, 6))
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            if isinstance(cell, str):
                text = cell.encode("latin-1")
                sheet += _record(0x204, struct.pack("<HHHHB", row, column, 15, len(text), 0) + text)
            else:
                value, place = cell if isinstance(cell, tuple) else (cell, -1)
                sheet += _record(0x203, struct.pack("<HHHd", row, column, 17 + place, value))
    return _workbook(head, title, sheet)


def xls_with(name: str, head: Sequence[str], code: str, record: int, data: bytes) -> bytes:
    """A workbook whose first row has these texts, with one more record in its sheet. Style 17 has the format."""
    body = xls(name, [head], [code])
    end = _record(0x0A, b"")
    place = body.rindex(end, 0, len(body.rstrip(b"\0")) + len(end))
    return body[:place] + _record(record, data) + body[place : -4 - len(data)]


def _workbook(head: bytes, title: bytes, sheet: bytes) -> bytes:
    bound = struct.pack("<IBBBB", len(head) + 4 + 8 + len(title) + 4, 0, 0, len(title), 0) + title
    return compound(
        {"Workbook": head + _record(0x85, bound) + _record(0x0A, b"") + sheet + _record(0x0A, b"")}
    )


def doc(text: str, properties: bytes = b"") -> bytes:
    """A document of Word 97 of paragraphs, each ending with a carriage return, and bytes of properties."""
    written = text.encode("utf-16-le")
    start = 1024
    clx = (
        b"\x02" + struct.pack("<I", 16) + struct.pack("<II", 0, len(text)) + struct.pack("<HIH", 0, start, 0)
    )
    places = [(0, 0)] * 93
    places[33] = (0, len(clx))
    counts = [0] * 22
    counts[0], counts[3] = start + len(written), len(text)
    fib = struct.pack(
        "<HHHHHHHIBBHHII", 0xA5EC, 0xC1, 0, 0x409, 0, 0x200, 0xBF, 0, 0, 0, 0, 0, start, start + len(written)
    )
    fib += struct.pack("<H28x", 14) + struct.pack("<H22I", 22, *counts)
    fib += struct.pack("<H186I", 93, *(number for pair in places for number in pair)) + struct.pack("<H", 0)
    return compound({"WordDocument": fib.ljust(start, b"\0") + written + properties, "1Table": clx})


def ppt(*slides: Sequence[str]) -> bytes:
    """A presentation of PowerPoint 97. The first line of a slide is its title."""
    slide_list = b""
    for number, (title, *lines) in enumerate(slides):
        slide_list += _atom(1011, struct.pack("<IIiII", number + 2, 0, 1, 256 + number, 0))
        for kind, text in ((0, title), (1, "\r".join(lines))):
            slide_list += _atom(3999, struct.pack("<I", kind)) + _atom(4000, text.encode("utf-16-le"))
    document = _atom(1000, _atom(1001, bytes(40)) + _atom(4080, slide_list, version=0xF), version=0xF)
    parts = [document, *(_atom(1006, _atom(1007, bytes(24)), version=0xF) for _ in slides)]
    places = [sum(map(len, parts[:number])) for number in range(len(parts))]
    stream = b"".join(parts)
    directory = len(stream)
    count = len(places)
    stream += _atom(6002, struct.pack(f"<I{count}I", 1 | count << 20, *places))
    edit = len(stream)
    stream += _atom(4085, struct.pack("<IHBBIIIIHH", 256, 0, 0, 3, 0, directory, 1, count + 1, 1, 0))
    user = _atom(4086, struct.pack("<IIIHHBBH", 20, 0xE391C05F, edit, 0, 0x3F4, 3, 0, 0))
    return compound({"Current User": user, "PowerPoint Document": stream})


def _atom(kind: int, data: bytes, *, version: int = 0) -> bytes:
    return struct.pack("<HHI", version, kind, len(data)) + data


def xlsb(
    name: str, rows: Sequence[Sequence[Cell]], codes: Sequence[str] = (), *, from_1904: bool = False
) -> bytes:
    """A binary workbook of Excel 2007 with one sheet, and number formats with these codes."""
    formats = b"".join(
        _part(44, struct.pack("<H", 164 + place) + _wide(code)) for place, code in enumerate(codes)
    )
    styles = b"".join(
        _part(47, struct.pack("<HH12x", 0, number)) for number in (0, *range(164, 164 + len(codes)))
    )
    styles = (
        _part(278) + _part(615, struct.pack("<I", len(codes))) + formats + _part(616)
        + _part(617, struct.pack("<I", len(codes) + 1)) + styles + _part(618) + _part(279)
    )  # fmt: skip
    book = b"".join(
        (
            _part(131), _part(153, struct.pack("<IQ", from_1904, 0)), _part(143), _part(156, struct.pack("<II", 0, 1) + _wide("r1") + _wide(name)),
            _part(144), _part(132),
        )
    )  # fmt: skip
    sheet = _part(129) + _part(145)
    for row, cells in enumerate(rows):
        sheet += _part(0, struct.pack("<IIHHBI", row, 0, 0, 0, 0, 0))
        for column, cell in enumerate(cells):
            number, style = cell if isinstance(cell, tuple) else (cell, -1)
            place = struct.pack("<II", column, style + 1)
            value = _wide(number) if isinstance(number, str) else struct.pack("<d", number)
            sheet += _part(6 if isinstance(number, str) else 5, place + value)
    kind = "application/vnd.ms-excel.sheet.binary.macroEnabled.main"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Override PartName="/xl/workbook.bin" ContentType="{kind}"/></Types>'
    )
    return packed(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": related(r1="officeDocument xl/workbook.bin"),
            "xl/workbook.bin": book,
            "xl/_rels/workbook.bin.rels": related(
                r1="worksheet worksheets/sheet1.bin", r2="styles styles.bin"
            ),
            "xl/styles.bin": styles,
            "xl/worksheets/sheet1.bin": sheet + _part(146) + _part(130),
        }
    )


def _part(kind: int, data: bytes = b"") -> bytes:
    """A record of a binary workbook: its kind and length in bytes of seven bits."""
    written = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    length, rest = b"", len(data)
    while rest >= 128:
        length, rest = length + bytes([rest & 0x7F | 0x80]), rest >> 7
    return written + length + bytes([rest]) + data


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")
