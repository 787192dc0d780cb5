"""The server of the pages, with the HTTP API under /api, security headers and a warm-up.

Started by `openquery`, `streamlit run server.py` or `uvicorn server:app`. `streamlit run app.py` serves the same.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import logging
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from streamlit.runtime.pages_manager import PagesManager

from core.api import create_app
from core.api.middleware.body_limits import DrainRefused
from core.api.middleware.host_check import HostCheck
from core.api.middleware.security_headers import SecurityHeaders
from core.api.middleware.single_worker import SingleWorker
from core.config.memory import memory_budget
from core.config.settings import Settings
from core.errors import OpenQueryError
from core.runtime import logs
from core.runtime.hardening import harden
from core.runtime.static_files import REINSTALL, altered_files
from pages.parts import runtime, script_thread_order
from pages.parts.upload_limit import UploadLimit

log = logging.getLogger(__name__)
ROOT = Path(__file__).parent


PAGES = sorted({"sign-out", *(path.stem for path in (ROOT / "pages").glob("*.py"))})
"""Paths of the pages below the root."""
BASE_SCRIPT = b"<script>window.__streamlit = { BACKEND_BASE_URL: new URL('.', location.href).href }</script>"
"""Tells Streamlit's client where the server is: one path up from a page, which also holds behind a proxy that removes
the beginning of the path. Without it the client asks below the page's own path first, which is a 404 in the console."""


@functools.cache
def index_page() -> bytes:
    """The installed Streamlit's index page, with `BASE_SCRIPT`."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_bytes()
    return page.replace(b"<head>", b"<head>" + BASE_SCRIPT, 1)


async def send_index(_request: Request) -> Response:
    return Response(index_page(), media_type="text/html", headers={"Cache-Control": "no-cache"})


def inline_scripts() -> str:
    """The hashes of the inline scripts in the index page, in the syntax of a Content-Security-Policy."""
    bodies = re.findall(rb"<script>(.*?)</script>", index_page(), re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(body).digest()).decode()}'" for body in bodies)


def policy() -> str:
    """The Content-Security-Policy: nothing is loaded from or sent to another host, and scripts are Streamlit's own."""
    rules = {
        "default-src": "'self'",
        "base-uri": "'self'",
        "object-src": "'none'",
        "frame-ancestors": "'self'",
        "form-action": "'self'",
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {inline_scripts()}",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "worker-src": "'self' blob:",
        "frame-src": "'self' blob:",
        "media-src": "'self' blob: data:",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


@functools.cache
def settings() -> Settings | None:
    """The operator's settings; None when they cannot be used, of which the pages say what is wrong."""
    try:
        return Settings.read()
    except OpenQueryError:
        return None


@functools.cache
def room_for_uploads() -> int:
    """Bytes of uploaded files that the pages may hold."""
    return memory_budget(made.memory_megabytes if (made := settings()) else 0, 1).files


def public_hosts() -> tuple[str, ...]:
    """The names under which the operator has the pages served."""
    return made.public_hosts if (made := settings()) else ()


def warm() -> None:
    """Import libraries and start workers before the first visitor needs them."""
    import pandas  # noqa: F401 - its import is the point
    import plotly.graph_objects  # noqa: F401

    try:
        logs.configure(Settings.read())
        if altered := altered_files():
            log.error("static files are not those of the release: %s. %s", ", ".join(altered), REINSTALL)
        runs = (
            api.state.service.runs
        )  # the pages' registry, so that its runs are counted in the API's metrics
        runs.call(runs.engine.warm())
    except OpenQueryError as error:
        log.warning("warm-up: %s", error)


def print_address() -> None:
    """Print where the pages are, once the port is chosen; every address of the machine is shown as loopback."""
    host, port = st.get_option("server.address"), st.get_option("server.port")
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", None) else f"[{host}]" if ":" in host else host  # noqa: S104
    print(f"OpenQuery: http://{shown}:{port}", flush=True)


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    if st.get_option("logger.hideWelcomeMessage"):  # else Streamlit or uvicorn has said it
        print_address()
    harden()
    # In a thread, so that the first page is served at once and waits only for what it needs.
    threading.Thread(target=warm, name="openquery-warm", daemon=True).start()
    yield
    runtime.close()


# Until app.py has run once, Streamlit treats the scripts of a folder named `pages` as pages: a deep link to a
# server that has just started would be drawn without app.py.
PagesManager.uses_pages_directory = False
script_thread_order.keep_reports()
# Not at the root, because /runs is a page.
api = create_app(runtime.runs)
SERVING: dict[str, Any] = {
    "lifespan": lifespan,
    "routes": [
        Route("/api", lambda _request: RedirectResponse("/api/")),
        Mount("/api", app=api),
        *(Route(f"/{name}", send_index) for name in PAGES),
    ],
    "middleware": [
        Middleware(SingleWorker),
        Middleware(DrainRefused),
        Middleware(SecurityHeaders, policy=policy()),
        Middleware(HostCheck, hosts=public_hosts),
        Middleware(UploadLimit, limit=room_for_uploads),
    ],
}
"""What is served besides the pages, and around them."""
app = st.App(ROOT / "app.py", **SERVING)
