"""Fetching and reading overlap: neither holds up the other."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from core.config.knobs import ReadKnobs
from core.errors import ReadFailed
from core.model import CAPTCHA, Article, Document, Extractor, Hit, SkipReason, Unreadable
from core.run.events import Event, Note, PageSkipped
from core.stages.read import read
from core.stages.streams import collected

QUIET = 0.05
"""Seconds of nothing before the early cut."""


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


async def test_page_waiting_for_its_reader_lets_the_next_be_fetched() -> None:
    both_in = asyncio.Event()
    waiting: list[str] = []

    async def extract(document: Document, extractor: Extractor) -> Article:
        waiting.append(document.url)
        if len(waiting) == 2:
            both_in.set()
        await both_in.wait()
        return Article(text="Hello", extractor="test")

    knobs = ReadKnobs(concurrency=1, deadline=0, early_cut_percent=0)
    stream = read(_named(_hits("one", "two")), knobs, _fetched, extract, lambda _: None)
    pages = await asyncio.wait_for(collected(stream), 10)
    assert {page.key for page in pages} == {"one", "two"}


@pytest.mark.parametrize(
    ("knobs", "limit"),
    [
        (ReadKnobs(concurrency=3, deadline=0, early_cut_percent=0), 3),
        (ReadKnobs(deadline=0, early_cut_percent=0), 64),
    ],
)
async def test_pages_fetched_at_once_stay_within_the_knob(knobs: ReadKnobs, limit: int) -> None:
    under_way, most = 0, 0

    async def web(url: str, knobs: ReadKnobs) -> Document:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(10):
            await asyncio.sleep(0)
        under_way -= 1
        return await _fetched(url, knobs)

    async def extract(document: Document, extractor: Extractor) -> Article:
        return Article(text="Hello", extractor="test")

    stream = read(_named(_hits(*(f"h{n}" for n in range(80)))), knobs, web, extract, lambda _: None)
    assert len(await collected(stream)) == 80
    assert most == limit


@pytest.mark.parametrize("snippet", ["", "Hello there."])
async def test_reasons_are_counted_if_no_page_can_be_read(snippet: str) -> None:
    async def web(url: str, knobs: ReadKnobs) -> Document:
        if "c" in url.partition(".")[0][-1]:
            raise Unreadable(SkipReason.NEEDS_JAVASCRIPT, CAPTCHA)
        raise Unreadable(SkipReason.STATUS, "HTTP 403 Forbidden")

    async def extract(document: Document, extractor: Extractor) -> Article:
        raise AssertionError("no page was fetched")

    told: list[Event] = []
    hits = [replace(hit, snippet=snippet) for hit in _hits("a", "b", "c")]
    reading = collected(read(_named(hits), ReadKnobs(), web, extract, told.append))
    if snippet:
        assert all(page.snippet_only for page in await reading)
        (message,) = [event.message for event in told if isinstance(event, Note)]
    else:
        with pytest.raises(ReadFailed) as caught:
            await reading
        message = caught.value.message
    assert "2 × HTTP 403 Forbidden, 1 × the page asks for a captcha" in message


@pytest.mark.parametrize(("title", "shown"), [("Of the article", "Of the article"), ("", "one")])
async def test_untitled_article_has_the_title_of_its_result(title: str, shown: str) -> None:
    async def extract(document: Document, extractor: Extractor) -> Article:
        return Article(text="Hello", extractor="test", title=title)

    (page,) = await collected(read(_named(_hits("one")), ReadKnobs(), _fetched, extract, lambda _: None))
    assert page.title == shown


async def test_fast_refusals_do_not_cut_off_the_first_readable_page() -> None:
    refused = 0
    all_refused = asyncio.Event()

    async def web(url: str, knobs: ReadKnobs) -> Document:
        nonlocal refused
        if "slow" not in url:
            refused += 1
            if refused == 9:
                all_refused.set()
            raise Unreadable(SkipReason.STATUS, "HTTP 403 Forbidden")
        await all_refused.wait()
        await asyncio.sleep(4 * QUIET)  # what a page takes; nothing is waited for here
        return await _fetched(url, knobs)

    async def extract(document: Document, extractor: Extractor) -> Article:
        return Article(text="Hello", extractor="test")

    stream = read(
        _named(_hits("slow", *"abcdefghi")), ReadKnobs(early_cut_idle=QUIET), web, extract, lambda _: None
    )
    assert [page.key for page in await collected(stream)] == ["slow"]


async def test_straggler_is_cut_after_a_read_page_with_its_reason() -> None:
    async def web(url: str, knobs: ReadKnobs) -> Document:
        if "never" in url:
            await asyncio.Event().wait()
        if "bot" in url:
            raise Unreadable(SkipReason.STATUS, "HTTP 403 Forbidden")
        return await _fetched(url, knobs)

    async def extract(document: Document, extractor: Extractor) -> Article:
        return Article(text="Hello", extractor="test")

    hits = _hits("never", "read", *(f"bot{n}" for n in range(8)))
    told: list[Event] = []
    stream = read(_named(hits), ReadKnobs(early_cut_idle=QUIET, deadline=0), web, extract, told.append)
    assert [page.key for page in await collected(stream)] == ["read"]
    cut = next(event.skip for event in told if isinstance(event, PageSkipped) and event.skip.key == "never")
    assert cut.reason is SkipReason.CUT
    assert cut.detail == "9 of 10 pages were read or refused, and none came for 0.05 s"


async def test_page_without_a_title_has_that_of_its_result() -> None:
    async def extract(document: Document, extractor: Extractor) -> Article:
        return Article(text="Hello", extractor="test", title="Own title" if "one" in document.url else "")

    stream = read(
        _named(_hits("one", "two")), ReadKnobs(early_cut_percent=0), _fetched, extract, lambda _: None
    )
    assert {page.key: page.title for page in await collected(stream)} == {"one": "Own title", "two": "two"}
