"""Embeddings from any OpenAI-compatible `/embeddings`."""

from __future__ import annotations

import asyncio
import binascii
import random
import time
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
import orjson
import pybase64
from numpy.typing import NDArray
from pydantic import SecretStr

from core.adapters.models.openai_client import host_of, plain_key, provider_text, wait_asked
from core.errors import EmbedFailed
from core.text.sanitize import encodable

TRIES = 5
PATIENCE = 60.0
"""Seconds in which all tries of one call must begin."""

_AGAIN = frozenset((408, 409, 425, 429))
_MODEL = "Check OPENQUERY_EMBEDDING_MODEL, or set it to local."


class RemoteEmbedder:
    """Unit vectors from a server, 300 texts a call.

    Vectors are asked for as base64 and decoded by orjson and numpy, not through the openai package: 300 of
    1,536 dimensions take a tenth of the time. A server that answers with lists of numbers is understood
    too. Overload and lost connections are tried again, up to `TRIES` times, after the wait that the server
    asks for or a random one below `backoff` seconds, doubled each time. Redirects are not followed.

    `dimensions` asks the model for shorter vectors, where it can. `client`, when given, must follow no
    redirects either.
    """

    batch = 300

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: SecretStr | None = None,
        *,
        dimensions: int | None = None,
        timeout: float = 60.0,
        backoff: float = 0.5,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self.host = host_of(base_url)
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._key = plain_key(api_key)
        self._timeout = timeout
        self._backoff = backoff
        self._client = client
        self._base64 = True

    @property
    def identity(self) -> str:
        """The model and where it runs. Two servers may mean different models by one name."""
        return f"{self.model}@{self.host}" + (f"/{self.dimensions}" if self.dimensions else "")

    async def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors: float32, shape (len(texts), dimensions).

        Raises:
            EmbedFailed: when the server refuses, stays silent, or answers with anything but one finite,
                non-zero vector of the same width for each text.
        """
        if not texts:
            return np.empty((0, self.dimensions or 0), dtype=np.float32)
        # Servers refuse an empty input; it has no meaning to find either.
        asked: dict[str, Any] = {
            "model": self.model,
            "input": [encodable(text) if text.strip() else "-" for text in texts],
        }
        if self.dimensions:
            asked["dimensions"] = self.dimensions
        return _vectors(await self._answer(asked), len(texts), self.identity)

    async def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        for attempt in range(1, TRIES + 1):
            wait: float | None = None
            form = {"encoding_format": "base64"} if self._base64 else {}
            try:
                response = await self._connected().post(
                    self._url,
                    content=orjson.dumps(asked | form),
                    headers=self._headers(),
                    timeout=self._timeout,
                )
            except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
                raise EmbedFailed(
                    f"{self.host} is not the address of a server.",
                    hint="Set OPENQUERY_EMBEDDING_BASE_URL to something like https://openrouter.ai/api/v1.",
                ) from error
            except httpx.RequestError as error:
                fault = self._silent(error)
                fault.__cause__ = error
            else:
                body = _parsed(response)
                status = _status(response, body)
                if status == 200 and isinstance(body, dict) and "data" in body:
                    return body
                fault = self._refused(status, body, response)
                wait = wait_asked(response.headers)
                if self._base64 and status in (400, 422) and "encoding_format" in response.text:
                    self._base64, wait = False, 0.0
                elif status not in _AGAIN and status < 500:
                    raise fault
            if wait is None:
                wait = random.uniform(0, self._backoff * 2**attempt)  # noqa: S311 - spreads load, guards nothing
            if attempt == TRIES or time.monotonic() + wait > until:
                raise fault
            await asyncio.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _connected(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(follow_redirects=False, trust_env=False)
        return self._client

    def _headers(self) -> dict[str, str]:
        if not (self._key.isascii() and self._key.isprintable()):
            raise EmbedFailed(
                "The key holds characters that no key has.",
                hint="Copy it again, without line breaks or blanks.",
            )
        key = {"authorization": f"Bearer {self._key}"} if self._key else {}
        return {"content-type": "application/json", "user-agent": "OpenQuery"} | key

    def _silent(self, error: httpx.RequestError) -> EmbedFailed:
        if isinstance(error, httpx.TimeoutException):
            return EmbedFailed(
                f"{self.host} did not answer within {self._timeout:g} seconds.",
                hint="Ask again, or set OPENQUERY_EMBEDDING_MODEL to local.",
            )
        if isinstance(error, httpx.DecodingError):
            return EmbedFailed(
                f"{self.host} sent a reply that does not unpack.",
                hint=f"A gateway on the way may be at fault. {_MODEL}",
            )
        return EmbedFailed(
            f"{self.host} cannot be reached for embeddings.",
            hint="Is it running? Check OPENQUERY_EMBEDDING_BASE_URL, or set OPENQUERY_EMBEDDING_MODEL to local.",
        )

    def _refused(self, status: int, body: Any, response: httpx.Response) -> EmbedFailed:
        said = provider_text(body, self._key)
        quoted = f": {said}" if said else ""
        match status:
            case 401 | 403:
                message, hint = "refused the key", "Check the key you typed, or the one in the environment."
            case 402:
                message, hint = "has no credit left for this key", f"Add credit to that account. {_MODEL}"
            case 404:
                message, hint = f"does not know the embedding model {self.model}", _MODEL
            case 429:
                asked = wait_asked(response.headers)
                when = f"in {asked:.0f} seconds" if asked else "in a minute"
                message = "takes no more embedding requests for now"
                hint = f"Ask again {when}, or send fewer calls at once."
            case 413 | 400 | 422:
                message, hint = f"could not embed the texts ({status})", f"Use smaller batches. {_MODEL}"
            case _ if 300 <= status < 400:
                message = f"sends requests elsewhere ({status}), which is not followed"
                hint = "Set OPENQUERY_EMBEDDING_BASE_URL to the final address."
            case _ if status >= 500:
                message, hint = f"failed ({status})", f"Ask again in a moment. {_MODEL}"
            case _:
                message = f"answered with something other than embeddings ({status})"
                hint = "Check OPENQUERY_EMBEDDING_BASE_URL; most end in /v1."
        return EmbedFailed(f"{self.host} {message}{quoted}.", hint=hint)


def _parsed(response: httpx.Response) -> Any:
    try:
        return orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return response.text[:1000]


def _status(response: httpx.Response, body: Any) -> int:
    """The reply's status; some servers say 200 and put the true one into an error object."""
    if response.status_code == 200 and isinstance(body, dict) and isinstance(body.get("error"), dict):
        code = body["error"].get("code")
        return code if isinstance(code, int) and 400 <= code < 600 else 400
    return response.status_code


def _vectors(body: dict[str, Any], count: int, identity: str) -> NDArray[np.float32]:
    """The reply's vectors in the order of the texts, at unit length."""

    def broken(what: str) -> EmbedFailed:
        return EmbedFailed(f"{identity} {what}.", hint=f"Its vectors cannot be used. {_MODEL}")

    rows = body["data"]
    if not isinstance(rows, list) or len(rows) != count:
        given = len(rows) if isinstance(rows, list) else "no"
        raise broken(f"gave {given} vectors for {count} texts")
    try:
        indexes = [row["index"] for row in rows]
        found = [_vector(row["embedding"]) for row in rows]
        permuted = sorted(indexes) == list(range(count))
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise broken("gave vectors in an unknown form") from error
    if not permuted:
        raise broken("did not say which vector belongs to which text")
    if len({len(vector) for vector in found}) != 1 or not len(found[0]):
        raise broken("gave vectors of different widths")
    vectors = np.empty((count, len(found[0])), dtype=np.float32)
    for index, vector in zip(indexes, found, strict=True):
        vectors[index] = vector
    with np.errstate(over="ignore", invalid="ignore"):  # judged on the next line
        lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
    if not np.isfinite(lengths).all() or not lengths.all():
        raise broken("gave vectors that are not finite or have no length")
    vectors /= lengths
    return vectors


def _vector(value: Any) -> NDArray[np.float32]:
    if isinstance(value, str):
        return np.frombuffer(pybase64.b64decode(value, validate=True), dtype="<f4")
    with np.errstate(over="ignore"):  # what becomes infinite is refused with the others
        vector = np.asarray(value, dtype=np.float32)
    if vector.ndim != 1:
        raise ValueError("not a row of numbers")
    return vector
