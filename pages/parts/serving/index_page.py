"""The HTML page served at every page address, and compressed scripts.

The page is Streamlit's with this project's styles and scripts. The compressed scripts are Streamlit's.
"""

import asyncio
import base64
import functools
import gzip
import hashlib
import re
from pathlib import Path

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC = Path(__file__).parents[3] / "static"
SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"
SCRIPT_NAMES = frozenset(path.name for path in SCRIPTS.glob("*.js"))
STYLES = ("theme", "research", "pages", "front", "explain", "evaluate", "labels")
"""Style sheets, in their order of application."""
BASE_SCRIPT = "<script>window.__streamlit = { BACKEND_BASE_URL: new URL('.', location.href).href }</script>"
"""Sets the server's address for Streamlit's client.

The address is one path above a page, which also works behind a proxy that removes a path prefix. Without it
the client first asks below the page's own path, which is a 404.
"""
CACHED = "public, max-age=31536000, immutable"
"""Cache-Control of a static file with a digest in its address."""


def static_url(path: str) -> str:
    """Return the address of a static file, with its digest. The address is relative to a page."""
    return f"app/static/{path}?v={hashlib.sha256((STATIC / path).read_bytes()).hexdigest()[:16]}"


@functools.cache
def index_page() -> str:
    """Return Streamlit's index page with `BASE_SCRIPT`, scripts and styles.

    The scripts run before Streamlit's. The styles follow the styles that Streamlit adds to the head, so that
    they win, and a browser runs no script before it has them: nothing is drawn without them.
    """
    page = (Path(st.__file__).parent / "static" / "index.html").read_text("utf-8")
    scripts = "".join(
        f'<script type="module" src="{static_url(f"scripts/{path.name}")}"></script>'
        for path in sorted((STATIC / "scripts").glob("*.js"))
    )
    styles = "".join(f'<link rel="stylesheet" href="{static_url(f"styles/{name}.css")}">' for name in STYLES)
    return page.replace("<head>", f"<head>{BASE_SCRIPT}{scripts}", 1).replace(
        "</body>", f"{styles}</body>", 1
    )


def inline_scripts() -> str:
    """Return the hashes of the index page's inline scripts. The syntax is a Content-Security-Policy's."""
    bodies = re.findall(r"<script>(.*?)</script>", index_page(), re.DOTALL)
    return " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'" for body in bodies
    )


class IndexPage:
    """ASGI middleware that replaces Streamlit's index page. Addresses with a digest are cached."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and replace the index page."""
        if scope["type"] != "http" or scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        index = False

        async def with_index(message: Message) -> None:
            nonlocal index
            if message["type"] == "http.response.start" and message["status"] == 200:
                headers = MutableHeaders(raw=message["headers"])
                index = headers.get("content-type", "").startswith("text/html")
                if index:
                    page = Response(
                        index_page(), media_type="text/html", headers={"Cache-Control": "no-cache"}
                    )
                    await page(scope, receive, send)
                    return
                if scope["path"].startswith("/app/static/") and scope["query_string"].startswith(b"v="):
                    headers["Cache-Control"] = CACHED
            if not index:
                await send(message)

        if "." not in scope["path"].rpartition("/")[2]:
            # Streamlit's page may be as the browser has it while the styles are others.
            conditions = (b"if-none-match", b"if-modified-since")
            scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] not in conditions]}
        await self.app(scope, receive, with_index)


@functools.cache
def _packed(script: str) -> bytes:
    """Return a script of Streamlit, compressed with gzip.

    It is compressed once per process, because Streamlit does not compress it.
    """
    return gzip.compress((SCRIPTS / script).read_bytes(), 6, mtime=0)


class PrecompressedScripts:
    """ASGI middleware that serves Streamlit's scripts with gzip. Other browsers get them uncompressed."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a script, and pass others on."""
        app, (folder, _, name) = self.app, scope.get("path", "").rpartition("/")
        wanted = folder.endswith("/static/js") and name in SCRIPT_NAMES and scope.get("method") == "GET"
        if wanted and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            body = await asyncio.to_thread(_packed, name)
            headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding", "Cache-Control": CACHED}
            app = Response(body, media_type="text/javascript", headers=headers)
        await app(scope, receive, send)
