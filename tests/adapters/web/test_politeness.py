"""Runs share hosts: each has its turn, and what a host refuses one of them closes it to the others for a moment only."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import count

import pytest

from core.adapters.web.politeness import HostLimits
from core.adapters.web.safe_client import SafeWeb
from core.config.knobs import ReadKnobs
from core.model import Article, Document, Extractor, Hit, HitOrigin, SkipReason, Unreadable
from core.reading import extract
from core.run.events import Event, PageSkipped
from core.run.page_request import Requester, page_request
from core.stages.read import read
from tests.loopback import TLS, LoopbackWeb, Reply, Request

HOST = "host.example"
WAIT = Reply(status=429, headers={"Retry-After": "3600"})
PROSE = "A paragraph is a group of sentences about one thing, and most readers look at its first sentence. "
PAGE = Reply(f"<html><title>Page</title><article><p>{PROSE * 4}</p></article></html>".encode())
KNOBS = ReadKnobs(robots=False)


def closed_for(limits: HostLimits, run: Requester, url: str = "https://host.example/new") -> float:
    """Seconds for which the run leaves a page of the host alone."""
    with page_request(run):
        try:
            limits.check_backoff(HOST, url)
        except Unreadable as why:
            return float(why.detail.partition(" wait for ")[2].partition(" s ")[0])
    return 0.0


def refuse(limits: HostLimits, run: Requester, seconds: float = 3600, *, pages: int = 2) -> None:
    """The host refuses so many pages that it has not refused before."""
    with page_request(run):
        for _ in range(pages):
            limits.back_off(HOST, f"https://host.example/{next(_numbers)}", seconds, "HTTP 429")


_numbers = count()


def test_refused_run_waits_as_asked_and_others_briefly() -> None:
    limits = HostLimits(64, 3)
    refused, other = Requester(), Requester()
    refuse(limits, refused)
    assert closed_for(limits, refused) == pytest.approx(3600, abs=2)
    assert closed_for(limits, other) == pytest.approx(10, abs=1)


def test_host_that_keeps_refusing_is_left_alone_for_longer() -> None:
    limits = HostLimits(64, 3)
    waits = []
    for _ in range(5):
        refuse(limits, Requester())
        waits.append(closed_for(limits, Requester()))
    assert waits == pytest.approx([10, 60, 360, 2160, 3600], abs=2)
    limits = HostLimits(64, 3)
    refuse(limits, Requester())
    limits.answered(HOST)
    refuse(limits, Requester())
    assert closed_for(limits, Requester()) == pytest.approx(10, abs=1)


def test_one_page_that_asks_to_wait_closes_no_host() -> None:
    limits, run = HostLimits(64, 3), Requester()
    rude = "https://host.example/rude"
    with page_request(run):
        limits.back_off(HOST, rude, 60, "HTTP 429")
        limits.back_off(HOST, rude, 60, "HTTP 429")
    assert closed_for(limits, run, rude) == pytest.approx(60, abs=2)
    assert closed_for(limits, run) == 0


def test_host_that_serves_again_is_open_except_for_refused_pages() -> None:
    limits, run = HostLimits(64, 3), Requester()
    refuse(limits, run)
    limits.answered(HOST)
    assert closed_for(limits, run) == 0
    with page_request(run):
        limits.back_off(HOST, "https://host.example/rude", 60, "HTTP 429")
    assert closed_for(limits, run) == 0
    assert closed_for(limits, run, "https://host.example/rude") > 0


def test_nobody_is_asked_to_wait_for_ever() -> None:
    limits, run = HostLimits(64, 3), Requester()
    refuse(limits, run, 1e12)
    assert closed_for(limits, run) == pytest.approx(3600, abs=2)


async def test_page_that_asks_to_wait_costs_no_other_page() -> None:
    async with (
        LoopbackWeb({"/rude": WAIT, "/page": PAGE}) as web,
        SafeWeb(allowlist=web.allowlist, tls=TLS) as safe,
    ):
        with page_request(Requester()):
            with pytest.raises(Unreadable, match="asks to wait"):
                await safe(web.url("/rude"), KNOBS)
            assert (await safe(web.url("/page"), KNOBS)).status == 200
            with pytest.raises(Unreadable, match="asked to wait"):
                await safe(web.url("/rude"), KNOBS)
        assert web.count("/rude") == 1


async def test_run_gets_its_turn_at_a_busy_host() -> None:
    order: list[str] = []

    async def page(request: Request, writer: asyncio.StreamWriter) -> None:
        order.append(request.path)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>Hello.")
        await writer.drain()

    paths = [f"/many/{n}" for n in range(12)] + ["/few"]
    async with (
        LoopbackWeb(dict.fromkeys(paths, page)) as web,
        SafeWeb(allowlist=web.allowlist, per_host=1, tls=TLS) as safe,
    ):
        many, few = Requester(), Requester()

        async def fetch(path: str) -> None:
            with page_request(many if "many" in path else few):
                await safe(web.url(path), KNOBS)

        await asyncio.gather(*map(fetch, paths))
    assert order.index("/few") <= 5
    assert [path for path in order if "many" in path] == paths[:12]


async def test_a_skip_says_for_whose_turn_it_waited() -> None:
    never = asyncio.Event()

    async def silent(request: Request, writer: asyncio.StreamWriter) -> None:
        await never.wait()

    async with (
        LoopbackWeb({"/busy": silent, "/page": PAGE}) as web,
        SafeWeb(allowlist=web.allowlist, per_host=1, tls=TLS) as safe,
    ):
        with page_request(Requester()):
            busy = asyncio.create_task(safe(web.url("/busy"), ReadKnobs(robots=False, page_timeout=20)))
        while not web.count("/busy"):
            await asyncio.sleep(0.01)
        events: list[Event] = []
        knobs = ReadKnobs(robots=False, deadline=1.5)
        pages = [page async for page in read(_hit(web.url("/page")), knobs, safe, _extract, events.append)]
        busy.cancel()
        await asyncio.gather(busy, return_exceptions=True)
    assert all(page.snippet_only for page in pages)
    (skip,) = (event.skip for event in events if isinstance(event, PageSkipped))
    assert skip.reason is SkipReason.DEADLINE
    assert skip.detail.endswith("it waited for its turn at 127.0.0.1: 1 other run")


async def _hit(url: str) -> AsyncGenerator[Hit]:
    yield Hit(
        key=url,
        url=url,
        title="",
        snippet="A snippet.",
        found=(HitOrigin(query="", rank=1, engines=()),),
        score=1,
    )


async def _extract(document: Document, extractor: Extractor) -> Article:
    return extract(document, extractor)
