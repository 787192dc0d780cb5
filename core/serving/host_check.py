"""Check of the Host and Origin headers, against DNS rebinding and requests of other sites.

A web page whose name leads to this machine is of the same origin as what the machine serves under that name, so that
a browser lets it read everything. Its requests differ in the Host header, in which a browser sends the page's own name.
"""

import asyncio
from collections.abc import Callable, Sequence

from fastapi.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from core.serving.problems import Refusal, reply
from core.text.http_headers import host_and_port, is_loopback
from core.text.sanitize import one_line

_PORTS = {"http": "80", "https": "443"}

Hosts = Callable[[], Sequence[str]]


class HostCheck:
    """ASGI middleware around all that a server serves, WebSockets too. It answers requests to names that are neither
    loopback nor public with 421, and those of other sites' pages with 403."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        """`hosts` gives the public names; it is called in a thread, and only for names that are not loopback."""
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        refusal = await self._refusal(request.headers.getlist("host"), request.headers.getlist("origin"))
        if refusal is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "http" or "websocket.http.response" in scope.get("extensions", {}):
            await _response(refusal, request)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _refusal(self, hosts: Sequence[str], origins: Sequence[str]) -> Refusal | None:
        name = host_and_port(hosts[0])[0] if len(hosts) == 1 else ""
        if not (is_loopback(name) or (name and name in await asyncio.to_thread(self.hosts))):
            return Refusal(
                421,
                f"OpenQuery is not served under the name {name[:100]}."
                if name
                else "The Host header does not name one host.",
                "Open it on its own machine as http://127.0.0.1, with its port. For other machines, name this host "
                "in OPENQUERY_HOSTS and restart OpenQuery.",
            )
        foreign = next((origin for origin in origins if not _same_origin(origin, hosts[0])), None)
        if foreign is None:
            return None
        return Refusal(
            403,
            f"This request comes from a page of another site: its Origin {one_line(foreign, 100)} is not its Host "
            f"{one_line(hosts[0], 100)}.",
            "Behind a proxy, let it pass on the browser's Host header, as docs/deployment.md shows. A page or a program in "
            "a browser engine cannot ask from elsewhere: let a server or a program without an Origin ask for it.",
        )


def _same_origin(origin: str, host: str) -> bool:
    """Whether the Origin header has the host and port of the Host header. Ports that are left out are the scheme's."""
    scheme, _, origin_host = origin.partition("://")
    (own, port), (name, named_port) = host_and_port(origin_host), host_and_port(host)
    usual = _PORTS.get(scheme, "")
    return own == name != "" and (port or usual) == (named_port or usual)


def _response(refusal: Refusal, request: HTTPConnection) -> Response:
    """Text for people, whose browsers ask for HTML; a problem for programs."""
    if "text/html" in request.headers.get("accept", ""):
        return PlainTextResponse(f"{refusal.message}\n\n{refusal.hint}\n", refusal.status)
    return reply(refusal, request.url.path)
