"""Embed with any OpenAI-compatible `/embeddings`."""

import asyncio
import binascii
import random
import time
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
import pybase64
from numpy.typing import NDArray
from pydantic import SecretStr

from core.adapters.certificates import trusted_certificates
from core.adapters.models.model_http import (
    ATTEMPTS,
    ModelService,
    host_of,
    parsed_body,
    plain_key,
    post_json,
    retry_reason,
)
from core.errors import EmbedFailed
from core.model import Embeddings, ModelUsage, Retry, Usage
from core.ports import OnRetry
from core.text.http_headers import retry_after
from core.text.sanitize import encodable, estimated_tokens, pluralize

RETRY_SECONDS = 60.0
"""Seconds in which all attempts of one call must begin."""

_RETRY_STATUSES = frozenset((408, 409, 425, 429))
_MODEL = "Check OPENQUERY_EMBEDDING_MODEL, or set it to local."


class RemoteEmbedder:
    """Unit vectors from a server, 300 texts a call.

    Vectors are requested as base64 and decoded by orjson and numpy, not through the openai package: 300 vectors of
    1,536 dimensions take a tenth of the time. Replies with lists of numbers are accepted too. After overload and lost
    connections the request is repeated, up to `ATTEMPTS` times. The wait is the server's or a random time below
    `backoff` seconds, doubled each time. Redirects are not followed, and `client`, when given, must not follow any.
    """

    batch = 300
    languages: frozenset[str] = frozenset()
    """Unknown, because servers do not report languages."""

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: SecretStr | None = None,
        *,
        timeout: float = 60.0,
        backoff: float = 0.5,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self.model = model
        self.host = host_of(base_url)
        self.identity = f"{model}@{self.host}"  # two servers may use one name for different models
        self._service = ModelService(
            error=EmbedFailed,
            endpoint="embeddings",
            host=self.host,
            model=model,
            key=plain_key(api_key),
            key_place="on the page, or in the environment",
            address="OPENQUERY_EMBEDDING_BASE_URL",
            example="https://openrouter.ai/api/v1",
            address_end="/v1",
            alternative="set OPENQUERY_EMBEDDING_MODEL to local",
            too_long=f"Use smaller batches. {_MODEL}",
        )
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._timeout = timeout
        self._backoff = backoff
        self._client = client
        self._base64 = True

    async def reads_whole(self, text: str) -> bool:
        """Return True: servers refuse texts that are too long. They do not report their limit."""
        return True

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Embed texts as unit vectors on the server.

        They are float32, shape (len(texts), dimensions). The usage has the server's token count, else an estimate.

        Raises:
            EmbedFailed: when the server refuses, stays silent, or answers with anything but one finite, non-zero vector of the
                same width for each text.
        """
        if not texts:
            return Embeddings(np.empty((0, 0), dtype=np.float32))
        # Servers refuse an empty input, which has no meaning to find anyway.
        request: dict[str, Any] = {
            "model": self.model,
            "input": [encodable(text) if text.strip() else "-" for text in texts],
        }
        body = await self._request(request, on_retry)
        vectors = _vectors(body, len(texts), self.identity)
        return Embeddings(vectors, usage=_usage(body.get("usage"), texts, self.identity))

    async def _request(self, request: dict[str, Any], on_retry: OnRetry | None) -> dict[str, Any]:
        until = time.monotonic() + RETRY_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            wait: float | None = None
            status: int | None = None
            form = {"encoding_format": "base64"} if self._base64 else {}
            try:
                response = await post_json(
                    self._service, self._get_client(), self._url, request | form, self._timeout
                )
            except EmbedFailed as error:
                if isinstance(error.__cause__, httpx.InvalidURL | httpx.UnsupportedProtocol | None):
                    raise  # the address or the key is invalid
                fault = error
            else:
                body = parsed_body(response)
                status = _status(response, body)
                if status == 200 and isinstance(body, dict) and "data" in body:
                    return body
                fault = self._refusal(status, body, response)
                wait = retry_after(response.headers.get("retry-after"))
                if self._base64 and status in (400, 422) and "encoding_format" in response.text:
                    self._base64, wait = False, 0.0
                elif status not in _RETRY_STATUSES and status < 500:
                    raise fault
            if wait is None:
                wait = random.uniform(0, self._backoff * 2**attempt)  # noqa: S311 - spreads load, guards nothing
            if attempt == ATTEMPTS or time.monotonic() + wait > until:
                raise fault
            if on_retry and wait:
                on_retry(Retry(server=self._service.host, seconds=wait, reason=retry_reason(status)))
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _get_client(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                follow_redirects=False, trust_env=False, verify=trusted_certificates(httpx)
            )
        return self._client

    def _refusal(self, status: int, body: Any, response: httpx.Response) -> EmbedFailed:
        if status != 200:
            return self._service.refusal(status, body, response.headers)
        return EmbedFailed(
            f"{self._service.host} answered with something other than embeddings.",
            hint="Check OPENQUERY_EMBEDDING_BASE_URL; most end in /v1.",
        )


def _status(response: httpx.Response, body: Any) -> int:
    """Return the reply's status. Some servers send 200 with the true status in an error object."""
    if response.status_code == 200 and isinstance(body, dict) and isinstance(body.get("error"), dict):
        code = body["error"].get("code")
        return code if isinstance(code, int) and 400 <= code < 600 else 400
    return response.status_code


def _usage(usage: Any, texts: Sequence[str], identity: str) -> ModelUsage:
    try:
        return ModelUsage(model=identity, tokens=Usage.from_json(usage))
    except ValueError:
        estimate = Usage(prompt_tokens=estimated_tokens(sum(map(len, texts))))
        return ModelUsage(model=identity, tokens=estimate, estimated=True)


def _vectors(body: dict[str, Any], count: int, identity: str) -> NDArray[np.float32]:
    """Return the reply's unit vectors, in the texts' order."""

    def broken(fault: str) -> EmbedFailed:
        return EmbedFailed(f"{identity} {fault}.", hint=f"Its vectors cannot be used. {_MODEL}")

    rows = body["data"]
    if not isinstance(rows, list) or len(rows) != count:
        given = pluralize(len(rows), "vector") if isinstance(rows, list) else "no vectors"
        raise broken(f"gave {given} for {pluralize(count, 'text')}")
    try:
        indexes = [row["index"] for row in rows]
        decoded = [_vector(row["embedding"]) for row in rows]
        permuted = sorted(indexes) == list(range(count))
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise broken("gave vectors in an unknown form") from error
    if not permuted:
        raise broken("did not say which vector belongs to which text")
    if len({len(vector) for vector in decoded}) != 1 or not len(decoded[0]):
        raise broken("gave vectors of different widths")
    vectors = np.empty((count, len(decoded[0])), dtype=np.float32)
    for index, vector in zip(indexes, decoded, strict=True):
        vectors[index] = vector
    with np.errstate(over="ignore", invalid="ignore"):  # checked on the next line
        lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
    if not np.isfinite(lengths).all() or not lengths.all():
        raise broken("gave vectors that are not finite or have no length")
    vectors /= lengths
    return vectors


def _vector(value: Any) -> NDArray[np.float32]:
    if isinstance(value, str):
        return np.frombuffer(pybase64.b64decode(value, validate=True), dtype="<f4")
    with np.errstate(over="ignore"):  # infinite values are refused with the others
        vector = np.asarray(value, dtype=np.float32)
    if vector.ndim != 1:
        raise ValueError("not a row of numbers")
    return vector
