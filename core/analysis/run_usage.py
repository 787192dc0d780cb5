"""A run's use of models: tokens and dollars, by phase and model and in total."""

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
"""The displayed cost of a model without a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """A model's use in a phase. Calls with and without a stated cost are separate rows."""

    phase: Phase
    usage: ModelUsage
    cost: Cost | None
    """The cost, or None if unknown."""

    @property
    def purpose(self) -> str:
        """The displayed purpose of the calls."""
        return _PURPOSES.get(self.phase, str(self.phase))

    @property
    def counts(self) -> str:
        """Tokens read and written, such as `≈100 + 20`."""
        written = self.usage.tokens.completion_tokens
        counts = f"{self.usage.tokens.prompt_tokens:,}" + (f" + {written:,}" if written else "")
        return f"{'≈' if self.usage.estimated else ''}{counts}"

    def __str__(self) -> str:
        """Return a line such as `answers: 600 + 100 in 2 calls, ~$0.0040`."""
        cost = "inside OpenQuery, free" if self.usage.local else self.cost or f"cost {UNKNOWN}"
        return f"{self.purpose}: {self.counts} in {pluralize(self.usage.calls, 'call')}, {cost}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """The rows of a run in the order of first use, with totals of models on servers."""

    rows: tuple[UsageRow, ...]

    @property
    def billed(self) -> tuple[UsageRow, ...]:
        """The rows of models on servers."""
        return tuple(row for row in self.rows if not row.usage.local)

    @property
    def tokens(self) -> Usage | None:
        """The tokens on servers, or None."""
        tokens = [row.usage.tokens for row in self.billed]
        return sum(tokens[1:], tokens[0]) if tokens else None

    @property
    def estimated(self) -> bool:
        """Whether any tokens were estimated, because a server did not count them."""
        return any(row.usage.estimated for row in self.billed)

    @property
    def cost(self) -> Cost | None:
        """The known part of the cost, or None."""
        costs = [row.cost for row in self.billed if row.cost]
        if not costs:
            return None
        return Cost(sum(cost.dollars for cost in costs), any(cost.estimated for cost in costs))

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models without a known cost."""
        return tuple(dict.fromkeys(row.usage.model for row in self.billed if row.cost is None))

    @property
    def cost_text(self) -> str:
        """The displayed cost, such as `~$0.0040`, `unknown` or `at least $0.0031`, or "" without calls of servers."""
        if not self.billed:
            return ""
        if self.cost is None:
            return UNKNOWN
        return f"at least {self.cost}" if self.unpriced else str(self.cost)

    @property
    def explanation(self) -> str:
        """The rows in a sentence, with unpriced models."""
        text = f"{'; '.join(map(str, self.rows))}."
        return f"{text} No price is known of {', '.join(self.unpriced)}." if self.unpriced else text


def run_usage(calls: Iterable[ModelUsed], prices: Prices) -> RunUsage:
    """Return the rows of a run's `model_usage`.

    Costs are stated by providers, or else computed by the price table.
    """
    return RunUsage(
        rows=tuple(
            UsageRow(phase=call.phase, usage=call.usage, cost=prices.cost(call.usage)) for call in calls
        )
    )
