"""Quotas per person: runs an hour and tokens a day."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import LRUCache

from core.errors import LimitReached
from core.run.events import Event, ModelUsed
from core.run.recorder import Listener
from core.text.sanitize import pluralize

HOUR, DAY = 3600.0, 86_400.0
ACCOUNTS = 10_000
"""Accounts kept in memory; the least recently used is evicted first."""


@dataclass(slots=True)
class _Account:
    """The usage of one person: when runs began, and tokens with the time of their use."""

    runs: deque[float] = field(default_factory=deque)
    tokens: deque[tuple[float, int]] = field(default_factory=deque)


class Quotas:
    """Sliding-window counts per subject: runs of the last hour, tokens of the last 24 hours. A limit of 0 is none.

    Tokens are those of chat, embedding and reranking models on servers; models inside OpenQuery cost nobody
    anything. They are known when a call has ended, so the answer that exceeds the limit is still written and the
    next one is refused. Counts are in memory only. Any thread may call.
    """

    def __init__(
        self, runs_per_hour: int = 0, tokens_per_day: int = 0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.runs_per_hour = runs_per_hour
        self.tokens_per_day = tokens_per_day
        self._clock = clock
        self._accounts: LRUCache[str, _Account] = LRUCache(ACCOUNTS)
        self._lock = threading.Lock()

    def charge_run(self, subject: str) -> None:
        """Count a run that the subject is about to start.

        Raises:
            LimitReached: when it would be one too many, or no tokens are left; nothing is counted then.
        """
        with self._lock:
            account = self._account(subject)
            self._refuse_without_tokens(account)
            if self.runs_per_hour and len(account.runs) >= self.runs_per_hour:
                wait = account.runs[0] + HOUR - self._clock()
                raise LimitReached(
                    f"You have asked {self.runs_per_hour:,} questions within an hour, which is the limit here.",
                    hint=f"Ask again in {_duration(wait)}.",
                    seconds=wait,
                )
            account.runs.append(self._clock())

    def require_tokens(self, subject: str) -> None:
        """Refuse another answer when the subject has used up the tokens of the day.

        Raises:
            LimitReached: when no tokens are left.
        """
        with self._lock:
            self._refuse_without_tokens(self._account(subject))

    def charge_tokens(self, subject: str, tokens: int) -> None:
        """Count tokens that calls of models took."""
        with self._lock:
            self._account(subject).tokens.append((self._clock(), tokens))

    def charge(self, subject: str, event: Event) -> None:
        """Count the tokens of a call of a model that has ended, broken off or been stopped. Other events count nothing."""
        match event:
            case ModelUsed(usage=usage) if not usage.local:
                self.charge_tokens(subject, usage.tokens.total_tokens)

    def token_meter(self, subject: str) -> Listener:
        """A listener that counts the tokens of each call of a model."""
        return lambda record, _run: self.charge(subject, record.event)

    def _refuse_without_tokens(self, account: _Account) -> None:
        used = sum(tokens for _, tokens in account.tokens)
        if self.tokens_per_day and used >= self.tokens_per_day:
            over, wait = used - self.tokens_per_day, 0.0
            for timestamp, tokens in account.tokens:
                over, wait = over - tokens, timestamp + DAY - self._clock()
                if over < 0:
                    break
            raise LimitReached(
                f"You have used {used:,} tokens within a day; the limit here is {self.tokens_per_day:,}.",
                hint=f"Ask again in {_duration(wait)}.",
                seconds=wait,
            )

    def _account(self, subject: str) -> _Account:
        """The subject's account without entries that are older than its windows."""
        account = self._accounts.setdefault(subject, _Account())
        current_time = self._clock()
        while account.runs and account.runs[0] <= current_time - HOUR:
            account.runs.popleft()
        while account.tokens and account.tokens[0][0] <= current_time - DAY:
            account.tokens.popleft()
        return account


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 90:
        return pluralize(minutes, "minute")
    hours = round(minutes / 60)
    return f"{hours} hours"
