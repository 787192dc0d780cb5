"""Share slots fairly between runs: the run with the fewest slots is next.

Within a run, requests are served in order.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.run.page_request import Requester, current_request
from core.text.sanitize import pluralize


@dataclass(eq=False, slots=True)
class Slot:
    """A held slot. `recalled` is set when a requester without slots should have it."""

    account: _Account
    second: bool
    began: float
    recalled: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False, slots=True)
class _Account:
    """The slots that a requester holds and waits for.

    `used` is the time of held slots in seconds, from a start equal to the others'.
    """

    requester: Requester
    used: float
    held: set[Slot] = field(default_factory=set)
    first: deque[asyncio.Future[Slot]] = field(default_factory=deque)
    second: deque[asyncio.Future[Slot]] = field(default_factory=deque)


class FairSlots:
    """A number `count` of slots that requesters share fairly.

    A free slot is given to the waiting requester with the fewest slots, then to the requester that used slots for the
    shortest time, then to the first. A `second` try is last in its requester's queue, and second tries leave one slot
    to others. A slot that was held for `slice_seconds` is recalled when a requester without slots waits. Its holder may
    then release it.
    """

    def __init__(
        self, count: int, resource: str, *, reserve: int = 0, slice_seconds: float = math.inf
    ) -> None:
        """Name the `resource` for messages, such as "a worker process".

        `reserve` extra slots are for requesters without any.
        """
        self._resource = resource
        self._slice = slice_seconds
        self._free = count + reserve
        self._reserve = reserve
        self._free_for_second = max(1, count - 1)
        self._accounts: dict[Requester, _Account] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether nobody holds or awaits a slot."""
        return not self._accounts

    @asynccontextmanager
    async def slot(self, *, second: bool = False) -> AsyncGenerator[Slot]:
        """Hold a slot for the current page request."""
        slot = await self.acquire(second=second)
        try:
            yield slot
        finally:
            self.release(slot)

    async def acquire(self, *, second: bool = False) -> Slot:
        """Acquire a slot for the current page request. A request that is cancelled here knows the resource."""
        request = current_request()
        account = self._account(request.requester)
        waiter: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        line = account.second if second else account.first
        line.append(waiter)
        self._hand_out()
        self._recall()
        try:
            return await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was granted at the same moment
                self.release(waiter.result())
                raise
            request.waited_for = self._described(account)
            if waiter in line:
                line.remove(waiter)
            self._forget_idle(account)
            raise

    def restart(self, slot: Slot) -> None:
        """Count the time of a slot from now on."""
        slot.began = time.monotonic()
        slot.recalled.clear()
        self._recall()

    def release(self, slot: Slot) -> None:
        """Release a slot, once."""
        account = slot.account
        account.held.remove(slot)
        account.used += time.monotonic() - slot.began
        self._free += 1
        self._free_for_second += slot.second
        self._forget_idle(account)
        self._hand_out()
        self._recall()

    def _account(self, requester: Requester) -> _Account:
        if requester not in self._accounts:
            others = (account.used for account in self._accounts.values())
            self._accounts[requester] = _Account(requester, used=min(others, default=0.0))
        return self._accounts[requester]

    def _forget_idle(self, account: _Account) -> None:
        if not (account.held or account.first or account.second):
            self._accounts.pop(account.requester, None)

    def _hand_out(self) -> None:
        while self._free and (account := self._next()) is not None:
            second = not account.first
            waiter = (account.second if second else account.first).popleft()
            if waiter.cancelled():
                continue
            slot = Slot(account, second, time.monotonic())
            account.held.add(slot)
            self._free -= 1
            self._free_for_second -= second
            waiter.set_result(slot)

    def _next(self) -> _Account | None:
        waiting = [account for account in self._accounts.values() if self._may_have_slot(account)]
        current_time = time.monotonic()
        return min(
            waiting, key=lambda account: (len(account.held), _used(account, current_time)), default=None
        )

    def _may_have_slot(self, account: _Account) -> bool:
        if account.held and self._free <= self._reserve:
            return False
        return bool(account.first or (account.second and self._free_for_second))

    def _recall(self) -> None:
        """Recall slots that were held long enough.

        Each waiting requester without a slot can have one. If no slot was held long enough, this is repeated later.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._slice == math.inf:
            return
        starving = sum(
            not account.held and self._may_have_slot(account) for account in self._accounts.values()
        )  # none while a slot is free
        lent = [slot for account in self._accounts.values() for slot in account.held if not slot.second]
        to_recall = starving - sum(slot.recalled.is_set() for slot in lent)
        current_time = time.monotonic()
        for slot in sorted(
            (slot for slot in lent if not slot.recalled.is_set()), key=lambda slot: slot.began
        ):
            if to_recall <= 0:
                return
            seconds_left = slot.began + self._slice - current_time
            if seconds_left > 0:
                self._timer = asyncio.get_running_loop().call_later(seconds_left, self._recall)
                return
            slot.recalled.set()
            to_recall -= 1

    def _described(self, account: _Account) -> str:
        others = len(self._accounts) - 1
        behind = pluralize(others, "other run") if others else "other pages of this run"
        return f"it waited for {self._resource}: {behind}"


def _used(account: _Account, current_time: float) -> float:
    return account.used + sum(current_time - slot.began for slot in account.held)
