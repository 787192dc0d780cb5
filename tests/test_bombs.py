import gzip
import zlib

from tests.bombs import gzip_file, raw_deflate, zlib_stream


def test_streams_unpack_to_their_megabytes() -> None:
    expected = b"a" * 3_000_000
    assert gzip.decompress(gzip_file(b"a", 3)) == expected
    assert zlib.decompress(zlib_stream(b"a", 3)) == expected
    assert zlib.decompress(raw_deflate(b"a", 3), -zlib.MAX_WBITS) == expected
    assert len(gzip_file(b"a", 3)) < len(expected) / 900
