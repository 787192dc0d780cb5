"""A small HTTP server on loopback whose every byte a test can decide.

It runs on its own thread, so synchronous tests, asynchronous tests and child processes can all talk to it.
Every reply closes its connection, which lets the server notice at once when a client goes away.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

PATIENCE = 20.0
"""Seconds after which a wait in a test is a failure."""


class Gate:
    """A place in a reply where the server waits until the test opens it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened = False
        self._reached = threading.Event()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def open(self) -> None:
        with self._lock:
            self._opened = True
            waiting, self._waiting = self._waiting, []
        for loop, event in waiting:
            loop.call_soon_threadsafe(event.set)

    def wait_reached(self) -> None:
        """Return when the server has sent everything before this gate."""
        assert self._reached.wait(PATIENCE), "the server never came to this gate"

    async def reached(self) -> None:
        await asyncio.to_thread(self.wait_reached)

    async def pass_through(self) -> None:
        event = asyncio.Event()
        with self._lock:
            if not self._opened:
                self._waiting.append((asyncio.get_running_loop(), event))
            else:
                event.set()
        self._reached.set()
        await event.wait()


class Cut:
    """A place in a reply where the connection is reset."""


@dataclass(frozen=True)
class Reply:
    """What the server sends. Each bytes of `parts` is written and flushed by itself.

    A streamed reply, and any with a Gate or a Cut in it, uses chunked coding, so that its length is not known
    before its end; it is left without its last chunk when `unended` is true.
    """

    parts: tuple[bytes | Gate | Cut, ...]
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = False
    unended: bool = False


def json_reply(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply((json.dumps(value).encode(),), status=status, headers=headers or {})


def html_reply(html: str = "<html><body>Hello</body></html>", *, status: int = 200) -> Reply:
    return Reply((html.encode(),), status=status, content_type="text/html; charset=utf-8")


@dataclass
class Request:
    """What the server received. Header names are lower case. `abandoned` is set when the client hung up early.

    `received` is in seconds of `time.perf_counter`.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    abandoned: threading.Event = field(default_factory=threading.Event)
    received: float = field(default_factory=time.perf_counter)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    async def hung_up(self) -> None:
        """Return when the client has closed the connection before the reply was complete."""
        assert await asyncio.to_thread(self.abandoned.wait, PATIENCE), "the client never hung up"


Handler = Callable[[Request], Awaitable[Reply]]


class Loopback:
    """`with Loopback(handler) as server: server.url`. `server.requests` holds every request, oldest first."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.port = 0
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE), "the loopback server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._connection(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                request = await _received(reader)
                self.requests.append(request)
                await _answered_unless_abandoned(self._handler, request, reader, writer)
            finally:
                writer.close()


async def _received(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.rstrip("\r\n").split("\r\n")
    method, target, _ = line.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in fields)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    return Request(method=method, path=parts.path, query=query, headers=headers, body=body)


async def _answered_unless_abandoned(
    handler: Handler, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    async def answer() -> None:
        await _send(await handler(request), writer)

    answering = asyncio.create_task(answer())
    leaving = asyncio.create_task(reader.read(1))
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            request.abandoned.set()
            return
        try:
            await answering
        except ConnectionError:
            request.abandoned.set()
    finally:
        answering.cancel()
        leaving.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> None:
    headers = {"Content-Type": reply.content_type, "Connection": "close", **reply.headers}
    chunked = reply.streamed or not all(isinstance(part, bytes) for part in reply.parts)
    if chunked:
        headers["Transfer-Encoding"] = "chunked"
    else:
        headers["Content-Length"] = str(sum(len(part) for part in reply.parts if isinstance(part, bytes)))
    head = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n"
    writer.write(
        (head + "".join(f"{name}: {value}\r\n" for name, value in headers.items())).encode() + b"\r\n"
    )
    for part in reply.parts:
        if isinstance(part, Gate):
            await part.pass_through()
        elif isinstance(part, Cut):
            writer.transport.abort()
            return
        elif part:
            writer.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
        await writer.drain()
    if chunked and not reply.unended:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
