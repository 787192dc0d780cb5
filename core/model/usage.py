"""Tokens and dollars of model calls, with OpenAI's JSON form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from core.model.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more calls. `cost` is in US dollars if the provider states it.

    `total_tokens` is at least the sum of the other two, which is its default. It is larger for providers that do not
    count reasoning as completion tokens.
    """

    prompt_tokens: int
    completion_tokens: int = 0
    total_tokens: int = 0
    cost: float | None = None

    def __post_init__(self) -> None:
        if self.prompt_tokens < 0 or self.completion_tokens < 0:
            raise ValueError("tokens are 0 or more")
        least = self.prompt_tokens + self.completion_tokens
        if self.total_tokens == 0:
            object.__setattr__(self, "total_tokens", least)
        if self.total_tokens < least:
            raise ValueError("total_tokens is less than prompt_tokens and completion_tokens together")

    def __add__(self, other: Usage) -> Usage:
        """Add tokens and costs. If only one side states a cost, the sum has that cost."""
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cost=sum(costs) if costs else None,
        )

    def to_json(self) -> dict[str, int]:
        """Return tokens under the names of OpenAI's `usage`."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read `usage`, completing what servers leave out.

        A missing count follows from the others, and a total below their sum is replaced by the sum.
        """
        if not isinstance(value, dict):
            raise ValueError("usage is an object")  # noqa: TRY004  # one kind of error for what was sent
        prompt, completion, total = (
            _count(value.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
        )
        if prompt is None and total is None:
            raise ValueError("usage holds neither prompt_tokens nor total_tokens")
        completion = completion or 0
        prompt = max((total or 0) - completion, 0) if prompt is None else prompt
        return cls(
            prompt_tokens=prompt,
            completion_tokens=completion,
            total_tokens=max(total or 0, prompt + completion),
            cost=_dollars(value.get("cost")),
        )


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and value >= 0 else None


def _dollars(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) and value >= 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """The tokens that calls of one model used."""

    model: str
    """The identity of the model."""
    tokens: Usage
    local: bool = False
    """Whether the model runs in this process. Its tokens cost nothing, and count in no total and no limit."""
    estimated: bool = False
    """Whether tokens are estimated from text lengths, because the server did not count them or was stopped."""
    calls: int = 1

    def __add__(self, other: ModelUsage) -> ModelUsage:
        """Add the tokens of other calls of the same model."""
        return ModelUsage(
            model=self.model,
            tokens=self.tokens + other.tokens,
            local=self.local,
            estimated=self.estimated or other.estimated,
            calls=self.calls + other.calls,
        )


class Embeddings(NamedTuple):
    """Unit vectors of an embedder, shape (texts, dimensions), and their usage."""

    vectors: Floats
    reused: int = 0
    """The number of vectors from the cache."""
    usage: ModelUsage | None = None
    """The usage, or None if no model was asked."""


class RerankScores(NamedTuple):
    """Scores of a reranking model, one for each text, and their usage if the server states it."""

    scores: Floats
    usage: ModelUsage | None = None
