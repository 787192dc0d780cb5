"""Any `/rerank` endpoint: in the shape of Jina, Cohere and vLLM, or in that of Text Embeddings Inference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import SecretStr

from core.adapters.models.openai_client import host_of, plain_key, provider_text
from core.errors import RerankFailed
from core.text.sanitize import encodable

TOGETHER = 32
"""Texts in one call: what Text Embeddings Inference takes unless it is told otherwise."""

_CHECK = "Check OPENQUERY_RERANK_URL and OPENQUERY_RERANK_MODEL, or turn reranking off."


class Reranker:
    """Scores of a reranking model, on whatever scale it has.

    The first call asks with `documents`, as Jina, Cohere and vLLM do; when that is refused as malformed, it
    is asked again with `texts`, as Text Embeddings Inference does, and from then on so. Scores may come as
    `relevance_score` or `score`, in any order, in a list or under `results` or `data`. `client` must follow
    no redirects.
    """

    def __init__(
        self,
        url: str,
        model: str = "",
        api_key: SecretStr | None = None,
        *,
        timeout: float = 60.0,
        client: httpx.AsyncClient,
    ) -> None:
        self.model = model
        self.host = host_of(url)
        self._url = url.rstrip("/")
        self._key = plain_key(api_key)
        self._timeout = timeout
        self._client = client
        self._field = "documents"

    @property
    def identity(self) -> str:
        return f"{self.model or 'rerank'}@{self.host}"

    async def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One finite score for each text, higher for better.

        Raises:
            RerankFailed: when the server refuses, stays silent, or gives anything else than that.
        """
        scores = np.empty(len(texts), dtype=np.float32)
        for at in range(0, len(texts), TOGETHER):
            part = texts[at : at + TOGETHER]
            scores[at : at + len(part)] = await self._scores(question, part)
        return scores

    async def _scores(self, question: str, texts: Sequence[str]) -> list[float]:
        response = await self._asked(question, texts, self._field)
        if response.status_code in (400, 422) and self._field == "documents":
            other = await self._asked(question, texts, "texts")
            if other.status_code == 200:
                self._field, response = "texts", other
        if response.status_code != 200:
            raise self._refused(response)
        return self._read(_parsed(response), len(texts))

    async def _asked(self, question: str, texts: Sequence[str], field: str) -> httpx.Response:
        body: dict[str, Any] = {"query": encodable(question), field: list(map(encodable, texts))}
        if self.model:
            body["model"] = self.model
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        try:
            return await self._client.post(
                self._url, content=orjson.dumps(body), headers=headers, timeout=self._timeout
            )
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise RerankFailed(
                f"{self.host} is not the address of a server.",
                hint="Set OPENQUERY_RERANK_URL to something like https://api.jina.ai/v1/rerank.",
            ) from error
        except httpx.TimeoutException as error:
            raise RerankFailed(
                f"{self.host} did not rerank within {self._timeout:g} seconds.",
                hint="Raise OPENQUERY_MODEL_TIMEOUT, or turn reranking off.",
            ) from error
        except httpx.DecodingError as error:
            raise RerankFailed(f"{self.host} sent a reply that does not unpack.", hint=_CHECK) from error
        except httpx.RequestError as error:
            raise RerankFailed(f"Nothing answers at {self.host}.", hint=f"Is it running? {_CHECK}") from error

    def _refused(self, response: httpx.Response) -> RerankFailed:
        said = provider_text(_parsed(response), self._key)
        quoted = f": {said}" if said else ""
        match response.status_code:
            case 401 | 403:
                message, hint = "refused the key", "Check OPENQUERY_RERANK_KEY."
            case 402:
                message, hint = "has no credit left for reranking", "Add credit, or turn reranking off."
            case 404 | 405:
                message, hint = "reranks nothing at this address", "Most addresses end in /rerank."
            case 429:
                message, hint = "takes no more requests for now", "Ask again in a minute."
            case status if 300 <= status < 400:
                message, hint = "sends requests elsewhere, which is not followed", _CHECK
            case status:
                message, hint = f"failed to rerank ({status})", _CHECK
        return RerankFailed(f"{self.host} {message}{quoted}.", hint=hint)

    def _read(self, body: Any, count: int) -> list[float]:
        rows: Any = body.get("results", body.get("data")) if isinstance(body, dict) else body
        found: dict[int, float] = {}
        try:
            for row in rows:
                found[int(row["index"])] = float(
                    row["relevance_score" if "relevance_score" in row else "score"]
                )
        except (KeyError, TypeError, ValueError) as error:
            raise RerankFailed(f"{self.host} gave scores in an unknown form.", hint=_CHECK) from error
        if len(rows) != count or set(found) != set(range(count)):
            raise RerankFailed(f"{self.host} gave {len(rows)} scores for {count} passages.", hint=_CHECK)
        if not all(map(math.isfinite, found.values())):
            raise RerankFailed(f"{self.host} gave scores that are no numbers.", hint=_CHECK)
        return [found[index] for index in range(count)]


def _parsed(response: httpx.Response) -> Any:
    try:
        return orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return response.text[:1000]
