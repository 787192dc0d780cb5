"""`GET /health` of a service that has just been started."""

import time
from collections.abc import Callable

import httpx

PATIENCE = 30.0
"""Seconds for the first answer of all parts."""


def once_started(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Ask for the health until the service has started; each request waits a moment in the server."""
    ends = time.monotonic() + PATIENCE
    while (reply := ask()).status_code == 503 and reply.json().get("status") == "starting":
        assert time.monotonic() < ends, "the service never started"
    return reply
