"""The page that the current call works for, in a context variable.

Slots at hosts and worker processes are shared by all runs of a process. The read stage names the run once for each page
(`page_request`), and adapters that share slots ask for the caller (`current_request`). Calls outside of any run, such
as ingests, count as one more run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class Requester:
    """The requester of pages, such as one run. Compared by identity."""


@dataclass(slots=True)
class PageRequest:
    """A page that a requester wants."""

    requester: Requester
    waited_for: str = ""
    """The reason why the page waits, or waited when it was given up. Empty if it waits only for itself."""


_OUTSIDE_RUNS = Requester()
_current: ContextVar[PageRequest] = ContextVar("page_request")


@contextmanager
def page_request(requester: Requester) -> Iterator[PageRequest]:
    """Mark the enclosed calls and tasks as this requester's. They work for one of its pages."""
    request = PageRequest(requester)
    token = _current.set(request)
    try:
        yield request
    finally:
        _current.reset(token)


def current_request() -> PageRequest:
    """Return the page that the caller works for."""
    return _current.get(None) or PageRequest(_OUTSIDE_RUNS)
