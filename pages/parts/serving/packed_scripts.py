"""Streamlit's own scripts, compressed once in a process. Streamlit sends them as they are, since it would compress them for
each request."""

import asyncio
import functools
import gzip
from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.parts.serving.index_page import CACHED

SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"
NAMES = frozenset(path.name for path in SCRIPTS.glob("*.js"))
HEADERS = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding", "Cache-Control": CACHED}


@functools.cache
def packed(name: str) -> bytes:
    """The script of this name with gzip."""
    return gzip.compress((SCRIPTS / name).read_bytes(), 6, mtime=0)


class PackedScripts:
    """ASGI middleware that serves the scripts to browsers that unpack gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a script, and pass any other on."""
        folder, _, name = scope.get("path", "").rpartition("/")
        wanted = folder.endswith("/static/js") and name in NAMES and scope.get("method") == "GET"
        app = self.app
        if wanted and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            body = await asyncio.to_thread(packed, name)
            app = Response(body, media_type="text/javascript", headers=HEADERS)
        await app(scope, receive, send)
