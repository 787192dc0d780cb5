"""Quotas per person: runs an hour, and tokens and dollars a day."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from cachetools import LRUCache

from core.config.prices import SHIPPED, Cost, Prices
from core.config.settings import Settings
from core.errors import LimitReached
from core.run.events import Event, ModelUsed
from core.run.recorder import Listener
from core.text.sanitize import pluralize

HOUR, DAY = 3600.0, 86_400.0
ACCOUNTS = 10_000
"""Accounts kept in memory; the least recently used is evicted first."""


class Spent(NamedTuple):
    """What calls of models took."""

    tokens: int = 0
    dollars: float = 0.0
    """As far as it is known."""


@dataclass(slots=True)
class _Account:
    """The usage of one person: when runs began, and what calls of models took, with the time of each."""

    runs: deque[float] = field(default_factory=deque)
    calls: deque[tuple[float, Spent]] = field(default_factory=deque)


class Quotas:
    """Sliding-window counts per subject: runs of the last hour, tokens and dollars of the last 24 hours. A limit of 0 is
    none.

    Tokens are those of chat, embedding and reranking models on servers; models inside OpenQuery cost nobody
    anything. Dollars are those that providers state, else those of the price table; a model without a price counts
    in tokens only. They are known when a call has ended, so the answer that exceeds the limit is still written and
    the next one is refused. Counts are in memory only. Any thread may call.
    """

    def __init__(
        self,
        runs_per_hour: int = 0,
        tokens_per_day: int = 0,
        dollars_per_day: float = 0.0,
        *,
        prices: Callable[[], Prices] = lambda: SHIPPED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.runs_per_hour = runs_per_hour
        self.tokens_per_day = tokens_per_day
        self.dollars_per_day = dollars_per_day
        self._prices = prices
        self._clock = clock
        self._accounts: LRUCache[str, _Account] = LRUCache(ACCOUNTS)
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, settings: Settings, prices: Callable[[], Prices]) -> Self:
        """The quotas of a server with these settings."""
        limits = settings.runs_per_hour, settings.tokens_per_day, settings.dollars_per_day
        return cls(*limits, prices=prices)

    def charge_run(self, subject: str) -> None:
        """Count a run that the subject is about to start.

        Raises:
            LimitReached: when it would be one too many, or no tokens or dollars are left; nothing is counted then.
        """
        with self._lock:
            account = self._account(subject)
            self._refuse_without_budget(account)
            if self.runs_per_hour and len(account.runs) >= self.runs_per_hour:
                wait = account.runs[0] + HOUR - self._clock()
                raise LimitReached(
                    f"You have asked {self.runs_per_hour:,} questions within an hour, which is the limit here.",
                    hint=f"Ask again in {_duration(wait)}.",
                    seconds=wait,
                )
            account.runs.append(self._clock())

    def require_budget(self, subject: str) -> None:
        """Refuse another answer when the subject has used up the tokens or dollars of the day.

        Raises:
            LimitReached: when none are left.
        """
        with self._lock:
            self._refuse_without_budget(self._account(subject))

    def spent(self, subject: str) -> Spent:
        """What the subject has spent within the last 24 hours."""
        with self._lock:
            calls = [spent for _, spent in self._account(subject).calls]
        return Spent(sum(spent.tokens for spent in calls), sum(spent.dollars for spent in calls))

    def charge(self, subject: str, event: Event) -> None:
        """Count a call of a model that has ended, broken off or been stopped. Other events count nothing."""
        match event:
            case ModelUsed(usage=usage) if not usage.local:
                dollars = (self._prices().cost(usage) or Cost(0)).dollars
                with self._lock:
                    spent = Spent(usage.tokens.total_tokens, dollars)
                    self._account(subject).calls.append((self._clock(), spent))

    def meter(self, subject: str) -> Listener:
        """A listener that counts each call of a model."""
        return lambda record, _run: self.charge(subject, record.event)

    def _refuse_without_budget(self, account: _Account) -> None:
        calls = account.calls
        self._refuse_over([(at, spent.tokens) for at, spent in calls], self.tokens_per_day, "{:,} tokens")
        self._refuse_over([(at, spent.dollars) for at, spent in calls], self.dollars_per_day, "${:,.2f}")

    def _refuse_over(self, amounts: list[tuple[float, float]], limit: float, unit: str) -> None:
        used = sum(amount for _, amount in amounts)
        if limit and used >= limit:
            over, wait = used - limit, 0.0
            for timestamp, amount in amounts:
                over, wait = over - amount, timestamp + DAY - self._clock()
                if over < 0:
                    break
            raise LimitReached(
                f"You have used {unit.format(used)} within a day; the limit here is {unit.format(limit)}.",
                hint=f"Ask again in {_duration(wait)}.",
                seconds=wait,
            )

    def _account(self, subject: str) -> _Account:
        """The subject's account without entries that are older than its windows."""
        account = self._accounts.setdefault(subject, _Account())
        current_time = self._clock()
        while account.runs and account.runs[0] <= current_time - HOUR:
            account.runs.popleft()
        while account.calls and account.calls[0][0] <= current_time - DAY:
            account.calls.popleft()
        return account


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 90:
        return pluralize(minutes, "minute")
    hours = round(minutes / 60)
    return f"{hours} hours"
