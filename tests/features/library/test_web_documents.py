"""Documents from the web: addresses of any kind of file, and sitemaps, within limits and politely."""

import gzip
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
import pytest_asyncio

from core.adapters.web.safe_client import SafeWeb
from core.features.library.ingests import Address, IngestLimits, IngestSource, Sitemap
from tests.bombs import gzip_file
from tests.features.library.conftest import OpenLibrary
from tests.features.library.sample_library import outcomes
from tests.loopback import TLS, LoopbackWeb, Reply, Route, html, redirect
from tests.reading.office_files import docx, packed
from tests.reading.test_pdf import pdf

pytestmark = pytest.mark.asyncio(loop_scope="package")

ARTICLE = html(
    f"<title>Mills</title><article><p>{'Windmills turn in the wind that blows from the sea. ' * 9}</p></article>"
)


def urls(*paths: str, tag: str = "urlset") -> bytes:
    """A sitemap of these paths on the host that serves it, or of these addresses."""
    inner = "urlset" if tag == "urlset" else "sitemapindex"
    entries = "".join(f"<x><loc>{path}</loc></x>" for path in paths)
    return f"<?xml version='1.0'?><{inner} xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</{inner}>".encode()


Added = Callable[..., Awaitable[dict[str, str]]]
"""Adds sources with a client that may call one server, and gives the outcome of each task by its path there."""


@pytest_asyncio.fixture(loop_scope="package")
async def added(open_library: OpenLibrary) -> Added:
    async def add(web: LoopbackWeb, *sources: IngestSource, **more: Any) -> dict[str, str]:
        async with SafeWeb(allowlist=web.allowlist, tls=TLS) as client:
            books = open_library(web=client, **more)
            finished = await books.add(*sources)
            urls_by_source = {document.source: document.url for document in await books.documents("books")}
            assert all(
                url == name or "redirect" in name or "zip" in name for name, url in urls_by_source.items()
            )
        return {name.removeprefix(web.url("")): reason for name, reason in outcomes(finished).items()}

    return add


def served(routes: Mapping[str, Route]) -> LoopbackWeb:
    return LoopbackWeb({"/robots.txt": Reply(status=404), **routes})


async def test_addresses_of_every_kind_are_added_and_dead_explained(added: Added) -> None:
    routes = {
        "/article": ARTICLE,
        "/paper.pdf": Reply(pdf(["Water wheels turn in rivers."]), "application/octet-stream"),
        "/letter": Reply(docx("Bread is baked in ovens."), "application/msword"),
        "/rows": Reply(b"Mill,Built\nZaan,1700\n", "text/csv"),
        "/pack.zip": Reply(packed({"a.txt": "Words of a.", "b.txt": "Words of b."}), "application/zip"),
        "/picture": Reply(b"\x89PNG\r\n\x1a\n" + bytes(2_000), "image/png"),
        "/gone": Reply(status=404),
        "/large.txt": Reply(b"x" * 300_000, "text/plain"),
        "/redirect": redirect("/article"),
    }
    async with served(routes) as web:
        addresses = [Address(web.url(path)) for path in routes]
        reasons = await added(web, *addresses, limits=IngestLimits(file=200_000))
    assert reasons["/paper.pdf"] == reasons["/letter"] == reasons["/rows"] == "done"
    assert {reasons["/article"], reasons["/redirect"]} <= {
        "done",
        "skipped: the same file as another one being added",
        f"skipped: already there as “{web.url('/article')}”",
        f"skipped: already there as “{web.url('/redirect')}”",
    }
    assert reasons["/pack.zip"] == "done: a zip of 2 files"
    assert reasons["/pack.zip/a.txt"] == "done"
    assert "a PNG image" in reasons["/picture"]
    assert "404" in reasons["/gone"]
    assert "0.2 MB" in reasons["/large.txt"]


async def test_private_addresses_are_not_fetched(open_library: OpenLibrary) -> None:
    async with SafeWeb(tls=TLS) as client:
        books = open_library(web=client)
        metadata = Address("http://169.254.169.254/latest/meta-data")
        finished = await books.add(
            Address("http://127.0.0.1/x"), metadata, Sitemap("http://[::1]/sitemap.xml")
        )
    assert all("address not allowed" in reason for reason in outcomes(finished).values())


async def test_addresses_that_robots_txt_disallows_are_not_fetched(added: Added) -> None:
    async with LoopbackWeb(
        {"/robots.txt": Reply(b"User-agent: *\nDisallow: /x", "text/plain"), "/x": ARTICLE}
    ) as web:
        reasons = await added(web, Address(web.url("/x")))
        assert web.count("/x") == 0
    assert "robots.txt" in reasons["/x"]


async def test_nested_and_packed_sitemaps_add_addresses_of_their_host(added: Added) -> None:
    async with served({}) as web:
        web.routes |= {
            "/sitemap.xml": Reply(
                urls(web.url("/one.xml.gz"), web.url("/dead.xml"), web.url("/sitemap.xml"), tag="index"),
                "application/xml",
            ),
            "/one.xml.gz": Reply(
                gzip.compress(
                    urls(web.url("/a"), web.url("/b"), web.url("/a"), "http://elsewhere.example/c")
                ),
                "application/gzip",
            ),
            "/a": ARTICLE,
            "/b": html(f"<p>{'Water wheels turn in the rivers of the hills. ' * 9}</p>"),
        }
        reasons = await added(web, Sitemap(web.url("/sitemap.xml")))
        assert web.count("/sitemap.xml") == 1
    left_out = "1 address on other hosts, 1 sitemap that could not be read"
    assert reasons == {"/sitemap.xml": f"done: left out: {left_out}", "/a": "done", "/b": "done"}


async def test_sitemap_of_too_many_addresses_is_cut_and_says_so(added: Added) -> None:
    async with served({"/a0": ARTICLE}) as web:
        web.routes["/sitemap.xml"] = Reply(urls(*(web.url(f"/a{n}") for n in range(50))), "text/xml")
        reasons = await added(web, Sitemap(web.url("/sitemap.xml")), limits=IngestLimits(files=5))
    assert "addresses beyond the limit" in reasons["/sitemap.xml"]
    assert len(reasons) == 6


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (html("<p>No sitemap."), "no sitemap"),
        (Reply(gzip_file(b" ", 60), "application/gzip"), "52 MB"),
        (Reply(urls("http://elsewhere.example/"), "text/xml"), "no address on its own host"),
        (Reply(status=500), "500"),
    ],
)
async def test_a_sitemap_that_cannot_be_used_has_its_reason(added: Added, reply: Reply, words: str) -> None:
    async with served({"/sitemap.xml": reply}) as web:
        (reason,) = (await added(web, Sitemap(web.url("/sitemap.xml")))).values()
    assert words in reason
