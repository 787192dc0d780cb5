"""The safe web client: what it fetches, how it behaves towards sites, and how it says why not."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_client import SafeWeb
from core.config.knobs import ReadKnobs
from core.model import SkipReason, Unreadable
from tests.loopback import TLS, LoopbackWeb, Reply, Request, Route, html, redirect

KNOBS = ReadKnobs(robots=False)
HELLO = html("<p>Hello</p>")


@pytest.fixture
async def loopback() -> AsyncIterator[LoopbackWeb]:
    async with LoopbackWeb({"/": HELLO}) as web:
        yield web


@pytest.fixture
async def safe(loopback: LoopbackWeb) -> AsyncIterator[SafeWeb]:
    async with SafeWeb(allowlist=loopback.allowlist, tls=TLS) as web:
        yield web


async def refusal(safe: SafeWeb, url: str, knobs: ReadKnobs = KNOBS) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        await safe(url, knobs)
    return caught.value


class TestPages:
    async def test_a_page_comes_with_its_address_type_and_charset(
        self, loopback: LoopbackWeb, safe: SafeWeb
    ) -> None:
        loopback.routes["/a?b=c"] = Reply("<p>Grüße</p>".encode("latin-1"), "Text/HTML; Charset=ISO-8859-1")
        document = await safe(loopback.url("/a?b=c#part"), KNOBS)
        assert document.url == loopback.url("/a?b=c")
        assert (document.status, document.media_type, document.charset) == (200, "text/html", "ISO-8859-1")
        assert document.body == "<p>Grüße</p>".encode("latin-1")

    @pytest.mark.parametrize(
        ("encoding", "packed"),
        [
            ("gzip", gzip.compress(HELLO.body)),
            ("x-gzip", gzip.compress(HELLO.body[:9]) + gzip.compress(HELLO.body[9:])),
            ("gzip", gzip.compress(HELLO.body) + b"\0" * 9),
            ("deflate", zlib.compress(HELLO.body)),
            ("deflate", zlib.compress(HELLO.body)[2:-4]),
            ("identity", HELLO.body),
        ],
        ids=["gzip", "gzip in two members", "gzip with padding", "zlib", "bare deflate", "identity"],
    )
    async def test_compressed_pages_are_unpacked(
        self, loopback: LoopbackWeb, safe: SafeWeb, encoding: str, packed: bytes
    ) -> None:
        loopback.routes["/"] = Reply(packed, headers={"Content-Encoding": encoding})
        assert (await safe(loopback.url("/"), KNOBS)).body == HELLO.body

    @pytest.mark.parametrize(
        ("declared", "body", "media_type"),
        [
            ("application/xhtml+xml", b"<html/>", "application/xhtml+xml"),
            ("application/pdf", b"%PDF-1.7 ...", "application/pdf"),
            ("application/octet-stream", b"%PDF-1.7 ...", "application/pdf"),
            ("text/plain", b"plain words", "text/plain"),
            ("text/plain", b"<!doctype html><p>x", "text/html"),
            ("application/pdf", b"<!DOCTYPE html><html>", "text/html"),
            ("text/x-markdown", b"# Title", "text/markdown"),
            ("application/vnd.api+json", b'{"a": 1}', "application/json"),
            ("application/rss+xml", b"<rss/>", "application/xml"),
            ("", b"\xef\xbb\xbf  <!-- x --> <HTML>", "text/html"),
            ("", b'<?xml version="1.0"?><feed/>', "application/xml"),
            ("", b'[{"a": 1}]', "application/json"),
            ("", "schlichte Wörter".encode(), "text/plain"),
            ("text/html; charset=utf-16", "<p>x".encode("utf-16"), "text/html"),
        ],
    )
    async def test_the_type_is_judged_by_header_and_first_bytes(
        self, loopback: LoopbackWeb, safe: SafeWeb, declared: str, body: bytes, media_type: str
    ) -> None:
        loopback.routes["/"] = Reply(body, declared)
        assert (await safe(loopback.url("/"), KNOBS)).media_type == media_type

    async def test_requests_say_truthfully_who_asks_and_carry_nothing_else(
        self, loopback: LoopbackWeb
    ) -> None:
        loopback.routes["/"] = Reply(HELLO.body, headers={"Set-Cookie": "id=1; Path=/"})
        async with SafeWeb(
            allowlist=loopback.allowlist, user_agent="Reader/2 (+https://reader.example)"
        ) as safe:
            await safe(loopback.url("/"), KNOBS)
            await safe(loopback.url("/"), KNOBS)
        for request in loopback.requests:
            assert request.headers["user-agent"] == "Reader/2 (+https://reader.example)"
            assert request.headers["accept-encoding"] == "gzip, deflate"
            assert set(request.headers) == {"host", "user-agent", "accept", "accept-encoding"}

    async def test_pages_of_a_host_share_its_connections(self, loopback: LoopbackWeb, safe: SafeWeb) -> None:
        for _ in range(5):
            await safe(loopback.url("/"), KNOBS)
        await asyncio.gather(*(safe(loopback.url("/"), KNOBS) for _ in range(12)))
        assert loopback.connections <= 3

    async def test_a_kept_connection_that_went_stale_is_replaced(
        self, loopback: LoopbackWeb, safe: SafeWeb
    ) -> None:
        async def once_then_silence(request: Request, writer: asyncio.StreamWriter) -> None:
            if loopback.count("/") == 2:
                writer.close()  # read the request on the kept connection, then hang up without a word
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")

        loopback.routes["/"] = once_then_silence
        assert (await safe(loopback.url("/"), KNOBS)).body == b"hi"
        assert (await safe(loopback.url("/"), KNOBS)).body == b"hi"
        assert loopback.count("/") == 3


class TestRedirects:
    async def test_they_are_followed_and_the_last_address_counts(
        self, loopback: LoopbackWeb, safe: SafeWeb
    ) -> None:
        loopback.routes |= {
            "/a": redirect("b?x=1", 301),
            "/b?x=1": redirect(loopback.url("/c"), 308),
            "/c": HELLO,
        }
        assert (await safe(loopback.url("/a"), KNOBS)).url == loopback.url("/c")

    async def test_the_body_of_a_redirect_is_never_read(self, loopback: LoopbackWeb, safe: SafeWeb) -> None:
        async def endless(request: Request, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nTransfer-Encoding: chunked\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"5\r\nhello\r\n")
                await writer.drain()
                await asyncio.sleep(0)

        loopback.routes |= {"/a": endless, "/b": HELLO}
        assert (await safe(loopback.url("/a"), KNOBS)).body == HELLO.body

    async def test_circles_and_long_ways_end(self, loopback: LoopbackWeb, safe: SafeWeb) -> None:
        loopback.routes |= {"/a": redirect("/b"), "/b": redirect("/a")}
        loopback.routes |= {f"/{step}": redirect(f"/{step + 1}") for step in range(9)}
        loopback.routes |= {"/nowhere": Reply(status=302)}
        for path in ("/a", "/0", "/nowhere"):
            assert (await refusal(safe, loopback.url(path))).reason is SkipReason.REDIRECTS
        assert loopback.count("/5") == 1
        assert loopback.count("/6") == 0

    @pytest.mark.parametrize(
        "to",
        [
            "http://127.0.0.1:{other}/",
            "http://localhost:{other}/",
            "http://0x7f000001:{other}/",
            "//[::ffff:7f00:1]:{other}/",
            "http://169.254.169.254/",
            "file:///etc/passwd",
            "http://user@127.0.0.1:{other}/",
        ],
    )
    async def test_they_lead_to_no_forbidden_address(
        self, loopback: LoopbackWeb, safe: SafeWeb, to: str
    ) -> None:
        async with LoopbackWeb({"/": HELLO}) as other:
            loopback.routes["/a"] = redirect(to.format(other=other.port))
            assert (await refusal(safe, loopback.url("/a"))).reason is SkipReason.BLOCKED
            assert other.connections == 0


class TestAddresses:
    async def test_nothing_on_loopback_is_reached_without_a_hole(self, loopback: LoopbackWeb) -> None:
        async with SafeWeb() as safe:
            for url in (
                loopback.url("/"),
                f"http://localhost:{loopback.port}/",
                f"http://[::ffff:127.0.0.1]:{loopback.port}/",
            ):
                assert (await refusal(safe, url)).reason is SkipReason.BLOCKED
        assert loopback.connections == 0

    @pytest.mark.parametrize(
        "answer",
        [
            ["127.0.0.1"],
            ["93.184.215.14", "127.0.0.1"],
            ["::ffff:127.0.0.1"],
            ["::1"],
            ["169.254.169.254"],
            ["fe80::1%lo"],
            ["nonsense"],
        ],
    )
    async def test_a_name_with_any_address_inside_is_refused(
        self, loopback: LoopbackWeb, answer: list[str]
    ) -> None:
        async def resolve(host: str, port: int) -> list[str]:
            return answer

        async with SafeWeb(tls=TLS, resolve=resolve) as safe:
            why = await refusal(safe, "http://rebinding.example:8080/")
        assert why.reason is SkipReason.BLOCKED
        assert "rebinding.example" in why.detail
        assert loopback.connections == 0

    async def test_the_judged_address_is_the_one_connected_to(self, loopback: LoopbackWeb) -> None:
        """The name is looked up once: a second answer, as a rebinding name would give, is never asked for."""
        names: list[str] = []

        async def resolve(host: str, port: int) -> list[str]:
            names.append(host)
            return ["127.0.0.1"] if len(names) == 1 else ["169.254.169.254"]

        async with SafeWeb(allowlist=loopback.allowlist, tls=TLS, resolve=resolve) as safe:
            why = await refusal(safe, f"http://site.example:{loopback.port}/")
            assert (why.reason, names) == (SkipReason.BLOCKED, [])
        allowlist = AddressAllowlist.parse(
            f"{loopback.allowlist}, 10.0.0.0/8"
        )  # with a network open, ports wait for the look-up
        async with SafeWeb(allowlist=allowlist, tls=TLS, resolve=resolve) as safe:
            document = await safe(f"http://site.example:{loopback.port}/", KNOBS)
        assert (document.body, names) == (HELLO.body, ["site.example"])
        assert loopback.requests[0].headers["host"] == f"site.example:{loopback.port}"

    async def test_of_several_addresses_the_first_that_answers_is_taken(self, loopback: LoopbackWeb) -> None:
        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.9", "::1", "127.0.0.1"]

        allowlist = AddressAllowlist.parse("127.0.0.0/8, ::1/128")
        async with SafeWeb(allowlist=allowlist, tls=TLS, resolve=resolve) as safe:
            assert (await safe(f"http://site.example:{loopback.port}/", KNOBS)).body == HELLO.body

    async def test_a_named_hole_opens_the_name(self, loopback: LoopbackWeb) -> None:
        async with SafeWeb(allowlist=AddressAllowlist.parse(f"localhost:{loopback.port}")) as safe:
            document = await safe(f"http://localhost:{loopback.port}/", KNOBS)
        assert document.body == HELLO.body
        assert loopback.requests[0].headers["host"] == f"localhost:{loopback.port}"

    async def test_names_that_do_not_resolve_say_so(self, safe: SafeWeb) -> None:
        why = await refusal(safe, "http://nobody.invalid/")
        assert why.reason is SkipReason.NETWORK
        assert "nobody.invalid" in why.detail

    async def test_a_port_where_nobody_listens_says_so(self) -> None:
        async with LoopbackWeb({}) as stopped:
            pass
        async with SafeWeb(allowlist=stopped.allowlist) as safe:
            why = await refusal(safe, stopped.url("/"))
        assert (why.reason, why.detail) == (SkipReason.NETWORK, "could not connect: connection refused")


class TestStatuses:
    async def test_an_error_names_its_status(self, loopback: LoopbackWeb, safe: SafeWeb) -> None:
        why = await refusal(safe, loopback.url("/missing"))
        assert (why.reason, why.detail) == (SkipReason.STATUS, "HTTP 404 Not Found")

    @pytest.mark.parametrize("status", [429, 503])
    async def test_a_host_that_asks_for_rest_is_left_alone(
        self, loopback: LoopbackWeb, safe: SafeWeb, status: int
    ) -> None:
        loopback.routes["/busy"] = Reply(status=status, headers={"Retry-After": "90"})
        first = await refusal(safe, loopback.url("/busy"))
        assert first.reason is SkipReason.STATUS
        assert str(status) in first.detail and "90 s" in first.detail
        loopback.routes["/busy-too"] = loopback.routes["/busy"]
        await refusal(safe, loopback.url("/busy-too"))
        third = await refusal(safe, loopback.url("/"))
        assert third.reason is SkipReason.STATUS
        assert "asked to wait" in third.detail
        assert loopback.count("/") == 0

    async def test_busy_host_without_a_wait_may_be_asked_again(
        self, loopback: LoopbackWeb, safe: SafeWeb
    ) -> None:
        loopback.routes["/busy"] = Reply(status=429)
        assert (await refusal(safe, loopback.url("/busy"))).reason is SkipReason.STATUS
        assert (await safe(loopback.url("/"), KNOBS)).status == 200


class TestManners:
    async def test_at_most_three_pages_of_a_host_at_once(self, loopback: LoopbackWeb, safe: SafeWeb) -> None:
        everyone = asyncio.Event()

        async def together(request: Request, writer: asyncio.StreamWriter) -> None:
            if loopback.most_at_once == 3:
                everyone.set()
            await everyone.wait()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")

        loopback.routes |= {f"/{page}": together for page in range(9)}
        await asyncio.gather(*(safe(loopback.url(f"/{page}"), KNOBS) for page in range(9)))
        assert loopback.most_at_once == 3

    async def test_a_host_that_hangs_keeps_no_place_from_others(self) -> None:
        async def hang(request: Request, writer: asyncio.StreamWriter) -> None:
            await asyncio.Event().wait()

        async with (
            LoopbackWeb({"/": HELLO, "/hang": hang}, hosts=("127.0.0.1", "127.0.0.2")) as web,
            SafeWeb(allowlist=web.allowlist, concurrency=4) as safe,
        ):
            stuck = [asyncio.create_task(safe(web.url("/hang"), KNOBS)) for _ in range(20)]
            document = await safe(web.url("/", "127.0.0.2"), KNOBS)
            assert document.body == HELLO.body
            for task in stuck:
                task.cancel()
            await asyncio.gather(*stuck, return_exceptions=True)

    async def test_waiting_for_a_place_does_not_count_as_slowness(self, loopback: LoopbackWeb) -> None:
        async def slow(request: Request, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.5)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")

        loopback.routes["/slow"] = slow
        impatient = ReadKnobs(robots=False, page_timeout=1.4)
        async with SafeWeb(allowlist=loopback.allowlist, per_host=1) as safe:
            pages = await asyncio.gather(*(safe(loopback.url("/slow"), impatient) for _ in range(3)))
        assert len(pages) == 3


class TestProxies:
    async def test_the_environments_proxy_is_used_only_when_asked_for(
        self, loopback: LoopbackWeb, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with LoopbackWeb({"http://example.com:80/": html("<p>by proxy</p>")}) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://me:word@127.0.0.1:{proxy.port}")
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{proxy.port}")
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            async with SafeWeb(allowlist=loopback.allowlist, tls=TLS) as safe:
                await safe(loopback.url("/"), KNOBS)
            assert proxy.connections == 0
            async with SafeWeb(allowlist=loopback.allowlist, trust_env=True) as safe:
                assert b"by proxy" in (await safe("http://example.com/", KNOBS)).body
                assert (await refusal(safe, "http://localhost/")).reason is SkipReason.BLOCKED
                await safe(loopback.url("/"), KNOBS)
            assert [request.path for request in proxy.requests] == ["http://example.com:80/"]
            assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")


async def test_a_cancelled_fetch_frees_its_place(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    async def hang(request: Request, writer: asyncio.StreamWriter) -> None:
        arrived.release()
        await asyncio.Event().wait()

    arrived = asyncio.Semaphore(0)
    hanging: Route = hang
    loopback.routes["/hang"] = hanging
    stuck = [asyncio.create_task(safe(loopback.url("/hang"), KNOBS)) for _ in range(3)]
    for _ in stuck:
        await arrived.acquire()
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, return_exceptions=True)
    assert (await safe(loopback.url("/"), KNOBS)).body == HELLO.body
