"""Track a run's spending, and the rest of its budget for the answer."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from core.config.prices import Cost, Prices
from core.config.run_knobs import RunKnobs
from core.model import Phase, Severity, Usage
from core.run.events import ModelUsed, Note
from core.run.state import Run
from core.text.sanitize import pluralize

ANSWER_SHARE = 0.25
"""The share of each budget that earlier steps reserve for the answer."""

_NOT_CHAT = frozenset({Phase.SEARCH, Phase.EMBED, Phase.RANK})
"""Phases whose models embed or rerank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBudget:
    """The budget of a run and its spending so far. A budget of 0 means no limit."""

    knobs: RunKnobs
    prices: Prices
    run: Run
    since: Run | None = None
    """The run before a follow-up, whose spending is not counted. None counts all of the run."""

    @property
    def tokens(self) -> int:
        """Tokens that chat models have read and written."""
        return round(
            self._spent(lambda used: 0 if used.phase in _NOT_CHAT else used.usage.tokens.total_tokens)
        )

    @property
    def seconds(self) -> float:
        """Seconds until the latest event."""
        return self.run.seconds - (self.since.seconds if self.since else 0)

    @property
    def dollars(self) -> float:
        """The known cost in US dollars."""
        return self._spent(lambda used: (self.prices.cost(used.usage) or Cost(0)).dollars)

    @property
    def tokens_left(self) -> float:
        """Tokens left in the budget, negative after an overrun."""
        return (self.knobs.token_budget or math.inf) - self.tokens

    @property
    def seconds_left(self) -> float:
        """Seconds left in the budget."""
        return (self.knobs.time_budget or math.inf) - self.seconds

    @property
    def dollars_left(self) -> float:
        """US dollars left in the budget."""
        return (self.knobs.dollar_budget or math.inf) - self.dollars

    def exhausted(self) -> str:
        """Return a message on used-up budgets, or "". They forbid further steps. The answer's share is kept."""
        knobs = self.knobs
        spent = (
            (
                self.tokens_left,
                knobs.token_budget,
                f"{self.tokens:,} of {pluralize(knobs.token_budget, 'token')}",
            ),
            (
                self.seconds_left,
                knobs.time_budget,
                f"{self.seconds:.0f} of {pluralize(knobs.time_budget, 'second')}",
            ),
            (self.dollars_left, knobs.dollar_budget, f"{Cost(self.dollars)} of {Cost(knobs.dollar_budget)}"),
        )
        used_up = [words for left, budget, words in spent if budget and left <= ANSWER_SHARE * budget]
        return f"{' and '.join(used_up)} are used, and the rest is kept for the answer." if used_up else ""

    def refusal(self, prompt_tokens: int, answer_tokens: int, model: str) -> Note | None:
        """Return a note if the budget does not cover an answer.

        The note gives the cost of raising the budget. `answer_tokens` is the maximum that the model may write. None if
        the budget covers the answer.
        """
        price = self.prices.price(model)
        cost = price and price.of(Usage(prompt_tokens=prompt_tokens, completion_tokens=answer_tokens))
        needed = []
        if self.tokens_left < prompt_tokens + answer_tokens:
            needed.append(f"the token budget to {self.tokens + prompt_tokens + answer_tokens:,}")
        if cost and cost.dollars and self.dollars_left < cost.dollars:
            needed.append(f"the dollar budget to {Cost(self.dollars + cost.dollars)}")
        if not needed:
            return None
        return Note(
            Phase.ANSWER,
            f"What is left of the budget, after {pluralize(self.tokens, 'token')}, does not cover a written answer, so sentences of "
            "the sources are quoted.",
            f"Raise {' and '.join(needed)}: {model} would read about {pluralize(prompt_tokens, 'token')} and may write "
            f"{answer_tokens:,}, which costs {f'up to {cost}' if cost else 'an unknown amount'}.",
            Severity.WARNING,
        )

    def doubt(self, model: str) -> Note | None:
        """Return a note if the dollar budget cannot limit this model. That is so if the model's price is unknown."""
        if not self.knobs.dollar_budget or self.prices.price(model):
            return None
        return Note(
            Phase.ANSWER,
            f"The dollar budget does not limit {model}, whose price is unknown.",
            "Add it to the prices on the System page, which are prices.csv in the data folder.",
        )

    def _spent(self, amount: Callable[[ModelUsed], float]) -> float:
        earlier = self.since.model_usage if self.since else ()
        return sum(map(amount, self.run.model_usage)) - sum(map(amount, earlier))
