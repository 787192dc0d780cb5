"""A hostile web: each case with the outcome it must have, decided within the page's own time."""

from __future__ import annotations

import asyncio
import gzip
import random
import time
import tracemalloc
import zlib

import pytest

from core.adapters.web.safe_client import SafeWeb
from core.config.knobs import ReadKnobs
from core.model import SkipReason, Unreadable
from tests.loopback import TLS, LoopbackWeb, Reply, Request, Route, html, raw

KNOBS = ReadKnobs(robots=False, page_timeout=1.0, max_megabytes=1.0)
PATIENT = ReadKnobs(robots=False)
"""For pages that are fine: a busy machine may need more than a second for one."""
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


BOMB = gzip.compress(b"a" * 60_000_000, 9)
BARE_BOMB = zlib.compress(b"a" * 60_000_000, 9)[2:-4]
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

CASES: dict[str, tuple[Route, SkipReason]] = {
    # time
    "nothing is ever sent": (never_answers, SkipReason.TIMEOUT),
    "a body byte by byte": (drips(OK + b"\r\n"), SkipReason.TIMEOUT),
    "a header byte by byte": (drips(OK + b"X: "), SkipReason.TIMEOUT),
    "a status line byte by byte": (drips(b"HTTP/1.1 200 "), SkipReason.TIMEOUT),
    "a chunk byte by byte": (drips(CHUNKED + b"ffff\r\n"), SkipReason.TIMEOUT),
    "interim replies for ever": (
        floods(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 50),
        SkipReason.TIMEOUT,
    ),
    "the last byte missing": (drips(OK + b"Content-Length: 100000\r\n\r\n"), SkipReason.TIMEOUT),
    # size
    "a body without end": (floods(OK + b"\r\n", b"a" * 65536), SkipReason.TOO_LARGE),
    "chunks without end": (floods(CHUNKED, b"1000\r\n" + b"a" * 4096 + b"\r\n"), SkipReason.TOO_LARGE),
    "a length that is too large": (raw(OK + b"Content-Length: 900000000\r\n\r\n"), SkipReason.TOO_LARGE),
    "a gzip bomb": (packed(BOMB, "gzip"), SkipReason.TOO_LARGE),
    "a gzip bomb in many members": (packed(gzip.compress(b"a" * 300_000) * 40, "gzip"), SkipReason.TOO_LARGE),
    "a bare deflate bomb": (packed(BARE_BOMB, "deflate"), SkipReason.TOO_LARGE),
    "headers without end": (floods(OK, b"X-Filler: " + b"a" * 1000 + b"\r\n"), SkipReason.NETWORK),
    "one header without end": (floods(OK + b"X: ", b"a" * 65536), SkipReason.NETWORK),
    "a status line without end": (floods(b"HTTP/1.1 200 ", b"a" * 65536), SkipReason.NETWORK),
    "chunk sizes without end": (floods(CHUNKED, b"0" * 65536), SkipReason.NETWORK),
    # damage
    "a hang-up before any answer": (raw(), SkipReason.NETWORK),
    "a hang-up in the headers": (raw(OK), SkipReason.NETWORK),
    "less than the declared length": (raw(OK + b"Content-Length: 50\r\n\r\nshort"), SkipReason.NETWORK),
    "a chunk cut short": (raw(CHUNKED + b"50\r\nshort"), SkipReason.NETWORK),
    "a chunk size that is no number": (raw(CHUNKED + b"zz\r\nhello\r\n"), SkipReason.NETWORK),
    "two different lengths": (
        raw(OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello"),
        SkipReason.NETWORK,
    ),
    "a negative length": (raw(OK + b"Content-Length: -5\r\n\r\nhello"), SkipReason.NETWORK),
    "a length that is no number": (raw(OK + b"Content-Length: 0x5\r\n\r\nhello"), SkipReason.NETWORK),
    "another protocol": (raw(b"220 mail.example ESMTP\r\n"), SkipReason.NETWORK),
    "an older protocol": (raw(b"<html>no headers at all</html>"), SkipReason.NETWORK),
    "a status that is no number": (raw(b"HTTP/1.1 OK 200\r\n\r\n"), SkipReason.NETWORK),
    "a status out of range": (raw(b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"), SkipReason.STATUS),
    "an upgrade nobody asked for": (raw(b"HTTP/1.1 101 Up\r\nUpgrade: ws\r\n\r\n"), SkipReason.NETWORK),
    "a header with a null byte": (raw(OK + b"X: a\0b\r\nContent-Length: 2\r\n\r\nhi"), SkipReason.NETWORK),
    "gzip that is none": (packed(b"<html>plain</html>", "gzip"), SkipReason.BROKEN),
    "gzip that breaks": (
        packed(gzip.compress(random.Random(1).randbytes(9000))[:-900] + b"!" * 900, "gzip"),
        SkipReason.BROKEN,
    ),
    "deflate that is none": (packed(b"\xff" * 99, "deflate"), SkipReason.BROKEN),
    # kinds
    "brotli": (packed(b"...", "br"), SkipReason.UNSUPPORTED),
    "zstd": (packed(b"...", "zstd"), SkipReason.UNSUPPORTED),
    "stacked encodings": (packed(gzip.compress(gzip.compress(b"hi")), "gzip, gzip"), SkipReason.UNSUPPORTED),
    "an image": (Reply(b"...", "image/png"), SkipReason.UNSUPPORTED),
    "an endless video": (
        floods(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", b"a" * 65536),
        SkipReason.UNSUPPORTED,
    ),
    "an image posing as a page": (Reply(b"\x89PNG\r\n\x1a\n..."), SkipReason.UNSUPPORTED),
    "an archive posing as text": (Reply(b"PK\x03\x04...", "text/plain"), SkipReason.UNSUPPORTED),
    "a program posing as nothing": (Reply(b"\x7fELF...", ""), SkipReason.UNSUPPORTED),
    "bytes posing as a page": (Reply(b"<p>\x00\x01\x02</p>"), SkipReason.UNSUPPORTED),
    "a page posing as nothing readable": (
        Reply(b"MZ\x90\x00", "application/octet-stream"),
        SkipReason.UNSUPPORTED,
    ),
    "no PDF": (Reply(b"Not a PDF", "application/pdf"), SkipReason.UNSUPPORTED),
    "an endless unknown": (floods(b"HTTP/1.1 200 OK\r\n\r\n", b"\x00" * 65536), SkipReason.UNSUPPORTED),
    "no content": (Reply(b""), SkipReason.EMPTY),
    "only white space": (Reply(b" \n" * 99), SkipReason.EMPTY),
    "no content by status": (raw(b"HTTP/1.1 204 No Content\r\n\r\n"), SkipReason.EMPTY),
    # redirects
    "a redirect in circles": (raw(b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"), SkipReason.REDIRECTS),
    "a redirect to nowhere": (raw(b"HTTP/1.1 302 Found\r\n\r\n"), SkipReason.REDIRECTS),
    "a redirect to an empty address": (raw(b"HTTP/1.1 302 Found\r\nLocation:\r\n\r\n"), SkipReason.REDIRECTS),
    "a redirect to a script": (
        raw(b"HTTP/1.1 302 Found\r\nLocation: javascript:x\r\n\r\n"),
        SkipReason.BLOCKED,
    ),
    "a redirect to bytes": (
        raw(b"HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe/\r\n\r\n"),
        SkipReason.BLOCKED,
    ),
    "a redirect to metadata": (
        raw(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n"),
        SkipReason.BLOCKED,
    ),
    "a redirect to a database": (
        raw(b"HTTP/1.1 302 Found\r\nLocation: //127.0.0.1:6379/\r\n\r\n"),
        SkipReason.BLOCKED,
    ),
    "a redirect to a socket": (
        raw(b"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1/\r\n\r\n"),
        SkipReason.BLOCKED,
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_each_hostile_reply_has_its_outcome(case: str) -> None:
    route, reason = CASES[case]
    async with (
        LoopbackWeb({"/": route, "/fine": html("<p>fine</p>")}) as web,
        SafeWeb(allowlist=web.allowlist, tls=TLS) as safe,
    ):
        began = time.monotonic()
        with pytest.raises(Unreadable) as caught:
            await safe(web.url("/"), KNOBS)
        assert caught.value.reason is reason, caught.value
        assert time.monotonic() - began < KNOBS.page_timeout + 3  # those that hang never end
        assert (await safe(web.url("/fine"), PATIENT)).body  # the client is none the worse for it


async def test_unknown_headers_and_odd_charsets_do_no_harm() -> None:
    odd = raw(
        b'HTTP/1.1 200 \r\nContent-Type: text/html; charset="zlib"; charset=rot13; x=\xff\r\nX-\xc3\xbc: \xff\r\n'
        b"Content-Length: 5\r\n\r\n<p>hi"
    )
    fine = raw(
        b"HTTP/1.1 200 OK\r\ncontent-type: TEXT/HTML;charset=undefined;\r\nContent-Length: 5\r\n\r\n<p>hi"
    )
    async with (
        LoopbackWeb({"/odd": odd, "/fine": fine}) as web,
        SafeWeb(allowlist=web.allowlist, tls=TLS) as safe,
    ):
        with pytest.raises(Unreadable) as caught:
            await safe(web.url("/odd"), KNOBS)
        assert caught.value.reason is SkipReason.NETWORK
        document = await safe(web.url("/fine"), PATIENT)
        assert (document.media_type, document.charset, document.body) == ("text/html", "undefined", b"<p>hi")


async def test_a_bomb_is_noticed_before_it_is_in_memory() -> None:
    async with (
        LoopbackWeb({"/": packed(BOMB, "gzip")}) as web,
        SafeWeb(allowlist=web.allowlist, tls=TLS) as safe,
    ):
        tracemalloc.start()
        try:
            with pytest.raises(Unreadable):
                await safe(web.url("/"), KNOBS)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 8_000_000


async def test_random_bytes_never_raise_anything_else() -> None:
    dice = random.Random(7)
    starts = (
        b"",
        b"HTTP/1.1 ",
        b"HTTP/1.1 200 OK\r\n",
        OK + b"\r\n",
        CHUNKED,
        b"HTTP/1.1 302 Found\r\nLocation: ",
    )
    routes: dict[str, Route] = {
        f"/{number}": raw(dice.choice(starts) + dice.randbytes(dice.randrange(1, 400)))
        for number in range(80)
    }
    async with LoopbackWeb(routes) as web, SafeWeb(allowlist=web.allowlist, tls=TLS) as safe:
        outcomes = await asyncio.gather(
            *(safe(web.url(path), KNOBS) for path in routes), return_exceptions=True
        )
    strange = [one for one in outcomes if isinstance(one, BaseException) and not isinstance(one, Unreadable)]
    assert strange == []


async def test_hostile_pages_do_not_delay_the_others() -> None:
    hosts = tuple(f"127.0.0.{number}" for number in range(2, 9))
    routes: dict[str, Route] = {
        "/drip": drips(OK + b"\r\n"),
        "/hang": never_answers,
        "/fine": html("<p>fine</p>"),
    }
    async with LoopbackWeb(routes, hosts=hosts) as web, SafeWeb(allowlist=web.allowlist, tls=TLS) as safe:
        bad = [
            asyncio.create_task(safe(web.url(path, host), KNOBS))
            for host in hosts[1:]
            for path in ("/drip", "/hang")
        ]
        fine = await asyncio.gather(*(safe(web.url("/fine", hosts[0]), PATIENT) for _ in range(6)))
        assert not any(task.done() for task in bad)
        assert len(fine) == 6
        for outcome in await asyncio.gather(*bad, return_exceptions=True):
            assert isinstance(outcome, Unreadable) and outcome.reason is SkipReason.TIMEOUT
