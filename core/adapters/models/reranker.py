"""Rerank with any `/rerank` endpoint, in the format of Jina, Cohere and vLLM or of Text Embeddings Inference."""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import httpx
import numpy as np
from pydantic import SecretStr

from core.adapters.models.model_http import ModelService, host_of, parsed_body, plain_key, post_json
from core.errors import RerankFailed
from core.model import ModelUsage, RerankScores, Usage
from core.ports import RERANK_DEPTH
from core.text.sanitize import encodable, pluralize

MAX_BATCH = 32
"""The maximum texts in one call, the default of Text Embeddings Inference."""

_CHECK = "Check OPENQUERY_RERANK_URL and OPENQUERY_RERANK_MODEL, or turn reranking off."


class Reranker:
    """Scores of a reranking model, on its own scale.

    The first call uses `documents` as in the format of Jina, Cohere and vLLM. If that is refused as malformed, it is
    repeated with `texts` as in Text Embeddings Inference, which is then used for later calls. Scores may be named
    `relevance_score` or `score`, in any order, in a list or under `results` or `data`. `client` must follow no
    redirects.
    """

    depth = RERANK_DEPTH

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
        self._service = ModelService(
            error=RerankFailed,
            endpoint="reranking",
            host=self.host,
            model=model,
            key=plain_key(api_key),
            key_place="in OPENQUERY_RERANK_KEY",
            address="OPENQUERY_RERANK_URL",
            example="https://api.jina.ai/v1/rerank",
            address_end="/rerank",
            alternative="turn reranking off",
            too_long="Make passages smaller, or turn reranking off.",
        )
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._client = client
        self._field = "documents"

    @property
    def identity(self) -> str:
        """The model and its host."""
        return f"{self.model or 'rerank'}@{self.host}"

    async def __call__(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Score each text, higher for better. The tokens are included if the server reports them.

        Raises:
            RerankFailed: when the server refuses, stays silent, or gives no finite score for a text.
        """
        scores = np.empty(len(texts), dtype=np.float32)
        usage: Usage | None = None
        for start in range(0, len(texts), MAX_BATCH):
            part = texts[start : start + MAX_BATCH]
            body = await self._reply(question, part)
            scores[start : start + len(part)] = self._read(body, len(part))
            if took := _usage(body):
                usage = usage + took if usage else took
        return RerankScores(scores, ModelUsage(model=self.identity, tokens=usage) if usage else None)

    async def _reply(self, question: str, texts: Sequence[str]) -> Any:
        response = await self._request(question, texts, self._field)
        if response.status_code in (400, 422) and self._field == "documents":
            other = await self._request(question, texts, "texts")
            if other.status_code == 200:
                self._field, response = "texts", other
        if response.status_code != 200:
            raise self._service.refusal(response.status_code, parsed_body(response), response.headers)
        return parsed_body(response)

    async def _request(self, question: str, texts: Sequence[str], field: str) -> httpx.Response:
        body: dict[str, Any] = {"query": encodable(question), field: list(map(encodable, texts))}
        if self.model:
            body["model"] = self.model
        return await post_json(self._service, self._client, self._url, body, self._timeout)

    def _read(self, body: Any, count: int) -> list[float]:
        rows: Any = body.get("results", body.get("data")) if isinstance(body, dict) else body
        scores: dict[int, float] = {}
        try:
            for row in rows:
                scores[int(row["index"])] = float(
                    row["relevance_score" if "relevance_score" in row else "score"]
                )
        except (KeyError, TypeError, ValueError) as error:
            raise RerankFailed(
                f"{self._service.host} gave scores in an unknown form.", hint=_CHECK
            ) from error
        if len(rows) != count or set(scores) != set(range(count)):
            raise RerankFailed(
                f"{self._service.host} gave {pluralize(len(rows), 'score')} for {pluralize(count, 'passage')}.",
                hint=_CHECK,
            )
        if not all(map(math.isfinite, scores.values())):
            raise RerankFailed(f"{self._service.host} gave scores that are no numbers.", hint=_CHECK)
        return [scores[index] for index in range(count)]


def _usage(body: Any) -> Usage | None:
    """Read the token usage. Jina and vLLM send it under `usage`, and Cohere under `meta.tokens`."""
    if not isinstance(body, dict):
        return None
    meta = body.get("meta")
    tokens = meta.get("tokens") if isinstance(meta, dict) else None
    if isinstance(tokens, dict):
        tokens = {
            "prompt_tokens": tokens.get("input_tokens"),
            "completion_tokens": tokens.get("output_tokens"),
        }
    with suppress(ValueError):
        return Usage.from_json(body.get("usage") or tokens)
    return None
