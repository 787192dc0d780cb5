"""Pages and articles kept from earlier runs."""

from pathlib import Path

import pytest

from core.adapters.cache.disk_cache import DiskCache
from core.adapters.cache.page_cache import CachedExtract, CachedWeb
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_client import SafeWeb
from core.config.knobs import ReadKnobs
from core.model import Article, Document, Extractor, SkipReason, Unreadable
from core.text.http_headers import UNSAID, freshness_lifetime
from tests.services.loopback import Loopback, Reply, Request

NOW = 1_700_000_000.0
DATE = {"date": "Tue, 14 Nov 2023 22:13:20 GMT"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, UNSAID),
        ({"cache-control": "max-age=60"}, 60),
        ({"cache-control": "public, max-age=60", "age": "45"}, 15),
        ({"cache-control": "max-age=60, s-maxage=10"}, 10),
        ({"cache-control": 'max-age="60"'}, 60),
        ({"cache-control": "max-age=10", "age": "45"}, 0),
        ({"cache-control": "no-store"}, 0),
        ({"cache-control": "No-Cache, max-age=60"}, 0),
        ({"cache-control": "private, max-age=60"}, 0),
        ({"vary": "*"}, 0),
        ({"vary": "Accept-Encoding, Cookie", "cache-control": "max-age=60"}, 0),
        ({"vary": "Accept-Encoding", "cache-control": "max-age=60"}, 60),
        ({**DATE, "expires": "Tue, 14 Nov 2023 22:14:20 GMT"}, 60),
        ({**DATE, "expires": "0"}, 0),
        ({**DATE, "last-modified": "Tue, 14 Nov 2023 21:13:20 GMT"}, 360),
        ({**DATE, "last-modified": "Mon, 14 Nov 2005 21:13:20 GMT"}, 24 * 3600),
        ({**DATE, "last-modified": "Tue, 14 Nov 2023 21:13:20 GMT", "age": "100"}, 260),
        ({**DATE, "last-modified": "Mon, 14 Nov 2005 21:13:20 GMT", "age": "86500"}, 0),
        ({"last-modified": "yesterday"}, UNSAID),
        ({"age": "100"}, UNSAID - 100),
        ({"age": "1000"}, 0),
    ],
)
def test_page_is_kept_as_long_as_headers_allow(headers: dict[str, str], seconds: float) -> None:
    assert freshness_lifetime(headers, NOW) == pytest.approx(seconds)


class Site:
    """A `Web` of one page, which counts how often it is asked."""

    def __init__(self, max_age: float = 60, body: bytes = b"<p>Words.</p>") -> None:
        self.max_age, self.body, self.asked = max_age, body, 0

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        self.asked += 1
        if not self.body:
            raise Unreadable(SkipReason.STATUS, "404")
        return Document(
            url=url, status=200, media_type="text/html", charset=None, body=self.body, max_age=self.max_age
        )

    async def cached_page(self, url: str) -> Document | None:
        return None


async def test_a_fresh_page_is_fetched_once_across_restarts(tmp_path: Path) -> None:
    site = Site(body=b"a\tb\nc\x00\xff")
    cache = WriteBehindCache(DiskCache(tmp_path / "c", 10))
    first = await CachedWeb(site, cache)("https://a.example/x?utm_source=y", ReadKnobs())
    await cache.flush()
    again = await CachedWeb(site, WriteBehindCache(DiskCache(tmp_path / "c", 10)))(
        "https://www.a.example/x/", ReadKnobs()
    )
    assert site.asked == 1
    assert (again.body, again.url, again.media_type) == (first.body, first.url, first.media_type)
    assert again.from_cache
    assert not first.from_cache


async def test_unencrypted_page_is_not_served_for_a_tls_address(tmp_path: Path) -> None:
    site = Site()
    web = CachedWeb(site, WriteBehindCache(DiskCache(tmp_path / "c", 10)))
    await web("http://a.example/", ReadKnobs())
    await web("https://a.example/", ReadKnobs())
    assert site.asked == 2


async def test_the_fresh_knob_fetches_anew(tmp_path: Path) -> None:
    site = Site()
    web = CachedWeb(site, WriteBehindCache(DiskCache(tmp_path / "c", 10)))
    await web("https://a.example/", ReadKnobs())
    await web("https://a.example/", ReadKnobs(fresh=True))
    assert site.asked == 2


@pytest.mark.parametrize("max_age", [0.0, -1.0])
async def test_a_page_that_may_not_be_kept_is_not(tmp_path: Path, max_age: float) -> None:
    site = Site(max_age=max_age)
    web = CachedWeb(site, WriteBehindCache(DiskCache(tmp_path / "c", 10)))
    await web("https://a.example/", ReadKnobs())
    await web("https://a.example/", ReadKnobs())
    assert site.asked == 2


async def test_failures_are_not_remembered(tmp_path: Path) -> None:
    site = Site(body=b"")
    web = CachedWeb(site, WriteBehindCache(DiskCache(tmp_path / "c", 10)))
    for _ in range(2):
        with pytest.raises(Unreadable):
            await web("https://a.example/", ReadKnobs())
    assert site.asked == 2


async def test_a_body_is_extracted_once_by_each_extractor(tmp_path: Path) -> None:
    extractors: list[Extractor] = []

    async def extract(document: Document, extractor: Extractor) -> Article:
        extractors.append(extractor)
        if not document.body.strip():
            raise Unreadable(SkipReason.EMPTY)
        return Article(text="Words.", extractor=extractor, page_starts=(0, 3), seconds=0.5)

    site = Site()
    document = await site("https://a.example/", ReadKnobs())
    for _ in range(2):
        cache = WriteBehindCache(DiskCache(tmp_path / "c", 10))
        cached = CachedExtract(extract, cache)
        accurate = await cached(document, Extractor.ACCURATE)
        await cache.flush()
    assert (accurate.text, accurate.page_starts, accurate.seconds) == ("Words.", (0, 3), 0.0)
    await cached(document, Extractor.FAST)
    assert extractors == [Extractor.ACCURATE, Extractor.FAST]


async def test_a_real_page_is_kept_as_its_server_says(tmp_path: Path) -> None:
    def html(**headers: str) -> Reply:
        header_fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return Reply((b"<p>Words.</p>",), content_type="text/html", headers=header_fields)

    pages = {"/kept": html(cache_control="max-age=60"), "/not": html(cache_control="no-store")}

    async def answer(request: Request) -> Reply:
        return pages[request.path]

    with Loopback(answer) as site:
        allowlist = AddressAllowlist.parse(f"127.0.0.1:{site.port}")
        async with SafeWeb(allowlist=allowlist) as safe:
            web = CachedWeb(safe, WriteBehindCache(DiskCache(tmp_path / "c", 10)))
            for path in ("/kept", "/kept", "/not", "/not"):
                await web(site.url + path, ReadKnobs(robots=False))
        paths = [request.path for request in site.requests]
    assert paths == ["/kept", "/not", "/not"]
