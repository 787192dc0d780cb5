"""What sites do between pages: redirects, certificates, cookies, robots.txt, requests to come back later."""

import asyncio

from core.model import SkipReason
from tests.hostile.case import Case, RouteOf
from tests.hostile.parsers import article, page_case
from tests.hostile.replies import REPLIES, floods
from tests.loopback import Reply, Request, Route, html, redirect

S = SkipReason
_R, _M, _W = "Redirects", "Manners and state", "Replies"

ON_THE_WIRE = tuple(Case(_W, name, reason, routes={"/": route}) for name, (route, reason) in REPLIES.items())


def _to(url: str, status: int = 302) -> RouteOf:
    return lambda port: redirect(url.replace("{port}", str(port)), status)


def _redirect(
    name: str, to: str, reason: SkipReason | None = S.BLOCKED, *, status: int = 302, visits: int = 1
) -> Case:
    return Case(
        _R, name, reason, routes={"/fine": article()}, port_routes={"/": _to(to, status)}, visits=visits
    )


async def _endless_redirect(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 302 Found\r\nLocation: /fine\r\nContent-Length: 900000000\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"a" * 65536)
        await writer.drain()


def _chain(length: int) -> dict[str, Route]:
    steps: dict[str, Route] = {f"/{n}": redirect(f"/{n + 1}") for n in range(length)}
    return {"/": redirect("/0"), **steps, f"/{length}": article()}


REDIRECTS = (
    _redirect("to this machine", "http://127.0.0.2:{port}/"),
    _redirect("to this machine, kept as a POST would be", "http://127.0.0.2:{port}/", status=307),
    _redirect("to this machine for ever", "http://127.0.0.2:{port}/", status=308),
    _redirect("to this machine without a scheme", "//127.0.0.2:{port}/"),
    _redirect("to this machine as a number", "http://2130706434:{port}/"),
    _redirect("to this machine by name", "http://localhost:{port}/"),
    _redirect("to another port", "http://127.0.0.1:9/"),
    _redirect("to a private network", "http://10.0.0.1/"),
    _redirect("to a file", "file:///etc/passwd"),
    _redirect("to data", "data:text/html,hello"),
    _redirect("to an address with a password", "http://a:b@127.0.0.1:{port}/fine"),
    _redirect("to an address with a backslash", "http://127.0.0.1:{port}\\@127.0.0.2:{port}/"),
    _redirect("to an address that never ends", "http://127.0.0.1:{port}/" + "a" * 5000),
    _redirect("to itself with another fragment", "/#again", S.REDIRECTS),
    _redirect("to where it may (for comparison)", "/fine", None, visits=2),
    Case(
        _R,
        "in a circle of three",
        S.REDIRECTS,
        visits=3,
        routes={"/": redirect("/a"), "/a": redirect("/b"), "/b": redirect("/")},
    ),
    Case(_R, "six of them", S.REDIRECTS, routes=_chain(6), visits=6),
    Case(_R, "five of them (for comparison)", None, routes=_chain(4), visits=6),
    Case(
        _R, "with a body that never ends", None, visits=2, routes={"/": _endless_redirect, "/fine": article()}
    ),
    Case(
        _R,
        "from TLS to an open connection",
        S.REDIRECTS,
        certificate="good",
        port_routes={"/": _to("http://127.0.0.1:{port}/fine")},
        visits=1,
        says="https down to http",
    ),
    Case(
        _R,
        "over TLS (for comparison)",
        None,
        certificate="good",
        routes={"/fine": article()},
        port_routes={"/": _to("https://127.0.0.1:{port}/fine")},
        visits=2,
    ),
)

_COOKIE = {"Set-Cookie": "kettle=1; Path=/", "WWW-Authenticate": 'Basic realm="kettles"'}


def _later(when: str, retry_after: str, **more: object) -> Case:
    reply = Reply(status=429, headers={"Retry-After": retry_after})
    return page_case(_M, f"too many requests, come back {when}", S.STATUS, reply, fetches=2, **more)


def _robots(name: str, robots: Route, reason: SkipReason | None, **more: object) -> Case:
    return Case(
        _M,
        f"robots.txt {name}",
        reason,
        robots=True,
        routes={"/robots.txt": robots, "/": article()},
        **more,  # type: ignore[arg-type]
    )


_TEXT = "text/plain"

MANNERS = (
    page_case(
        _M,
        "a certificate for another name",
        S.NETWORK,
        article(),
        visits=0,
        certificate="wrong",
        says="certificate",
    ),
    page_case(
        _M,
        "a certificate that nobody vouches for",
        S.NETWORK,
        article(),
        visits=0,
        certificate="untrusted",
        says="certificate",
    ),
    page_case(
        _M,
        "cookies, which are not sent back",
        None,
        Reply(article().body, headers=_COOKIE),
        visits=2,
        fetches=2,
    ),
    page_case(
        _M,
        "a question for a password",
        S.STATUS,
        Reply(b"who are you", status=401, headers=_COOKIE),
        visits=1,
    ),
    page_case(_M, "forbidden", S.STATUS, Reply(b"no", status=403), visits=1),
    page_case(_M, "gone", S.STATUS, Reply(b"no", status=410), visits=1),
    page_case(
        _M, "failing, with a page of 8 MB about it", S.STATUS, Reply(b"a" * 8_000_000, status=500), visits=1
    ),
    page_case(_M, "too many requests", S.STATUS, Reply(b"", status=429), visits=1, says="429"),
    _later("in a minute", "60", visits=1, says="asked to wait"),
    _later("in a hundred years", "Wed, 01 Jan 2125 00:00:00 GMT", visits=1, says="asked to wait"),
    _later("whenever", "soon", visits=2, says="429"),
    _robots("that refuses everything", Reply(b"User-agent: *\nDisallow: /", _TEXT), S.ROBOTS, visits=1),
    _robots(
        "that refuses OpenQuery", Reply(b"User-agent: OpenQuery\nDisallow: /", _TEXT), S.ROBOTS, visits=1
    ),
    _robots("that refuses others", Reply(b"User-agent: Kettlebot\nDisallow: /", _TEXT), None, visits=2),
    _robots("that fails", Reply(b"", status=503), S.ROBOTS, visits=1),
    _robots("that is missing", Reply(b"", status=404), None, visits=2),
    _robots("that never ends", floods(b"HTTP/1.1 200 OK\r\n\r\n", b"Disallow: /kettles\n" * 900), None),
    _robots(
        "of 100,000 agents and rules",
        Reply(b"User-agent: a\n" * 50_000 + b"Disallow: /*a*b*c*d\n" * 20_000, _TEXT),
        None,
    ),
    _robots(
        "with patterns that bait",
        Reply(b"User-agent: *\n" + b"Disallow: /" + b"*a" * 2000 + b"$\n", _TEXT),
        None,
    ),
    _robots("that leads to this machine", redirect("http://127.0.0.2:9/robots.txt"), None),
    _robots("that is a page", html("<p>Disallow: nothing</p>"), None, visits=2),
)
