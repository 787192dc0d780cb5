"""Fetching and reading overlap: neither holds up the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from core.flow import collected
from core.knobs import ReadKnobs
from core.model import Article, Document, Extractor, Hit
from core.stages.read import read


def _hits(*keys: str) -> list[Hit]:
    return [
        Hit(key=key, url=f"https://{key}.example/", title=key, snippet="", found=(), score=1.0)
        for key in keys
    ]


async def _named(hits: list[Hit]) -> AsyncGenerator[Hit]:
    for hit in hits:
        yield hit


async def _fetched(url: str, knobs: ReadKnobs) -> Document:
    return Document(url=url, status=200, media_type="text/html", charset=None, body=b"<p>Hello</p>")


async def test_a_page_that_waits_for_its_reader_lets_the_next_be_fetched() -> None:
    both_in = asyncio.Event()
    waiting: list[str] = []

    async def extract(document: Document, extractor: Extractor) -> Article:
        waiting.append(document.url)
        if len(waiting) == 2:
            both_in.set()
        await both_in.wait()
        return Article(text="Hello", extractor="test")

    knobs = ReadKnobs(concurrency=1, deadline=0, enough=0)
    stream = read(_named(_hits("one", "two")), knobs, _fetched, extract, lambda _: None)
    pages = await asyncio.wait_for(collected(stream), 10)
    assert {page.key for page in pages} == {"one", "two"}


async def test_no_more_pages_are_fetched_at_once_than_the_knob_says() -> None:
    under_way, most = 0, 0

    async def web(url: str, knobs: ReadKnobs) -> Document:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return await _fetched(url, knobs)

    async def extract(document: Document, extractor: Extractor) -> Article:
        return Article(text="Hello", extractor="test")

    knobs = ReadKnobs(concurrency=3, deadline=0, enough=0)
    stream = read(_named(_hits(*"abcdefgh")), knobs, web, extract, lambda _: None)
    assert len(await collected(stream)) == 8
    assert most == 3
