"""`openquery mcp`: the tools over stdin and stdout, for a client that starts this process."""

import argparse
import asyncio
import os
import threading
from contextlib import suppress
from typing import Any, Self, cast

from mcp.server.stdio import stdio_server

from core.cli.shared_arguments import settings_of
from core.config.permissions import Caller, Role
from core.features.api.service import Service
from core.features.mcp.calls import PAGES, Callers
from core.features.mcp.server import mcp_server
from core.runtime.registry import RunRegistry

_READ_BYTES = 65_536


async def serve_stdio(options: argparse.Namespace) -> int:
    """Serve the tools until the client closes stdin or a signal comes, and return the exit code.

    Raises:
        BadInput: when the settings are wrong.
    """
    settings = settings_of(options)
    service = Service(lambda: RunRegistry(settings), lambda: settings)
    operator = Callers(service, lambda _request: (Caller(Role.OPERATOR), service.own, PAGES))
    server = mcp_server(operator)
    try:
        async with stdio_server(stdin=cast("Any", StdinLines())) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
    finally:
        await asyncio.to_thread(service.close)
    return 0


class StdinLines:
    """Yields the lines of stdin. Waiting for a line can be cancelled, unlike a read in a thread that is awaited.

    From then on this process and its children read nothing from stdin. To be made and used on one event loop.
    """

    def __init__(self) -> None:
        self._lines = asyncio.Queue[str | None]()
        descriptor, loop = os.dup(0), asyncio.get_running_loop()
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a file of the system
            os.dup2(nothing.fileno(), 0)
        # A daemon reads the descriptor itself: a buffered reader would be locked while the interpreter ends.
        threading.Thread(target=self._read, args=(descriptor, loop), daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        if (line := await self._lines.get()) is None:
            raise StopAsyncIteration
        return line

    def _read(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop has ended
            while chunk := os.read(descriptor, _READ_BYTES):
                *lines, last = chunk.split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(self._lines.put_nowait, (rest + line).decode(errors="replace"))
                    rest = b""
                rest += last
            loop.call_soon_threadsafe(self._lines.put_nowait, None)
