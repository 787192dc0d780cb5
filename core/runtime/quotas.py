"""How much one person may have: runs an hour, tokens a day. For servers that several people use."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from core.errors import LimitReached
from core.run.events import Answered, Prompted, Record, RunStopped
from core.run.recorder import Listener
from core.run.state import Run
from core.text.sanitize import CHARACTERS_A_TOKEN

HOUR, DAY = 3600.0, 86_400.0
MOST_PEOPLE = 10_000
"""People remembered; whoever was not seen for longest is forgotten first."""


@dataclass(slots=True)
class _Account:
    """What one person had: when runs began, and how many tokens went when."""

    runs: deque[float] = field(default_factory=deque)
    tokens: deque[tuple[float, int]] = field(default_factory=deque)


class Quotas:
    """Counts per owner, over the last hour and the last 24 hours. 0 means no limit.

    Tokens are known when an answer has ended, so the answer that goes over the limit is still written and
    the next one is refused. Counts are kept in memory: a restart forgives. Any thread may call.
    """

    def __init__(
        self, runs_per_hour: int = 0, tokens_per_day: int = 0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.runs_per_hour = runs_per_hour
        self.tokens_per_day = tokens_per_day
        self._clock = clock
        self._accounts: OrderedDict[str, _Account] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, owner: str) -> None:
        """Count a run that the owner wants to begin.

        Raises:
            LimitReached: when it would be one too many, or no tokens are left; nothing is counted then.
        """
        with self._lock:
            account = self._account(owner)
            self._refuse_spent(account)
            if self.runs_per_hour and len(account.runs) >= self.runs_per_hour:
                wait = account.runs[0] + HOUR - self._clock()
                raise LimitReached(
                    f"You have asked {self.runs_per_hour:,} questions within an hour, which is the limit here.",
                    hint=f"Ask again in {_told(wait)}.",
                    seconds=wait,
                )
            account.runs.append(self._clock())

    def go_on(self, owner: str) -> None:
        """Return when the owner may have a further answer in a run that has begun.

        Raises:
            LimitReached: when no tokens are left.
        """
        with self._lock:
            self._refuse_spent(self._account(owner))

    def spend(self, owner: str, tokens: int) -> None:
        with self._lock:
            self._account(owner).tokens.append((self._clock(), tokens))

    def charging(self, owner: str) -> Listener:
        """A listener that charges the owner for each answer a model was asked for, when it ends or is stopped."""
        asked = False

        def listen(record: Record, run: Run) -> None:
            nonlocal asked
            match record.event:
                case Prompted():
                    asked = True
                case Answered() | RunStopped() if asked:
                    asked = False
                    self.spend(owner, tokens_of(run))

        return listen

    def _refuse_spent(self, account: _Account) -> None:
        spent = sum(tokens for _, tokens in account.tokens)
        if self.tokens_per_day and spent >= self.tokens_per_day:
            over, wait = spent - self.tokens_per_day, 0.0
            for at, tokens in account.tokens:
                over, wait = over - tokens, at + DAY - self._clock()
                if over < 0:
                    break
            raise LimitReached(
                f"You have used {spent:,} tokens within a day; the limit here is {self.tokens_per_day:,}.",
                hint=f"Ask again in {_told(wait)}.",
                seconds=wait,
            )

    def _account(self, owner: str) -> _Account:
        """The owner's account without what is too long ago to count."""
        account = self._accounts.setdefault(owner, _Account())
        self._accounts.move_to_end(owner)
        while len(self._accounts) > MOST_PEOPLE:
            self._accounts.popitem(last=False)
        now = self._clock()
        while account.runs and account.runs[0] <= now - HOUR:
            account.runs.popleft()
        while account.tokens and account.tokens[0][0] <= now - DAY:
            account.tokens.popleft()
        return account


def tokens_of(run: Run) -> int:
    """Tokens that the run's latest answer took: as the server counts them, else estimated from its length."""
    answer = run.answer
    if answer is not None and answer.usage is not None:
        return answer.usage.prompt_tokens + answer.usage.completion_tokens
    if not run.prompt:
        return 0
    return (sum(len(message.content) for message in run.prompt) + len(run.text)) // CHARACTERS_A_TOKEN


def _told(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 90:
        return f"{minutes} minute{'s' if minutes > 1 else ''}"
    hours = round(minutes / 60)
    return f"{hours} hours"
