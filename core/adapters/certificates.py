"""Trusted certificates of HTTP clients, read once per process."""

import ssl
from functools import cache
from typing import Any


@cache
def trusted_certificates(library: Any) -> ssl.SSLContext:
    """Return the TLS context that `httpx` or `httpx2` uses by default.

    Reading the certificates stops the event loop for 25 ms, so all clients of a library share one context. Variables
    of the environment are ignored.
    """
    context: ssl.SSLContext = library.create_ssl_context(trust_env=False)
    return context
