"""A bounded pool of clients. An evicted client's connection closes after its last use."""

import asyncio
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from cachetools import LRUCache

C = TypeVar("C")


class Connection(Protocol):
    """The connection of a client. It must not refer to the client."""

    async def aclose(self) -> None:
        """Close the connections of the client."""


class ClientPool(Generic[C]):
    """A pool of clients by key that evicts the least recently used. All calls must come from one event loop.

    A run may still use an evicted client. Its connection closes when the last reference is dropped, on whichever thread
    that happens.
    """

    def __init__(self, maxsize: int) -> None:
        self._clients: LRUCache[tuple[str, ...], C] = LRUCache(maxsize)
        self._open: set[Connection] = set()
        self._closing: set[asyncio.Task[None]] = set()

    def get(self, key: tuple[str, ...], connect: Callable[[], tuple[C, Connection]]) -> C:
        """Return the client of this key. If it is missing, `connect` makes it, with its connection."""
        if (client := self._clients.get(key)) is None:
            client, connection = connect()
            self._open.add(connection)
            loop = asyncio.get_running_loop()
            weakref.finalize(client, self._unused, loop, connection).atexit = False
            self._clients[key] = client
        return client

    def _unused(self, loop: asyncio.AbstractEventLoop, connection: Connection) -> None:
        with suppress(RuntimeError):  # the loop has ended, after `aclose`
            loop.call_soon_threadsafe(self._close, connection)

    def _close(self, connection: Connection) -> None:
        if connection in self._open:
            self._open.discard(connection)
            task = asyncio.ensure_future(connection.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        """Close every connection, including those in use."""
        for connection in tuple(self._open):
            self._close(connection)
        self._clients.clear()
        await asyncio.gather(*self._closing)
