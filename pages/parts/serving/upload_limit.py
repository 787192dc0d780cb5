"""A limit on visitors' uploaded files. Streamlit holds them in memory until their form is sent."""

from collections.abc import Callable

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.runtime import exists, get_instance

_PATH = "/_stcore/upload_file/"


def uploaded_bytes() -> int:
    """Return the bytes of all visitors' uploaded files that Streamlit holds."""
    if not exists():
        return 0
    stats = get_instance().uploaded_file_mgr.get_stats()
    return sum(getattr(stat, "byte_length", 0) for family in stats.values() for stat in family)


class UploadLimit:
    """ASGI middleware that refuses an upload without room.

    The reply is a 503, before the body is received.
    """

    def __init__(
        self, app: ASGIApp, limit: Callable[[], int], held: Callable[[], int] = uploaded_bytes
    ) -> None:
        """`limit` returns the total bytes allowed, `held` the bytes already received."""
        self.app, self.limit, self.held = app, limit, held
        self._arriving = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse an upload that does not fit. Other requests are passed on."""
        if scope["type"] != "http" or scope["method"] != "PUT" or not scope["path"].startswith(_PATH):
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        size = int(declared) if declared.isascii() and declared.isdigit() else _largest()
        if self.held() + self._arriving + size > self.limit():
            refusal = PlainTextResponse(
                "The server holds as many uploaded files as it has room for. Try again later.", 503
            )
            await refusal(scope, receive, send)
            return
        self._arriving += size
        try:
            await self.app(scope, receive, send)
        finally:
            self._arriving -= size


def _largest() -> int:
    """Return Streamlit's maximum bytes for one file."""
    return int(st.get_option("server.maxUploadSize")) << 20
