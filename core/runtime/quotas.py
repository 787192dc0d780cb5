"""Quotas per person: runs an hour, and tokens and dollars a day."""

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
"""Accounts kept in memory; the least recently used is evicted first."""


class Spent(NamedTuple):
    """What calls of models took."""

    tokens: int = 0
    dollars: float = 0.0
    """As far as it is known."""


FIRST_WORK = Spent(10_000, 0.1)
"""What a piece of work is expected to take before any of its person has ended: a run of the defaults with some to spare."""
_REMEMBERED = 20
"""Pieces of work whose largest is expected of the next one."""


@dataclass(slots=True)
class _Account:
    """The usage of one person: when runs began, and what calls of models took, with the time of each."""

    runs: deque[float] = field(default_factory=deque)
    calls: deque[tuple[float, Spent]] = field(default_factory=deque)
    under_way: set[Work] = field(default_factory=set)
    ended: deque[Spent] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """What the latest pieces of work took, if they took anything."""


class Work:
    """A piece of work that calls models: a run, a draft, a judgement, the answers of an experiment.

    As a context manager it reserves what it is expected to take, and settles that at the end. `charge` counts its calls.
    """

    def __init__(self, quotas: Quotas, subject: str, expected_tokens: int = 0) -> None:
        self.expected_tokens = expected_tokens
        self.reserved = self.spent = Spent()
        self._quotas, self._subject = quotas, subject

    def __enter__(self) -> Self:
        """Raises LimitReached: when the budget of the day is used up, or reserved by other work."""
        self._quotas.begin(self._subject, self)
        return self

    def __exit__(self, *_error: object) -> None:
        self._quotas.end(self._subject, self)

    @property
    def outstanding(self) -> Spent:
        """What is reserved and not spent yet."""
        tokens, dollars = (
            max(0, most - spent) for most, spent in zip(self.reserved, self.spent, strict=True)
        )
        return Spent(int(tokens), dollars)

    def charge(self, event: Event) -> None:
        """Count a call of a model, as `Quotas.charge`."""
        self._quotas.charge(self._subject, event, self)

    def listen(self, record: Record, _run: Run) -> None:
        """Count the calls of a run, as its listener."""
        self.charge(record.event)


class Quotas:
    """Sliding-window counts per subject: runs of the last hour, tokens and dollars of the last 24 hours. A limit of 0 is
    none.

    Tokens are those of chat, embedding and reranking models on servers; models inside OpenQuery cost nobody
    anything. Dollars are those that providers state, else those of the price table; a model without a price counts
    in tokens only. They are known when a call has ended, so work reserves an expected amount when it begins, and what
    exceeds the limit by then is refused. Counts are in memory only. Any thread may call.
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
                    f"You have asked {pluralize(self.runs_per_hour, 'question')} within an hour, which is the limit here.",
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
            return _total([spent for _, spent in self._account(subject).calls])

    def work(self, subject: str, expected_tokens: int = 0) -> Work:
        """Work of the subject that begins later. `expected_tokens`: a budget of its own, 0 if it has none."""
        return Work(self, subject, expected_tokens)

    def begin(self, subject: str, work: Work) -> None:
        """Reserve what the work is expected to take: as much as the largest of the latest, at most what is left.

        Raises:
            LimitReached: when nothing is left.
        """
        with self._lock:
            account = self._account(subject)
            self._refuse_without_budget(account)
            largest = [max(amounts) for amounts in zip(*(account.ended or [FIRST_WORK]), strict=True)]
            expected = Spent(max(int(largest[0]), work.expected_tokens), largest[1])
            used = _total([spent for _, spent in account.calls])
            outstanding = _total([other.outstanding for other in account.under_way])
            limits = Spent(self.tokens_per_day, self.dollars_per_day)
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
            work.reserved = Spent(int(reserved[0]), reserved[1])
            account.under_way.add(work)

    def end(self, subject: str, work: Work) -> None:
        """Settle the work: what it did not take is free again."""
        with self._lock:
            account = self._account(subject)
            account.under_way.discard(work)
            if any(work.spent):
                account.ended.append(work.spent)

    def charge(self, subject: str, event: Event, work: Work | None = None) -> None:
        """Count a call of a model that has ended, broken off or been stopped. Other events count nothing."""
        match event:
            case ModelUsed(usage=usage) if not usage.local:
                dollars = (self._prices().cost(usage) or Cost(0)).dollars
                with self._lock:
                    spent = Spent(usage.tokens.total_tokens, dollars)
                    self._account(subject).calls.append((self._clock(), spent))
                    if work:
                        work.spent = _total([work.spent, spent])

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


def _total(amounts: Iterable[Spent]) -> Spent:
    listed = list(amounts)
    return Spent(sum(spent.tokens for spent in listed), sum(spent.dollars for spent in listed))


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 90:
        return pluralize(minutes, "minute")
    return pluralize(round(minutes / 60), "hour")
