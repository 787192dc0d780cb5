"""Connect to a Qdrant server, with retries, timeouts, and errors as messages to a person."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import orjson
from pydantic import SecretStr

from core.adapters.models.model_http import plain_key
from core.adapters.network_failure import network_failure
from core.errors import BadInput, LibraryFailed, OpenQueryError
from core.features.library.qdrant.points import no_collection
from core.text.sanitize import one_line

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.http.exceptions import UnexpectedResponse

T = TypeVar("T")

PORT = 6333
TRIES = 2
"""Attempts of a request. Every request may be repeated, because the server may have closed an idle connection."""

_ADDRESS = "Set QDRANT_URL to something like http://127.0.0.1:6333."
_STATES = {
    401: ("refused the key", "Check QDRANT_API_KEY."),
    403: ("does not allow this", "QDRANT_API_KEY may only read, or only some collections: use one that may."),
    404: ("has no such page", f"Is this a Qdrant from 1.10 on? {_ADDRESS}"),
    413: ("does not take that much at once", "Raise service.max_request_size_mb in its configuration."),
    429: ("takes no more requests for now", "Ask again in a moment."),
}


class QdrantReply(OpenQueryError):
    """The server refused a request. `message` is the server's, on one line and without the key."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class QdrantConnection:
    """The official client over REST, created on first use. It follows no redirects and no proxies.

    `timeout` is in seconds and holds for each request as a whole. `trust` is for certificates.

    Raises:
        BadInput: when the address is not valid, or contains a password.
    """

    def __init__(
        self,
        url: str,
        api_key: SecretStr | None = None,
        *,
        timeout: float = 30.0,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self.url = checked_url(url)
        self._key = plain_key(api_key)
        if not (self._key.isascii() and self._key.isprintable()):
            raise BadInput("QDRANT_API_KEY contains characters that no key has.", hint="Copy it again.")
        self._timeout = timeout
        self._trust = trust
        self._client: AsyncQdrantClient | None = None
        self._making = asyncio.Lock()

    @property
    def exposed(self) -> bool:
        """Whether the key is sent unencrypted to another machine."""
        parts = urlsplit(self.url)
        return (
            bool(self._key)
            and parts.scheme == "http"
            and parts.hostname not in ("127.0.0.1", "localhost", "::1")
        )

    async def ask(self, call: Callable[[AsyncQdrantClient], Awaitable[T]], name: str = "") -> T:
        """Send a request about the collection `name`, and return its result.

        Raises:
            LibraryFailed: when the server does not answer, or not as a Qdrant does.
        """
        try:
            return await self.request(call)
        except QdrantReply as answered:
            raise self.refused(answered, name) from answered

    async def request(self, call: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """Send a request for a caller that handles refusals.

        Raises:
            QdrantReply: when the server refuses.
            LibraryFailed: when the server does not answer, or not as a Qdrant does.
        """
        client = await self._connected()
        from httpx import RemoteProtocolError, TransportError
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

        for attempt in range(1, TRIES + 1):
            try:
                async with asyncio.timeout(self._timeout):
                    return await call(client)
            except UnexpectedResponse as error:
                raise self._reply(error) from None  # the error quotes the body, which may quote the key
            except QdrantException:  # only ever for 429
                raise QdrantReply(429, "") from None
            except ResponseHandlingException as error:
                if attempt < TRIES and isinstance(error.source, RemoteProtocolError):
                    continue
                # Other errors quote the response, which may quote the key, so they are not kept as the cause.
                cause = error.source if isinstance(error.source, TransportError) else None
                raise self._no_answer(error.source) from cause
            except TimeoutError as error:
                raise self._no_answer(error) from error
            except (ApiException, AssertionError, ValueError) as error:  # no result, or no JSON
                raise self._no_answer(error) from None
        raise AssertionError("the last try returns or raises")

    def refused(self, answered: QdrantReply, name: str) -> LibraryFailed:
        """Return the error for a refused request."""
        if name and answered.status == 404 and name in answered.message:
            return no_collection(name)
        problem, hint = _STATES.get(
            answered.status, ("failed", "Look into its log; it may be starting or full.")
        )
        if answered.status == 401 and not self._key:
            problem, hint = "asks for a key", "Set QDRANT_API_KEY."
        if 300 <= answered.status < 400:
            problem, hint = "sends requests elsewhere", "Set QDRANT_URL to the final address."
        message = f": {answered.message}" if answered.message else ""
        return LibraryFailed(f"Qdrant at {self.url} {problem} (HTTP {answered.status}){message}.", hint=hint)

    async def models(self) -> ModuleType:
        """Return the types of the official client, imported in a thread."""
        await self._connected()
        from qdrant_client.http import models

        return models

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client:
            await client.close()

    async def _connected(self) -> AsyncQdrantClient:
        async with self._making:
            if self._client is None:
                # The import takes a second of computing.
                self._client = await asyncio.to_thread(_made, self.url, self._key, self._timeout, self._trust)
        return self._client

    def _reply(self, error: UnexpectedResponse) -> QdrantReply:
        try:
            body = orjson.loads(error.content)
            message = body["status"]["error"] if isinstance(body, dict) else ""
        except (ValueError, KeyError, TypeError):
            message = ""
        message = message if isinstance(message, str) else ""
        return QdrantReply(
            error.status_code or 0,
            one_line(message.replace(self._key, "[key]") if self._key else message, 300).rstrip("."),
        )

    def _no_answer(self, error: Exception) -> LibraryFailed:
        import httpx

        if isinstance(error, TimeoutError | httpx.TimeoutException):
            return LibraryFailed(
                f"Qdrant at {self.url} did not answer within {self._timeout:g} s.",
                hint="Is it running, and is it busy? Look into its log.",
            )
        if isinstance(error, httpx.TransportError):
            if "CERTIFICATE" in str(error).upper():
                return LibraryFailed(
                    f"The certificate of {self.url} is not trusted.",
                    hint="Correct QDRANT_URL, or name the authority's file in SSL_CERT_FILE.",
                )
            return LibraryFailed(
                f"Nothing answers as Qdrant at {self.url} ({network_failure(error)}).",
                hint=f"Is it running at this address? Start it, or correct QDRANT_URL. {_ADDRESS}",
            )
        return LibraryFailed(
            f"The server at {self.url} is no Qdrant, or of an unsupported version.",
            hint=f"{_ADDRESS} It must be version 1.10 or later.",
        )


def checked_url(url: str) -> str:
    """Check the address and add scheme and port. The default port is 6333, Qdrant's standard.

    Raises:
        BadInput: when it is not valid, or contains a password.
    """
    url = url.strip() if "://" in url else f"http://{url.strip()}"
    try:
        parts = urlsplit(url)
        port = parts.port or PORT
    except ValueError as error:
        raise BadInput("QDRANT_URL is not a web address.", hint=_ADDRESS) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput("QDRANT_URL is not a web address.", hint=_ADDRESS)
    if parts.username or parts.password or parts.query:
        raise BadInput("QDRANT_URL holds more than an address.", hint="Put the key into QDRANT_API_KEY.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"


def _made(url: str, key: str, timeout: float, trust: ssl.SSLContext | None) -> AsyncQdrantClient:
    import httpx
    from qdrant_client import AsyncQdrantClient

    if trust is None:
        trust = httpx.create_ssl_context(trust_env=False)
        trust.load_default_certs()  # SSL_CERT_FILE and the system's certificates
    return AsyncQdrantClient(
        url=url,
        # As an argument it would cause a warning on every http address, including this machine's.
        headers={"api-key": key} if key else None,
        timeout=int(timeout) + 1,
        check_compatibility=False,
        trust_env=False,
        follow_redirects=False,
        verify=trust,
    )
