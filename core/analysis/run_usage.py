"""What a run took of its models: tokens and dollars, by phase and model and in total."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.config.prices import Cost, Prices
from core.model import ModelUsage, Phase, Usage
from core.run.events import ModelUsed
from core.text.sanitize import pluralize

_PURPOSES = {
    Phase.PLAN: "planning",
    Phase.SEARCH: "search in collections",
    Phase.EMBED: "embeddings",
    Phase.RANK: "reranking",
    Phase.ANSWER: "answers",
}
UNKNOWN = "unknown"
"""The cost of a model that has no price, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """What a model took in a phase. Calls whose cost its provider states and others are two rows."""

    phase: Phase
    usage: ModelUsage
    cost: Cost | None
    """None when it is unknown."""

    @property
    def purpose(self) -> str:
        """What the model was asked for, in words."""
        return _PURPOSES.get(self.phase, str(self.phase))

    @property
    def counts(self) -> str:
        """Tokens read and written, such as `≈100 + 20`."""
        written = self.usage.tokens.completion_tokens
        counts = f"{self.usage.tokens.prompt_tokens:,}" + (f" + {written:,}" if written else "")
        return f"{'≈' if self.usage.estimated else ''}{counts}"

    def __str__(self) -> str:
        """Such as `answers: 600 + 100 in 2 calls, ~$0.0040`."""
        cost = "inside OpenQuery, free" if self.usage.local else self.cost or f"cost {UNKNOWN}"
        return f"{self.purpose}: {self.counts} in {pluralize(self.usage.calls, 'call')}, {cost}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """The rows of a run in the order of first use, and their total without models inside OpenQuery."""

    rows: tuple[UsageRow, ...]

    @property
    def billed(self) -> tuple[UsageRow, ...]:
        """The rows of models on servers."""
        return tuple(row for row in self.rows if not row.usage.local)

    @property
    def tokens(self) -> Usage | None:
        """The tokens on servers; None when no server was asked."""
        tokens = [row.usage.tokens for row in self.billed]
        return sum(tokens[1:], tokens[0]) if tokens else None

    @property
    def estimated(self) -> bool:
        """Whether a part of the tokens was estimated, because a server did not count it."""
        return any(row.usage.estimated for row in self.billed)

    @property
    def cost(self) -> Cost | None:
        """What is known of the cost; None where nothing is, or no server was asked."""
        costs = [row.cost for row in self.billed if row.cost]
        if not costs:
            return None
        return Cost(sum(cost.dollars for cost in costs), any(cost.estimated for cost in costs))

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models whose cost is unknown."""
        return tuple(dict.fromkeys(row.usage.model for row in self.billed if row.cost is None))

    @property
    def cost_text(self) -> str:
        """The cost in words, such as `~$0.0040`, `unknown` or `at least $0.0031`; empty when no server was asked."""
        if not self.billed:
            return ""
        if self.cost is None:
            return UNKNOWN
        return f"at least {self.cost}" if self.unpriced else str(self.cost)

    @property
    def explanation(self) -> str:
        """The rows in a sentence, with the models whose price is unknown."""
        text = f"{'; '.join(map(str, self.rows))}."
        return f"{text} No price is known of {', '.join(self.unpriced)}." if self.unpriced else text


def run_usage(calls: Iterable[ModelUsed], prices: Prices) -> RunUsage:
    """The rows of a run's `model_usage`: costs as providers state them, else by the price table."""
    return RunUsage(
        rows=tuple(
            UsageRow(phase=call.phase, usage=call.usage, cost=prices.cost(call.usage)) for call in calls
        )
    )
