"""`openquery mcp`: the tools over stdin and stdout, for a client that starts this process."""

import argparse
import asyncio
from typing import Any, cast

from mcp.server.stdio import stdio_server

from core.cli.shared_arguments import settings_of
from core.config.permissions import Caller, Role
from core.features.api.service import Service
from core.features.mcp.calls import PAGES, Callers
from core.features.mcp.server import mcp_server
from core.features.mcp.stdin_lines import StdinLines
from core.runtime.registry import RunRegistry


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
