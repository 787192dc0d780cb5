"""`GET /health` of a service that has just been started."""

from collections.abc import Callable

import httpx

from tests.patience import Patience

PATIENCE = 30.0
"""Seconds for the first answer of all parts."""


def once_started(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Ask for the health until the service has started; each request waits a moment in the server."""
    patience = Patience(PATIENCE)
    while (reply := ask()).status_code == 503 and reply.json().get("status") == "starting":
        assert patience.lasts(), "the service never started"
    return reply
