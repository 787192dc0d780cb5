"""Replies that hang, flood or lie, each with why its page must be skipped."""

import asyncio
import gzip
import random

from core.model import SkipReason
from tests.bombs import gzip_file, raw_deflate
from tests.loopback import Reply, Request, Route, raw

S = SkipReason
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


async def never_answers(request: Request, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


def drips(*start: bytes) -> Route:
    async def drip(request: Request, writer: asyncio.StreamWriter) -> None:
        for part in start:
            writer.write(part)
        while not writer.is_closing():
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.05)

    return drip


def floods(start: bytes, part: bytes) -> Route:
    async def flood(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while not writer.is_closing():
            writer.write(part)
            await writer.drain()

    return flood


def packed(body: bytes, encoding: str) -> Reply:
    return Reply(body, headers={"Content-Encoding": encoding})


BOMB = gzip_file(b"a", 60)
BARE_BOMB = raw_deflate(b"a", 60)
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

REPLIES: dict[str, tuple[Route, SkipReason]] = {
    # time
    "nothing is ever sent": (never_answers, S.TIMEOUT),
    "a body byte by byte": (drips(OK + b"\r\n"), S.TIMEOUT),
    "a header byte by byte": (drips(OK + b"X: "), S.TIMEOUT),
    "a status line byte by byte": (drips(b"HTTP/1.1 200 "), S.TIMEOUT),
    "a chunk byte by byte": (drips(CHUNKED + b"ffff\r\n"), S.TIMEOUT),
    "interim replies for ever": (
        floods(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 50),
        S.TIMEOUT,
    ),
    "the last byte missing": (drips(OK + b"Content-Length: 100000\r\n\r\n"), S.TIMEOUT),
    # size
    "a body without end": (floods(OK + b"\r\n", b"a" * 65536), S.TOO_LARGE),
    "chunks without end": (floods(CHUNKED, b"1000\r\n" + b"a" * 4096 + b"\r\n"), S.TOO_LARGE),
    "a length that is too large": (raw(OK + b"Content-Length: 900000000\r\n\r\n"), S.TOO_LARGE),
    "a gzip bomb": (packed(BOMB, "gzip"), S.TOO_LARGE),
    "a gzip bomb in many members": (packed(gzip.compress(b"a" * 300_000) * 40, "gzip"), S.TOO_LARGE),
    "a bare deflate bomb": (packed(BARE_BOMB, "deflate"), S.TOO_LARGE),
    "headers without end": (floods(OK, b"X-Filler: " + b"a" * 1000 + b"\r\n"), S.NETWORK),
    "one header without end": (floods(OK + b"X: ", b"a" * 65536), S.NETWORK),
    "a status line without end": (floods(b"HTTP/1.1 200 ", b"a" * 65536), S.NETWORK),
    "chunk sizes without end": (floods(CHUNKED, b"0" * 65536), S.NETWORK),
    # damage
    "a hang-up before any answer": (raw(), S.NETWORK),
    "a hang-up in the headers": (raw(OK), S.NETWORK),
    "less than the declared length": (raw(OK + b"Content-Length: 50\r\n\r\nshort"), S.NETWORK),
    "a chunk cut short": (raw(CHUNKED + b"50\r\nshort"), S.NETWORK),
    "a chunk size that is no number": (raw(CHUNKED + b"zz\r\nhello\r\n"), S.NETWORK),
    "two different lengths": (raw(OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello"), S.NETWORK),
    "a negative length": (raw(OK + b"Content-Length: -5\r\n\r\nhello"), S.NETWORK),
    "a length that is no number": (raw(OK + b"Content-Length: 0x5\r\n\r\nhello"), S.NETWORK),
    "another protocol": (raw(b"220 mail.example ESMTP\r\n"), S.NETWORK),
    "an older protocol": (raw(b"<html>no headers at all</html>"), S.NETWORK),
    "a status that is no number": (raw(b"HTTP/1.1 OK 200\r\n\r\n"), S.NETWORK),
    "a status out of range": (raw(b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"), S.STATUS),
    "an upgrade nobody asked for": (raw(b"HTTP/1.1 101 Up\r\nUpgrade: ws\r\n\r\n"), S.NETWORK),
    "a header with a null byte": (raw(OK + b"X: a\0b\r\nContent-Length: 2\r\n\r\nhi"), S.NETWORK),
    "gzip that is none": (packed(b"<html>plain</html>", "gzip"), S.BROKEN),
    "gzip that breaks": (
        packed(gzip.compress(random.Random(1).randbytes(9000))[:-900] + b"!" * 900, "gzip"),
        S.BROKEN,
    ),
    "deflate that is none": (packed(b"\xff" * 99, "deflate"), S.BROKEN),
    # kinds
    "brotli": (packed(b"...", "br"), S.UNSUPPORTED),
    "zstd": (packed(b"...", "zstd"), S.UNSUPPORTED),
    "stacked encodings": (packed(gzip.compress(gzip.compress(b"hi")), "gzip, gzip"), S.UNSUPPORTED),
    "an image": (Reply(b"...", "image/png"), S.UNSUPPORTED),
    "an endless video": (
        floods(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", b"a" * 65536),
        S.UNSUPPORTED,
    ),
    "an image posing as a page": (Reply(b"\x89PNG\r\n\x1a\n..."), S.UNSUPPORTED),
    "an archive posing as text": (Reply(b"PK\x03\x04...", "text/plain"), S.UNSUPPORTED),
    "a program posing as nothing": (Reply(b"\x7fELF...", ""), S.UNSUPPORTED),
    "bytes posing as a page": (Reply(b"<p>\x00\x01\x02</p>"), S.UNSUPPORTED),
    "a page posing as nothing readable": (Reply(b"MZ\x90\x00", "application/octet-stream"), S.UNSUPPORTED),
    "no PDF": (Reply(b"Not a PDF", "application/pdf"), S.UNSUPPORTED),
    "an endless unknown": (floods(b"HTTP/1.1 200 OK\r\n\r\n", b"\x00" * 65536), S.UNSUPPORTED),
    "no content": (Reply(b""), S.EMPTY),
    "only white space": (Reply(b" \n" * 99), S.EMPTY),
    "no content by status": (raw(b"HTTP/1.1 204 No Content\r\n\r\n"), S.EMPTY),
    # redirects
    "a redirect in circles": (raw(b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"), S.REDIRECTS),
    "a redirect to nowhere": (raw(b"HTTP/1.1 302 Found\r\n\r\n"), S.REDIRECTS),
    "a redirect to an empty address": (raw(b"HTTP/1.1 302 Found\r\nLocation:\r\n\r\n"), S.REDIRECTS),
    "a redirect to a script": (raw(b"HTTP/1.1 302 Found\r\nLocation: javascript:x\r\n\r\n"), S.BLOCKED),
    "a redirect to bytes": (raw(b"HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe/\r\n\r\n"), S.BLOCKED),
    "a redirect to metadata": (
        raw(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n"),
        S.BLOCKED,
    ),
    "a redirect to a database": (
        raw(b"HTTP/1.1 302 Found\r\nLocation: //127.0.0.1:6379/\r\n\r\n"),
        S.BLOCKED,
    ),
    "a redirect to a socket": (raw(b"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1/\r\n\r\n"), S.BLOCKED),
}
