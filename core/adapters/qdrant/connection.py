"""A connection to a Qdrant server over its REST interface: retries, timeouts, and errors as messages to a person."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import orjson
from pydantic import SecretStr

from core.adapters.models.model_http import plain_key
from core.adapters.network_failure import network_failure
from core.adapters.qdrant.points import no_collection
from core.errors import BadInput, LibraryFailed, OpenQueryError
from core.text.sanitize import one_line

T = TypeVar("T")
Body = Mapping[str, Any]
"""JSON, with arrays of NumPy as lists."""

PORT = 6333
TRIES = 2
"""Every request may be repeated; the server may just have closed an idle connection."""

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
    """Requests to one server. They follow no redirects and no proxies.

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
        self._client: httpx.AsyncClient | None = None
        self._making = asyncio.Lock()

    @property
    def exposed(self) -> bool:
        """Whether the key is sent to another machine without encryption."""
        parts = urlsplit(self.url)
        return (
            bool(self._key)
            and parts.scheme == "http"
            and parts.hostname not in ("127.0.0.1", "localhost", "::1")
        )

    async def request(self, method: str, path: str, body: Body | None, read: Callable[[Any], T]) -> T:
        """The `result` of a reply as `read` reads it, which fails by any exception on one of another form.

        Raises:
            QdrantReply: when the server refuses.
            LibraryFailed: when it does not answer, or not as a Qdrant does.
        """
        client = await self._connected()
        content = None if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        for attempt in range(1, TRIES + 1):
            try:
                async with asyncio.timeout(self._timeout):
                    reply = await client.request(method, f"{self.url}{path}", content=content)
            except httpx.RequestError as error:
                if attempt == TRIES or not isinstance(error, httpx.RemoteProtocolError):
                    raise self._no_answer(error) from error
            except TimeoutError as error:
                raise self._no_answer(error) from error
            else:
                break
        if not reply.is_success:
            raise self._refusal(reply)
        try:
            return read(orjson.loads(reply.content)["result"])
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise self._no_answer(error) from None  # it may quote the reply, and with it the key

    def refused(self, answered: QdrantReply, name: str) -> LibraryFailed:
        """The error of a refused request."""
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

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def _connected(self) -> httpx.AsyncClient:
        async with self._making:
            if self._client is None:
                trust = self._trust
                if trust is None:
                    trust = await asyncio.to_thread(_default_trust)
                self._client = httpx.AsyncClient(
                    headers={"content-type": "application/json"}
                    | ({"api-key": self._key} if self._key else {}),
                    timeout=self._timeout,
                    follow_redirects=False,
                    trust_env=False,
                    verify=trust,
                )
        return self._client

    def _refusal(self, reply: httpx.Response) -> QdrantReply:
        try:
            message = orjson.loads(reply.content)["status"]["error"]
        except (ValueError, LookupError, TypeError):
            message = ""
        message = message if isinstance(message, str) else ""
        message = message.replace(self._key, "[key]") if self._key else message
        return QdrantReply(reply.status_code, one_line(message, 300).rstrip("."))

    def _no_answer(self, error: Exception) -> LibraryFailed:
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
    """The address with scheme and port. Without a port it is 6333, as everywhere with Qdrant.

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


def _default_trust() -> ssl.SSLContext:
    trust = httpx.create_ssl_context(trust_env=False)
    trust.load_default_certs()  # SSL_CERT_FILE and the system's own
    return trust
