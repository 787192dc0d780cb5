"""What a hostile web does to the client and to the pages of others. tests/hostile tells what becomes of each reply."""

import asyncio
import random
import tracemalloc
from dataclasses import replace

import pytest

from core.adapters.web.safe_client import SafeWeb
from core.config.knobs import ReadKnobs
from core.model import SkipReason, Unreadable
from tests.hostile.replies import BOMB, CHUNKED, OK, REPLIES, drips, never_answers, packed
from tests.loopback import TLS, LoopbackWeb, Route, html, raw

KNOBS = ReadKnobs(robots=False, page_timeout=30, max_megabytes=1.0)
HURRIED = replace(KNOBS, page_timeout=1.0)
"""Where running out of time is an outcome. A busy machine may need more than a second for a page that is fine."""


async def test_client_survives_every_hostile_reply() -> None:
    routes = {f"/{number}": route for number, (route, _) in enumerate(REPLIES.values())}
    async with (
        LoopbackWeb(routes | {"/fine": html("<p>fine</p>")}) as web,
        SafeWeb(allowlist=web.allowlist, tls=TLS, concurrency=len(routes), per_host=len(routes)) as safe,
    ):
        outcomes = await asyncio.gather(
            *(safe(web.url(path), HURRIED) for path in routes), return_exceptions=True
        )
        assert all(isinstance(outcome, Unreadable) for outcome in outcomes)
        assert (await safe(web.url("/fine"), KNOBS)).body


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
        document = await safe(web.url("/fine"), KNOBS)
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
            *(safe(web.url(path), HURRIED) for path in routes), return_exceptions=True
        )
    strange = [
        outcome
        for outcome in outcomes
        if isinstance(outcome, BaseException) and not isinstance(outcome, Unreadable)
    ]
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
        fine = await asyncio.gather(*(safe(web.url("/fine", hosts[0]), KNOBS) for _ in range(6)))
        assert not any(task.done() for task in bad)
        assert len(fine) == 6
        for task in bad:
            task.cancel()
        await asyncio.gather(*bad, return_exceptions=True)
