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

_LISTS, _INDEXES = ("results", "data", "rankings", "scores"), ("index", "corpus_id")
_SCORES = ("relevance_score", "score", "logit")
_CHECK = "Check OPENQUERY_RERANK_URL and OPENQUERY_RERANK_MODEL, or turn reranking off."


class Reranker:
    """Scores of a reranking model, on its own scale.

    The first call uses `documents` as in the format of Jina, Cohere and vLLM. If that is refused as malformed, it is
    repeated with `texts` as in Text Embeddings Inference, which is then used for later calls. Scores may have any known
    name, be in any order with their indexes or in the texts' order without, and stand in a list or under a known name.
    `client` must follow no redirects.
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
        scores: dict[int, float] = {}
        try:
            rows = _rows(body)
            for place, row in enumerate(rows):
                index, score = (
                    (_field(row, _INDEXES), _field(row, _SCORES)) if isinstance(row, dict) else (place, row)
                )
                scores[int(index)] = float(score)
        except (KeyError, TypeError, ValueError, StopIteration) as error:
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


def _rows(body: Any) -> Any:
    """Return the rows of a reply: the reply itself, or one of its fields, which may be inside `output`."""
    if not isinstance(body, dict):
        return body
    inner = body.get("output")
    body = inner if isinstance(inner, dict) else body
    return next(body[name] for name in _LISTS if name in body)


def _field(row: dict[str, Any], names: Sequence[str]) -> Any:
    return next(row[name] for name in names if name in row)


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
