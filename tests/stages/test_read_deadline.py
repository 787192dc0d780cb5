"""The phase's clock starts with its first hit, not with the run."""

import asyncio
from collections.abc import AsyncGenerator

from core.config.knobs import ReadKnobs
from core.model import Article, Document, Extractor, Hit
from core.stages.read import read
from core.stages.streams import collected


async def test_slow_model_does_not_use_up_the_page_time() -> None:
    async def thinking() -> AsyncGenerator[Hit]:
        await asyncio.sleep(0.15)
        yield Hit(key="one", url="https://one.example/", title="", snippet="", found=(), score=1.0)

    async def web(url: str, knobs: ReadKnobs) -> Document:
        return Document(url=url, status=200, media_type="text/html", charset=None, body=b"<p>Hello</p>")

    async def extract(document: Document, extractor: Extractor) -> Article:
        return Article(text="Hello", extractor="test")

    pages = await collected(read(thinking(), ReadKnobs(deadline=0.1), web, extract, lambda _: None))
    assert [page.key for page in pages] == ["one"]
