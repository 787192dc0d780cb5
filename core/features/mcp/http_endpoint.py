"""`/mcp` of the HTTP API: the tools over HTTP, started by the first request."""

import asyncio
import re
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from core.config.permissions import Caller, Role
from core.features.api.service import Service, session_named
from core.features.api.sessions import HEADER, Session

API_FOLDER = "/api"
"""The path of the API beside the pages."""
_PREFIX = re.compile(r"(?:/[\w.~-]{1,100}){0,9}", re.ASCII)


def add_endpoint(app: FastAPI) -> None:
    """Add `/mcp` to the HTTP API."""
    app.router.routes.append(Route("/mcp", McpEndpoint(app.state.service)))


class McpEndpoint:
    """An ASGI application that imports and starts the MCP server for its first request.

    Nothing is kept between two requests, so any client may send any of them, and a client that goes away ends its call.
    The API around it has checked host, origin, token and size of the body.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._started: asyncio.Task[Any] | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] != "POST":
            refused = PlainTextResponse("MCP messages are sent with POST.\n", 405, {"Allow": "POST"})
            await refused(scope, receive, send)
            return
        if self._started is None or (self._started.done() and self._started.exception()):
            self._started = asyncio.ensure_future(self._start())
        manager = await asyncio.shield(self._started)
        await manager.handle_request(scope, receive, send)

    async def _start(self) -> Any:
        manager = await asyncio.to_thread(self._manager)
        ready = asyncio.Event()

        async def run() -> None:
            async with manager.run():
                ready.set()
                await asyncio.Event().wait()  # until the server's loop ends

        self._running = asyncio.ensure_future(run())
        await asyncio.wait(
            (self._running, asyncio.ensure_future(ready.wait())), return_when=asyncio.FIRST_COMPLETED
        )
        return manager

    def _manager(self) -> Any:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        from core.features.mcp.calls import Callers
        from core.features.mcp.server import mcp_server

        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the API has checked
        server = mcp_server(Callers(self._service, self._identify))
        return StreamableHTTPSessionManager(server, stateless=True, security_settings=checked)

    def _identify(self, request: Request) -> tuple[Caller, Session, str]:
        owner = request.scope["openquery.owner"]
        caller = Caller.of(Role.TOKEN, owner, shared=self._service.settings().shared)
        return caller, session_named(self._service, caller, request.headers.get(HEADER)), _pages(request)


def _pages(request: Request) -> str:
    """Return the address of the pages that are served with the API, or the default address.

    A proxy that removes a folder from the path names it in X-Forwarded-Prefix.
    """
    from core.features.mcp.calls import PAGES

    folder = request.scope.get("root_path", "")
    if not folder.endswith(API_FOLDER):
        return PAGES
    prefix = request.headers.get("x-forwarded-prefix", "").rstrip("/")
    removed = prefix if _PREFIX.fullmatch(prefix) else ""
    return f"{request.url.scheme}://{request.url.netloc}{removed}{folder.removesuffix(API_FOLDER)}"
