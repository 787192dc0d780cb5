"""Which run wants a page, and what the page waits for: a context variable, by which adapters share out slots.

Slots at hosts and worker processes are shared by all runs of a process. The read stage names the run once for
each page (`page_request`); whoever hands out slots asks who is calling (`current_request`). Calls outside of any
run, such as ingests, count as one more run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class Requester:
    """One who wants pages: the reading of one run. Compared by identity."""


@dataclass(slots=True)
class PageRequest:
    """A page that a requester wants."""

    requester: Requester
    waited_for: str = ""
    """What it waits for, or waited for when it was given up, in words; empty: for nothing but itself."""


_OUTSIDE_RUNS = Requester()
_current: ContextVar[PageRequest] = ContextVar("page_request")


@contextmanager
def page_request(requester: Requester) -> Iterator[PageRequest]:
    """Calls inside, and tasks started inside, are for a page of this requester."""
    request = PageRequest(requester)
    token = _current.set(request)
    try:
        yield request
    finally:
        _current.reset(token)


def current_request() -> PageRequest:
    """The page that the caller works for."""
    return _current.get(None) or PageRequest(_OUTSIDE_RUNS)
