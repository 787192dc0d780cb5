"""What sites do between pages: redirects, certificates, cookies, robots.txt, requests to come back later."""

from __future__ import annotations

import asyncio

from core.model import SkipReason
from tests.hostile.case import Case, RouteOf
from tests.hostile.parsers import article
from tests.hostile.replies import REPLIES, floods
from tests.loopback import Reply, Request, Route, html, redirect

S = SkipReason
_R, _M, _W = "Redirects", "Manners and state", "Replies"

ON_THE_WIRE = tuple(
    Case(group=_W, name=name, reason=reason, routes={"/": route}) for name, (route, reason) in REPLIES.items()
)


def _to(url: str, status: int = 302) -> RouteOf:
    return lambda port: redirect(url.replace("{port}", str(port)), status)


def _redirect(
    name: str, to: str, reason: SkipReason | None = S.BLOCKED, *, status: int = 302, visits: int = 1
) -> Case:
    return Case(
        group=_R,
        name=name,
        reason=reason,
        routes={"/fine": article()},
        made={"/": _to(to, status)},
        visits=visits,
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
        group=_R,
        name="in a circle of three",
        reason=S.REDIRECTS,
        visits=3,
        routes={"/": redirect("/a"), "/a": redirect("/b"), "/b": redirect("/")},
    ),
    Case(group=_R, name="six of them", reason=S.REDIRECTS, routes=_chain(6), visits=6),
    Case(group=_R, name="five of them (for comparison)", reason=None, routes=_chain(4), visits=6),
    Case(
        group=_R,
        name="with a body that never ends",
        reason=None,
        visits=2,
        routes={"/": _endless_redirect, "/fine": article()},
    ),
    Case(
        group=_R,
        name="from TLS to an open connection",
        reason=S.REDIRECTS,
        certificate="good",
        made={"/": _to("http://127.0.0.1:{port}/fine")},
        visits=1,
        says="https down to http",
    ),
    Case(
        group=_R,
        name="over TLS (for comparison)",
        reason=None,
        certificate="good",
        routes={"/fine": article()},
        made={"/": _to("https://127.0.0.1:{port}/fine")},
        visits=2,
    ),
)

_COOKIE = {"Set-Cookie": "kettle=1; Path=/", "WWW-Authenticate": 'Basic realm="kettles"'}
_LATER = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: {}\r\nContent-Length: 0\r\n\r\n"


def _later(retry_after: str) -> Reply:
    return Reply(status=429, headers={"Retry-After": retry_after})


def _robots(name: str, robots: Route, reason: SkipReason | None, **more: object) -> Case:
    return Case(
        group=_M,
        name=f"robots.txt {name}",
        reason=reason,
        robots=True,
        routes={"/robots.txt": robots, "/": article()},
        **more,  # type: ignore[arg-type]
    )


_TEXT = "text/plain"

MANNERS = (
    Case(
        group=_M,
        name="a certificate for another name",
        reason=S.NETWORK,
        certificate="wrong",
        visits=0,
        routes={"/": article()},
        says="certificate",
    ),
    Case(
        group=_M,
        name="a certificate that nobody vouches for",
        reason=S.NETWORK,
        certificate="untrusted",
        visits=0,
        routes={"/": article()},
        says="certificate",
    ),
    Case(
        group=_M,
        name="cookies, which are not sent back",
        reason=None,
        fetches=2,
        visits=2,
        routes={"/": Reply(article().body, headers=_COOKIE)},
    ),
    Case(
        group=_M,
        name="a question for a password",
        reason=S.STATUS,
        visits=1,
        routes={"/": Reply(b"who are you", status=401, headers=_COOKIE)},
    ),
    Case(group=_M, name="forbidden", reason=S.STATUS, routes={"/": Reply(b"no", status=403)}, visits=1),
    Case(group=_M, name="gone", reason=S.STATUS, routes={"/": Reply(b"no", status=410)}, visits=1),
    Case(
        group=_M,
        name="failing, with a page of 8 MB about it",
        reason=S.STATUS,
        visits=1,
        routes={"/": Reply(b"a" * 8_000_000, status=500)},
    ),
    Case(
        group=_M,
        name="too many requests",
        reason=S.STATUS,
        routes={"/": Reply(b"", status=429)},
        visits=1,
        says="429",
    ),
    Case(
        group=_M,
        name="too many requests, come back in a minute",
        reason=S.STATUS,
        fetches=2,
        visits=1,
        routes={"/": _later("60")},
        says="asked to wait",
    ),
    Case(
        group=_M,
        name="too many requests, come back in a hundred years",
        reason=S.STATUS,
        fetches=2,
        visits=1,
        routes={"/": _later("Wed, 01 Jan 2125 00:00:00 GMT")},
        says="asked to wait",
    ),
    Case(
        group=_M,
        name="too many requests, come back whenever",
        reason=S.STATUS,
        fetches=2,
        visits=2,
        routes={"/": _later("soon")},
        says="429",
    ),
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
