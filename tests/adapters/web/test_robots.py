"""robots.txt: honoured, asked for once, and never a way to hold the client up."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.adapters.web.robots import relevant_rules
from core.adapters.web.safe_client import SafeWeb
from core.config.knobs import ReadKnobs
from core.model import SkipReason, Unreadable
from tests.growth import LINEAR, growth
from tests.loopback import TLS, LoopbackWeb, Reply, Request, html, raw, redirect

KNOBS = ReadKnobs()
PAGES = {path: html("<p>Hello</p>") for path in ("/open", "/closed/page", "/closed/but/open")}


def rules(text: str) -> Reply:
    return Reply(text.encode(), "text/plain")


@pytest.fixture
async def loopback() -> AsyncIterator[LoopbackWeb]:
    async with LoopbackWeb(PAGES) as web:
        yield web


@pytest.fixture
async def safe(loopback: LoopbackWeb) -> AsyncIterator[SafeWeb]:
    async with SafeWeb(allowlist=loopback.allowlist, tls=TLS) as web:
        yield web


async def allowed(safe: SafeWeb, url: str, knobs: ReadKnobs = KNOBS) -> bool:
    try:
        await safe(url, knobs)
    except Unreadable as why:
        assert why.reason is SkipReason.ROBOTS, why
        return False
    return True


async def test_pages_closed_to_robots_are_not_requested(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    loopback.routes["/robots.txt"] = rules("User-agent: *\nDisallow: /closed/\nAllow: /closed/but/open\n")
    assert await allowed(safe, loopback.url("/open"))
    assert not await allowed(safe, loopback.url("/closed/page"))
    assert await allowed(safe, loopback.url("/closed/but/open"))
    assert loopback.count("/closed/page") == 0


async def test_rules_for_this_reader_precede_those_for_all(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    loopback.routes["/robots.txt"] = rules(
        "User-agent: *\nDisallow: /\n\nUser-agent: openquery\nDisallow: /closed\n"
    )
    assert await allowed(safe, loopback.url("/open"))
    assert not await allowed(safe, loopback.url("/closed/page"))


async def test_knob_turns_the_rules_off_and_requests_none(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    loopback.routes["/robots.txt"] = rules("User-agent: *\nDisallow: /\n")
    assert await allowed(safe, loopback.url("/open"), ReadKnobs(robots=False))
    assert loopback.count("/robots.txt") == 0


async def test_pages_of_a_host_share_one_robots_request(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    loopback.routes["/robots.txt"] = rules("User-agent: *\nDisallow: /closed/\n")
    assert all(await asyncio.gather(*(allowed(safe, loopback.url("/open")) for _ in range(9))))
    assert not await allowed(safe, loopback.url("/closed/page"))
    assert loopback.count("/robots.txt") == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=404),
        Reply(status=403),
        raw(),
        raw(b"nonsense\r\n"),
        redirect("http://169.254.169.254/robots.txt"),
        redirect("/robots.txt"),
        Reply(b"\x00\xff" * 999, "image/png"),
        rules(""),
        Reply(b"...", headers={"Content-Encoding": "br"}),
    ],
)
async def test_rules_that_cannot_be_had_close_nothing(
    loopback: LoopbackWeb, safe: SafeWeb, reply: Reply
) -> None:
    loopback.routes["/robots.txt"] = reply
    assert await allowed(safe, loopback.url("/open"))


async def test_a_server_error_closes_the_site_for_now(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    loopback.routes["/robots.txt"] = Reply(status=503)
    assert not await allowed(safe, loopback.url("/open"))
    assert loopback.count("/open") == 0


async def test_rules_are_followed_through_a_redirect(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    loopback.routes |= {
        "/robots.txt": redirect("/real.txt", 301),
        "/real.txt": rules("User-agent: *\nDisallow: /"),
    }
    assert not await allowed(safe, loopback.url("/open"))


async def test_the_target_of_a_redirect_is_asked_about_too(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    loopback.routes |= {
        "/robots.txt": rules("User-agent: *\nDisallow: /closed/"),
        "/open": redirect("/closed/page"),
    }
    assert not await allowed(safe, loopback.url("/open"))
    assert loopback.count("/closed/page") == 0


async def test_missing_rules_take_at_most_half_the_page_time(loopback: LoopbackWeb, safe: SafeWeb) -> None:
    async def hang(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    loopback.routes["/robots.txt"] = hang
    assert await allowed(safe, loopback.url("/open"), ReadKnobs(page_timeout=2.0))


async def test_one_cancelled_page_leaves_the_rules_to_the_others(
    loopback: LoopbackWeb, safe: SafeWeb
) -> None:
    requested, answer = asyncio.Event(), asyncio.Event()

    async def later(request: Request, writer: asyncio.StreamWriter) -> None:
        requested.set()
        await answer.wait()
        body = b"User-agent: *\nDisallow: /closed/"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    loopback.routes["/robots.txt"] = later
    first = asyncio.create_task(safe(loopback.url("/open"), KNOBS))
    await requested.wait()
    second = asyncio.create_task(allowed(safe, loopback.url("/closed/page")))
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    answer.set()
    assert await second is False
    assert loopback.count("/robots.txt") == 1


class TestRelevantRules:
    @pytest.mark.parametrize("disallow", ["Dissallow", "disalow", "DISALLOW "])
    @pytest.mark.parametrize("agent", ["User agent", "useragent", "USER-AGENT"])
    def test_misspelt_fields_are_read_like_google_reads_them(self, agent: str, disallow: str) -> None:
        rules = relevant_rules(f"{agent}: *\n{disallow}: /x\n", "OpenQuery")
        assert rules.splitlines() == ["User-agent: *", "Disallow: /x"]

    def test_groups_for_others_are_dropped(self) -> None:
        text = "User-agent: A\nUser-agent: *\nDisallow: /x # why\n\nUser-agent: B\nDisallow: /\nSitemap: /s\n"
        assert relevant_rules(text, "OpenQuery").splitlines() == ["User-agent: *", "Disallow: /x"]

    def test_a_name_that_merely_begins_alike_is_another(self) -> None:
        assert relevant_rules("User-agent: Open\nDisallow: /\n", "OpenQuery") == ""
        assert relevant_rules("User-agent: openquery/2.0\nDisallow: /\n", "OpenQuery") != ""

    def test_byte_order_mark_and_odd_spacing_hide_no_rule(self) -> None:
        lines = relevant_rules("\ufeffUSER-AGENT :*\r\n  disallow:/a\r\n", "OpenQuery").splitlines()
        assert lines == ["User-agent: *", "Disallow: /a"]

    def test_thousands_of_rules_are_parsed_in_linear_time(self) -> None:
        def rules(count: int) -> str:
            agents = "".join(f"User-agent: a{number}\n" for number in range(count))
            return f"{agents}User-agent: *\n" + "".join(f"Disallow: /{n}*a*b\n" for n in range(count))

        assert len(relevant_rules(rules(15_000), "OpenQuery").splitlines()) == 5_000
        assert growth(rules, lambda text: relevant_rules(text, "OpenQuery"), 1_500, 15_000) < LINEAR
