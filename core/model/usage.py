"""Tokens and dollars: what calls of models took, with OpenAI's JSON form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from core.model.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more calls; `cost` in US dollars where the provider states it.

    `total_tokens` is at least the sum of the other two, which it is by default. Providers that do not list
    reasoning under completion tokens have a larger one.
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
        """The tokens of both. A cost that only one of them states is that one's."""
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cost=sum(costs) if costs else None,
        )

    def to_json(self) -> dict[str, int]:
        """Tokens as OpenAI's `usage` names them."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Servers differ in what they count: what is missing follows from the rest, a total that is too low is the sum."""
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
    """The tokens that calls of one model took."""

    model: str
    """The identity of the model."""
    tokens: Usage
    local: bool = False
    """The model runs in this process: nobody is billed, so its tokens are in no total and under no limit."""
    estimated: bool = False
    """The server counted nothing, or was stopped before it could: from the lengths of the texts."""
    calls: int = 1

    def __add__(self, other: ModelUsage) -> ModelUsage:
        """The tokens of further calls of the same model."""
        return ModelUsage(
            model=self.model,
            tokens=self.tokens + other.tokens,
            local=self.local,
            estimated=self.estimated or other.estimated,
            calls=self.calls + other.calls,
        )


class Embeddings(NamedTuple):
    """What an embedder gave for some texts: unit vectors, shape (texts, dimensions), and what they took."""

    vectors: Floats
    reused: int = 0
    """How many of the vectors were cached."""
    usage: ModelUsage | None = None
    """None where no model was asked."""


class RerankScores(NamedTuple):
    """What a reranking model gave for some texts: a score for each, and what they took where its server tells."""

    scores: Floats
    usage: ModelUsage | None = None
