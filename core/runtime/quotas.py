"""Quotas per person: runs an hour, tokens and dollars a day."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from cachetools import LRUCache

from core.config.prices import SHIPPED, Cost, Prices
from core.config.settings import Settings
from core.errors import LimitReached
from core.run.events import Event, ModelUsed, Record
from core.run.recorder import Listener
from core.run.state import Run
from core.text.sanitize import pluralize

HOUR, DAY = 3600.0, 86_400.0
ACCOUNTS = 10_000
"""The most accounts in memory. The least recently used is evicted first."""
_REMEMBERED = 20
"""The number of recent works. The next work is expected to use as much as their largest."""


class TokenTotals(NamedTuple):
    """The tokens and dollars of model calls."""

    tokens: int = 0
    dollars: float = 0.0
    """Dollars of calls with a known price."""


FIRST_WORK = TokenTotals(10_000, 0.1)
"""The expected use of a person's first work: a run of the defaults with a margin."""


@dataclass(slots=True)
class _Account:
    """The usage of one person: times of runs, and model calls with their times."""

    runs: deque[float] = field(default_factory=deque)
    calls: deque[tuple[float, TokenTotals]] = field(default_factory=deque)
    under_way: set[Work] = field(default_factory=set)
    ended: deque[TokenTotals] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """The usage of recent works that used anything."""


class Work:
    """Work that calls models: a run, a draft, a judgement, the answers of an experiment.

    As a context manager it reserves its expected usage and settles at the end. `charge` counts its calls.
    """

    def __init__(self, quotas: Quotas, subject: str, expected_tokens: int = 0) -> None:
        self.expected_tokens = expected_tokens
        self.reserved = self.spent = TokenTotals()
        self._quotas, self._subject = quotas, subject

    def __enter__(self) -> Self:
        """Raise LimitReached if the daily budget is used up or reserved by other work."""
        self._quotas.begin(self._subject, self)
        return self

    def __exit__(self, *_error: object) -> None:
        self._quotas.end(self._subject, self)

    @property
    def outstanding(self) -> TokenTotals:
        """The reserved amount that is not spent yet."""
        tokens, dollars = (
            max(0, most - spent) for most, spent in zip(self.reserved, self.spent, strict=True)
        )
        return TokenTotals(int(tokens), dollars)

    def charge(self, event: Event) -> None:
        """Count a model call with `Quotas.charge`."""
        self._quotas.charge(self._subject, event, self)

    def listen(self, record: Record, _run: Run) -> None:
        """Count the model calls of a run, as its listener."""
        self.charge(record.event)


class Quotas:
    """Sliding-window usage counts per subject. A limit of 0 means none.

    Runs count for an hour, tokens and dollars for 24 hours.

    Tokens are counted for chat, embedding and reranking models on servers. Built-in models are free. Dollars are those
    that providers state, otherwise prices of the table. A model without a price counts in tokens only. Both are known
    after a call has ended, so work reserves an expected amount when it begins, and is refused if the limit is then
    exceeded. Counts are in memory only. Any thread may call.
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
        """Return the quotas of a server with these settings."""
        limits = settings.runs_per_hour, settings.tokens_per_day, settings.dollars_per_day
        return cls(*limits, prices=prices)

    def charge_run(self, subject: str) -> None:
        """Count a run that the subject is about to start.

        Raises:
            LimitReached: when a limit of runs, tokens or dollars is reached. Nothing is counted then.
        """
        with self._lock:
            account = self._account(subject)
            self._refuse_without_budget(account)
            if self.runs_per_hour and len(account.runs) >= self.runs_per_hour:
                wait = account.runs[0] + HOUR - self._clock()
                raise LimitReached(
                    f"You have asked {pluralize(self.runs_per_hour, 'question')} within an hour, which is the limit here.",
                    hint=f"Ask again in {_duration(wait)}.",
                    seconds=wait,
                )
            account.runs.append(self._clock())

    def require_budget(self, subject: str) -> None:
        """Refuse an answer without budget. The budget is the subject's tokens and dollars of the day.

        Raises:
            LimitReached: when none are left.
        """
        with self._lock:
            self._refuse_without_budget(self._account(subject))

    def spent(self, subject: str) -> TokenTotals:
        """Return what the subject spent within 24 hours."""
        with self._lock:
            return _total([spent for _, spent in self._account(subject).calls])

    def work(self, subject: str, expected_tokens: int = 0) -> Work:
        """Return work of the subject that begins later. `expected_tokens`: its token budget, 0 without a budget."""
        return Work(self, subject, expected_tokens)

    def begin(self, subject: str, work: Work) -> None:
        """Reserve the expected usage of a work.

        It is the largest recent usage or the work's token budget, at most the remaining budget of the day.

        Raises:
            LimitReached: when nothing is left.
        """
        with self._lock:
            account = self._account(subject)
            self._refuse_without_budget(account)
            largest = [max(amounts) for amounts in zip(*(account.ended or [FIRST_WORK]), strict=True)]
            expected = TokenTotals(max(int(largest[0]), work.expected_tokens), largest[1])
            used = _total([spent for _, spent in account.calls])
            outstanding = _total([other.outstanding for other in account.under_way])
            limits = TokenTotals(self.tokens_per_day, self.dollars_per_day)
            left = [limit - a - b for limit, a, b in zip(limits, used, outstanding, strict=True)]
            if any(limit and rest <= 0 for limit, rest in zip(limits, left, strict=True)):
                raise LimitReached(
                    "What is left of your limit of the day is reserved for the work of yours that is under way.",
                    hint="Ask again when it has ended.",
                )
            reserved = [
                min(amount, rest) if limit else amount
                for limit, rest, amount in zip(limits, left, expected, strict=True)
            ]
            work.reserved = TokenTotals(int(reserved[0]), reserved[1])
            account.under_way.add(work)

    def end(self, subject: str, work: Work) -> None:
        """Settle the work and release its unused reservation."""
        with self._lock:
            account = self._account(subject)
            account.under_way.discard(work)
            if any(work.spent):
                account.ended.append(work.spent)

    def charge(self, subject: str, event: Event, work: Work | None = None) -> None:
        """Count a model call that has ended, broken off or been stopped. Other events count nothing."""
        match event:
            case ModelUsed(usage=usage) if not usage.local:
                dollars = (self._prices().cost(usage) or Cost(0)).dollars
                with self._lock:
                    spent = TokenTotals(usage.tokens.total_tokens, dollars)
                    self._account(subject).calls.append((self._clock(), spent))
                    if work:
                        work.spent = _total([work.spent, spent])

    def meter(self, subject: str) -> Listener:
        """Return a listener that counts model calls."""
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
        """Return the subject's account without expired entries."""
        account = self._accounts.setdefault(subject, _Account())
        current_time = self._clock()
        while account.runs and account.runs[0] <= current_time - HOUR:
            account.runs.popleft()
        while account.calls and account.calls[0][0] <= current_time - DAY:
            account.calls.popleft()
        return account


def _total(amounts: Iterable[TokenTotals]) -> TokenTotals:
    listed = list(amounts)
    return TokenTotals(sum(spent.tokens for spent in listed), sum(spent.dollars for spent in listed))


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 90:
        return pluralize(minutes, "minute")
    return pluralize(round(minutes / 60), "hour")
