"""A web on loopback for tests: every path answers with exactly the bytes that its route says.

    async with LoopbackWeb({"/a": html("<p>Hello</p>"), "/slow": drip}) as web:
        web.url("/a"), web.allowlist, web.count("/a"), web.connections

A route is a `Reply`, or an `async def route(request, writer)` that writes what it likes. Several loopback
addresses (all of 127/8 is this machine) stand for several hosts.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from core.adapters.web.networks import AddressAllowlist

TLS = ssl.create_default_context()
"""For clients that never use it: building one for each test would take longer than most tests."""


@dataclass(frozen=True)
class Request:
    """One received request. Header names are lower case."""

    path: str
    headers: dict[str, str]
    host: str
    """The loopback address that was asked."""


@dataclass(frozen=True)
class Reply:
    """Status, headers and body. The length is declared unless `headers` say otherwise."""

    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Route = Reply | Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def html(inner: str) -> Reply:
    return Reply(f"<!doctype html><html><body>{inner}</body></html>".encode())


def redirect(to: str, status: int = 302) -> Reply:
    return Reply(status=status, headers={"Location": to})


def raw(*parts: bytes) -> Route:
    """Write these bytes, nothing added, then close."""

    async def write(request: Request, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        writer.close()

    return write


class LoopbackWeb:
    """`requests` holds every request, oldest first, `most_at_once` the highest number under way together."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        *,
        hosts: tuple[str, ...] = ("127.0.0.1",),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.routes = dict(routes)
        self.requests: list[Request] = []
        self.connections = 0
        self.most_at_once = 0
        self._at_once = 0
        self._hosts = hosts
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def url(self, path: str, host: str | None = None) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{host or self._hosts[0]}:{self.port}{path}"

    @property
    def allowlist(self) -> AddressAllowlist:
        """The permission that a client needs to come here."""
        return AddressAllowlist.parse(", ".join(f"{host}:{self.port}" for host in self._hosts))

    def count(self, path: str) -> int:
        return sum(request.path == path for request in self.requests)

    async def __aenter__(self) -> Self:
        for host in self._hosts:
            server = await asyncio.start_server(self._connected, host, self.port, ssl=self._tls)
            self.port = server.sockets[0].getsockname()[1]
            self._servers.append(server)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                request = _parsed(await reader.readuntil(b"\r\n\r\n"), writer)
                self.requests.append(request)
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
                try:
                    await self._answer(request, writer)
                finally:
                    self._at_once -= 1
        except (asyncio.IncompleteReadError, OSError):
            pass  # the client is done, or had enough
        finally:
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        route = self.routes.get(request.path, Reply(b"no such page", status=404))
        if not isinstance(route, Reply):
            await route(request, writer)
            return
        headers = {
            "Content-Type": route.content_type,
            "Content-Length": str(len(route.body)),
            **route.headers,
        }
        lines = [f"HTTP/1.1 {route.status} Reason", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + route.body)
        await writer.drain()


def _parsed(head: bytes, writer: asyncio.StreamWriter) -> Request:
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return Request(
        path=first.split(" ")[1],
        headers={name.strip().lower(): value.strip() for name, _, value in pairs},
        host=writer.get_extra_info("sockname")[0],
    )
