"""Addresses of pages of earlier versions, which lead on to the page that has taken their place."""

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

MOVED = {"compare": "explain?view=what-if"}
"""New addresses by the last part of the path, relative to it: a proxy may remove a prefix of the path."""


class MovedPages:
    """ASGI middleware that redirects pages that have moved. Their query parameters are kept."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Redirect a request for a page that has moved, and pass others on."""
        app, path = self.app, scope.get("path", "")
        target = MOVED.get(path.rpartition("/")[2]) if not path.startswith("/api/") else None
        if target and scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            query = scope["query_string"].decode("ascii", "replace")
            app = RedirectResponse(f"{target}&{query}" if query else target, 308)
        await app(scope, receive, send)
