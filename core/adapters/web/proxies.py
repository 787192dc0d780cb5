"""Proxies from the environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY."""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Proxy:
    """`url` without credentials; `shown` is its host and port, fit for a screen."""

    url: str
    shown: str
    credentials: tuple[str, str] | None


def proxy_for(scheme: str, host: str) -> Proxy | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name for this request, if any."""
    proxies = urllib.request.getproxies_environment()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or (host and urllib.request.proxy_bypass(host, proxies)):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.hostname is None:
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    credentials = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    authority = f"{parts.hostname}:{port}"
    return Proxy(f"{parts.scheme}://{authority}", authority, credentials)
