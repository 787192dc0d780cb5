"""Compressed streams that unpack to many megabytes of one byte.

Each is the compressed first megabyte, repeated. To compress all of it would take each worker two seconds, because the
tests have these streams as parameters and every worker collects them.
"""

import gzip
import zlib

_MEGABYTE = 1_000_000


def raw_deflate(byte: bytes, megabytes: int) -> bytes:
    """Return a deflate stream without a header."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(byte * _MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * megabytes + packer.flush()


def zlib_stream(byte: bytes, megabytes: int) -> bytes:
    """Return what `zlib.decompress` unpacks."""
    checksum = zlib.adler32(byte * (_MEGABYTE * megabytes))
    return zlib.compress(b"", 9)[:2] + raw_deflate(byte, megabytes) + checksum.to_bytes(4, "big")


def gzip_file(byte: bytes, megabytes: int) -> bytes:
    """Return what `gzip.decompress` unpacks."""
    size = _MEGABYTE * megabytes
    ends = zlib.crc32(byte * size).to_bytes(4, "little") + size.to_bytes(4, "little")
    return gzip.compress(b"", 9, mtime=0)[:10] + raw_deflate(byte, megabytes) + ends
