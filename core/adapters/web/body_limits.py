"""Decompress response bodies under a size limit."""

import zlib

from core.model import SkipReason, Unreadable

_STEP = 65536
"""Bytes unpacked at a time, so that a decompression bomb is noticed early."""


class Decompressor:
    """Streaming decompression. The limit holds for the received and for the unpacked size."""

    def __init__(self, encoding: str, limit: int) -> None:
        """Prepare for the Content-Encoding header `encoding`. `limit` is in bytes.

        Raises:
            Unreadable: UNSUPPORTED for encodings that were not requested, and for stacked encodings.
        """
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Unreadable(SkipReason.UNSUPPORTED, f"content encoding {encoding[:40]}")
        self._gzip = encoding.endswith("gzip")
        self._packed = self._gzip or encoding == "deflate"
        self._unzip = zlib.decompressobj(31) if self._gzip else None
        self._limit = limit
        self.received = 0
        self.body = bytearray()

    def feed(self, data: bytes) -> None:
        """Unpack received bytes.

        Raises:
            Unreadable: TOO_LARGE beyond the limit, BROKEN for data that cannot be unpacked.
        """
        self.received += len(data)
        if self.received > self._limit:
            raise self._too_large("")
        if not self._packed:
            self.body += data
            return
        try:
            self._unpack(data)
        except zlib.error as error:
            raise Unreadable(SkipReason.BROKEN, "the compressed body is damaged") from error

    def _unpack(self, data: bytes) -> None:
        while data:
            if self._unzip is None:
                # "deflate" is zlib by the standard and bare deflate in practice. The first byte differs.
                self._unzip = zlib.decompressobj(15 if data[0] & 0x0F == 8 else -15)
            self.body += self._unzip.decompress(data, _STEP)
            if len(self.body) > self._limit:
                raise self._too_large(" unpacked")
            if self._unzip.eof:
                data = self._unzip.unused_data
                if not (self._gzip and data.startswith(b"\x1f\x8b")):
                    return
                self._unzip = zlib.decompressobj(31)
            else:
                data = self._unzip.unconsumed_tail

    def _too_large(self, how: str) -> Unreadable:
        return Unreadable(SkipReason.TOO_LARGE, f"more than {self._limit / 1e6:g} MB{how}")
