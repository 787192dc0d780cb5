"""The server of the pages, with the HTTP API under /api, security headers and a warm-up.

Started by `openquery`, `streamlit run server.py` or `uvicorn server:app`. `streamlit run app.py` serves the same.
"""

import functools
import gc
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from core.config.memory import memory_budget
from core.config.settings import Settings
from core.errors import OpenQueryError
from core.runtime import logs
from core.runtime.features import features
from core.runtime.hardening import harden
from core.runtime.static_files import REINSTALL, altered_files
from core.serving.body_limits import DrainRefused
from core.serving.host_check import HostCheck
from core.serving.security_headers import SecurityHeaders
from core.serving.single_worker import SingleWorker
from pages.parts import runtime
from pages.parts.serving import streamlit_patches
from pages.parts.serving.index_page import IndexPage, PrecompressedScripts, inline_scripts
from pages.parts.serving.moved_pages import MovedPages
from pages.parts.serving.upload_limit import UploadLimit

log = logging.getLogger(__name__)
ROOT = Path(__file__).parent


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
        return runtime.settings()
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
        for mounted in mounts:
            mounted.start()
        runs = runtime.runs()
        runs.call(runs.engine.warm())
    except OpenQueryError as error:
        log.warning("warm-up: %s", error)
    # Modules and models stay. A full collection that looks through them stops everybody's pages for .2 s longer.
    gc.collect()
    gc.freeze()


def print_address() -> None:
    """Print where the pages are, once the port is chosen; every address of the machine is shown as loopback."""
    host, port = st.get_option("server.address"), st.get_option("server.port")
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", None) else f"[{host}]" if ":" in host else host  # noqa: S104
    print(f"OpenQuery: http://{shown}:{port}", flush=True)


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Print the address, harden the process and warm up; close the runs at the end."""
    if st.get_option("logger.hideWelcomeMessage"):  # else Streamlit or uvicorn has said it
        print_address()
    harden()
    # In a thread, so that the first page is served at once and waits only for what it needs.
    threading.Thread(target=warm, name="openquery-warm", daemon=True).start()
    yield
    runtime.close()


logs.configure(settings())
streamlit_patches.log_through_root()
streamlit_patches.ignore_pages_folder()
streamlit_patches.keep_reports()
streamlit_patches.draw_followers()
streamlit_patches.keep_waiting_messages()
streamlit_patches.keep_values_from_timers()
streamlit_patches.look_up_widget_values()
streamlit_patches.keep_theme()
streamlit_patches.read_options_without_lock()
streamlit_patches.copy_containers_once()
streamlit_patches.keep_downloads()
streamlit_patches.run_scripts_in_turns()
streamlit_patches.finish_callbacks()
mounts = [feature.mount(runtime.settings, runtime.runs) for feature in features() if feature.mount]
SERVING: dict[str, Any] = {
    "lifespan": lifespan,
    "routes": [route for mounted in mounts for route in mounted.routes],
    "middleware": [
        Middleware(SingleWorker),
        Middleware(DrainRefused),
        Middleware(SecurityHeaders, policy=policy()),
        Middleware(HostCheck, hosts=public_hosts),
        Middleware(UploadLimit, limit=room_for_uploads),
        Middleware(PrecompressedScripts),
        Middleware(MovedPages),
        Middleware(IndexPage),
    ],
}
"""What is served besides the pages, and around them."""
app = st.App(ROOT / "app.py", **SERVING)
