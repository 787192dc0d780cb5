"""Embed with any OpenAI-compatible `/embeddings`.

Replies are read in the forms of OpenAI, Gemini, Ollama, Cohere, llama.cpp and TEI.
"""

import asyncio
import binascii
import random
import re
import time
from collections.abc import Sequence
from functools import reduce
from operator import add
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
    provider_text,
    retry_reason,
)
from core.adapters.models.stated_wait import stated_wait
from core.errors import EmbedFailed
from core.model import Embeddings, ModelUsage, Retry, Usage
from core.ports import OnRetry
from core.text.sanitize import encodable, estimated_tokens, pluralize

RETRY_SECONDS = 60.0
"""Seconds in which all attempts of one call must begin."""

_RETRY_STATUSES = frozenset((408, 409, 425, 429))
_TOO_MANY = re.compile(
    r"batch|per request|at most \d+ (?:inputs|texts|items|documents|requests)|instance\(s\)"
    r"|(?:too many|number of|maximum) (?:inputs|texts|items|documents|strings)",
    re.IGNORECASE,
)
"""Words of a server that accepts fewer texts in one request."""
_FORM_REFUSED = re.compile(
    r"encoding_format|base64|invalid.argument|unsupported (?:argument|parameter|field)|extra (?:inputs|fields)",
    re.IGNORECASE,
)
"""Words of a server that may not know `encoding_format`. Some do not say what is wrong."""
_NUMBER = re.compile(r"(?<![\d.,])\d{1,6}(?![\d.,]?\d)")
_MODEL = "Check OPENQUERY_EMBEDDING_MODEL, or set it to local."
_LISTS = ("data", "embeddings")
_URL_SAFE = str.maketrans("-_", "+/", "\r\n\t ")


class RemoteEmbedder:
    """Unit vectors from a server, 300 texts a call, or as many at once as the server accepts.

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
            too_long=f"Make passages smaller. {_MODEL}",
        )
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._timeout = timeout
        self._backoff = backoff
        self._client = client
        self._base64 = True
        self._at_once = self.batch
        """The most texts in one request, fewer once the server has refused as many."""

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
        parts: list[Embeddings] = []
        done = 0
        while done < len(texts):
            part = texts[done : done + self._at_once]
            try:
                parts.append(await self._embed(part, on_retry))
            except _TooManyTexts as error:
                self._at_once = min(self._at_once, error.limit)
                continue
            done += len(part)
        usages = [part.usage for part in parts if part.usage]
        return Embeddings(np.concatenate([part.vectors for part in parts]), usage=reduce(add, usages))

    async def _embed(self, texts: Sequence[str], on_retry: OnRetry | None) -> Embeddings:
        # Servers refuse an empty input, which has no meaning to find anyway.
        request: dict[str, Any] = {
            "model": self.model,
            "input": [encodable(text) if text.strip() else "-" for text in texts],
        }
        body = await self._request(request, on_retry)
        try:
            vectors = unit_vectors(vector_rows(body), len(texts))
        except ValueError as error:
            raise EmbedFailed(
                f"{self.identity} {error}.", hint=f"Its vectors cannot be used. {_MODEL}"
            ) from error.__cause__
        usage = body.get("usage") if isinstance(body, dict) else None
        return Embeddings(vectors, usage=_usage(usage, texts, self.identity))

    async def _request(self, request: dict[str, Any], on_retry: OnRetry | None) -> Any:
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
                if status == 200 and has_vectors(body):
                    return body
                if limit := _limit(status, provider_text(body, self._service.key), len(request["input"])):
                    raise _TooManyTexts(limit)
                fault = self._refusal(status, body, response)
                wait = stated_wait(response.headers, body)
                if self._base64 and status in (400, 422) and _FORM_REFUSED.search(response.text):
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
        said = provider_text(body, self._service.key) if isinstance(body, dict) else ""
        return EmbedFailed(
            f"{self._service.host} answered with something other than embeddings{f': {said}' if said else ''}.",
            hint="Check OPENQUERY_EMBEDDING_BASE_URL; most end in /v1.",
        )


class _TooManyTexts(EmbedFailed):
    """A server takes at most `limit` texts in one request, as far as is known."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The server takes at most {limit} texts in one request.")
        self.limit = limit


def _limit(status: int, message: str, count: int) -> int:
    """Return how many texts a server that refuses `count` of them may accept, or 0 if their number is not the reason.

    It is a number of the message, or else half of the texts.
    """
    if count == 1 or not (status == 413 or (status in (400, 422) and _TOO_MANY.search(message))):
        return 0
    stated = [number for digits in _NUMBER.findall(message) if 1 < (number := int(digits)) < count]
    return max(stated, default=count // 2)


def _status(response: httpx.Response, body: Any) -> int:
    """Return the reply's status. Some servers send 200 with the true status in an error object."""
    body = body[0] if isinstance(body, list) and body else body
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


def has_vectors(body: Any) -> bool:
    """Return whether a reply is meant to have vectors."""
    if isinstance(body, dict):
        return any(name in body for name in _LISTS)
    first = body[0] if isinstance(body, list) and body else None
    return isinstance(first, list) or (isinstance(first, dict) and "embedding" in first)


def vector_rows(body: Any) -> Any:
    """Return the rows of a reply, usually a list."""
    if not isinstance(body, dict):
        return body
    rows = next(body[name] for name in _LISTS if name in body)
    return rows.get("float") if isinstance(rows, dict) else rows


def unit_vectors(rows: Any, count: int) -> NDArray[np.float32]:
    """Return the unit vectors of `count` texts, in the texts' order.

    Raises:
        ValueError: for anything but one finite, non-zero vector of the same width for each text. The message says what
            the server did, to be put after its name.
    """
    if not isinstance(rows, list) or len(rows) != count:
        given = pluralize(len(rows), "vector") if isinstance(rows, list) else "no vectors"
        raise ValueError(f"gave {given} for {pluralize(count, 'text')}")
    try:
        decoded = [_vector(row["embedding"] if isinstance(row, dict) else row) for row in rows]
        indexes = [_index(row.get("index")) if isinstance(row, dict) else None for row in rows]
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise ValueError("gave vectors in an unknown form") from error
    order = _order(indexes)
    if sorted(order) != list(range(count)):
        raise ValueError("did not say which vector belongs to which text")
    if len({len(vector) for vector in decoded}) != 1 or not len(decoded[0]):
        raise ValueError("gave vectors of different widths")
    vectors = np.empty((count, len(decoded[0])), dtype=np.float32)
    for index, vector in zip(order, decoded, strict=True):
        vectors[index] = vector
    with np.errstate(over="ignore", invalid="ignore"):  # checked on the next line
        lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("gave vectors that are not finite or have no length")
    vectors /= lengths
    return vectors


def _index(value: Any) -> int | None:
    """Return an index, which may be written as text, or None without one."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"{type(value).__name__} instead of an index")
    return int(value)


def _order(indexes: Sequence[int | None]) -> list[int]:
    """Return the text of each row.

    Rows without an index, or all with index 0, are in the texts' order. A single row without one is the first, because
    Gemini leaves out a 0. Indexes may count from 1.
    """
    places = list(range(len(indexes)))
    known = {index for index in indexes if index is not None}
    if not known or (known == {0} and None not in indexes):
        return places
    order = [0 if index is None else index for index in indexes]
    if len(places) > 1 and sorted(order) == [place + 1 for place in places]:
        return [index - 1 for index in order]
    return order


def _vector(value: Any) -> NDArray[np.float32]:
    if isinstance(value, str):
        return np.frombuffer(_bytes(value), dtype="<f4")
    with np.errstate(over="ignore"):  # infinite values are refused with the others
        vector = np.asarray(value, dtype=np.float32)
    if vector.ndim == 2 and len(vector) == 1:  # llama.cpp: one vector in a list
        vector = vector[0]
    if vector.ndim != 1:
        raise ValueError("not a row of numbers")
    return vector


def _bytes(value: str) -> bytes:
    """Decode base64, also its form for addresses, with line ends, or without padding."""
    try:
        return pybase64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        plain = value.translate(_URL_SAFE).rstrip("=")
        return pybase64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
