"""Pages of a PDF as pictures, with pdfium."""

import struct
import zlib
from typing import Any

from core.model import SkipReason, Unreadable
from core.reading.pdf.reader import open_pdf
from core.text.sanitize import pluralize

WIDEST = 2_000
"""Maximum width in pixels. The height may be three times that."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def draw_page(body: bytes, number: int, width: int) -> bytes:
    """Draw a page as a PNG of at most `width` pixels, with the fields that were filled in.

    Pages count from 1.

    Raises:
        Unreadable: BROKEN when the PDF cannot be opened or drawn, EMPTY when it has no such page.
    """
    import pypdfium2

    document = open_pdf(body)
    try:
        if not 1 <= number <= len(document):
            raise Unreadable(SkipReason.EMPTY, f"it has {pluralize(len(document), 'page')}")
        document.init_forms()  # before the page is loaded, or what was filled in is not drawn
        page = document[number - 1]
        across, down = page.get_size()
        scale = min(min(width, WIDEST) / max(across, 1.0), 3 * WIDEST / max(down, 1.0))
        return png(page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False))
    except pypdfium2.PdfiumError as error:
        raise Unreadable(SkipReason.BROKEN, "the page cannot be drawn") from error
    finally:
        document.close()


def png(bitmap: Any) -> bytes:
    """Return a pdfium bitmap, grey or RGB, as a PNG.

    The format is ISO/IEC 15948, with unfiltered, deflated rows.
    """
    kind = {1: 0, 3: 2}[bitmap.n_channels]
    length = bitmap.width * bitmap.n_channels
    pixels = memoryview(bitmap.buffer).cast("B")
    starts = range(0, bitmap.height * bitmap.stride, bitmap.stride)
    rows = b"".join(b"\0" + bytes(pixels[start : start + length]) for start in starts)
    head = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, kind, 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows, 6)) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
