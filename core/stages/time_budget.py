"""The time that a run may take as a whole, and which part of it each phase gets."""

import math
import time
from dataclasses import dataclass, field

REWRITING_SHARE, STEPS_SHARE, RETRIEVAL_SHARE, EMBEDDING_SHARE, WRITING_SHARE = 0.2, 0.5, 0.6, 0.75, 0.9
"""The shares of the time that have passed when a standalone question is no longer waited for, when an agent takes no
further step, and when pages, vectors and the chat model are no longer waited for.

What follows the last of them, quoting from the sources and checking the citations, takes tenths of a second.
"""


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """`seconds` from the moment `began`, by `time.perf_counter`. A phase whose time is over ends with what it has."""

    seconds: float = math.inf
    began: float = field(default_factory=time.perf_counter)

    @property
    def rewriting_left(self) -> float:
        """Seconds until a follow-up is no longer waited for to be rewritten."""
        return self._left(REWRITING_SHARE)

    @property
    def steps_left(self) -> float:
        """Seconds until an agent takes no further step."""
        return self._left(STEPS_SHARE)

    @property
    def retrieval_left(self) -> float:
        """Seconds until searches and pages are no longer waited for; negative when that time is over."""
        return self._left(RETRIEVAL_SHARE)

    @property
    def embedding_left(self) -> float:
        """Seconds until vectors are no longer waited for."""
        return self._left(EMBEDDING_SHARE)

    @property
    def writing_left(self) -> float:
        """Seconds until the chat model is no longer waited for."""
        return self._left(WRITING_SHARE)

    @property
    def left(self) -> float:
        """Seconds until all of it is over."""
        return self._left(1)

    def _left(self, share: float) -> float:
        return self.began + share * self.seconds - time.perf_counter()


UNLIMITED = TimeBudget()
"""No limit: each phase ends in its own time."""


def timeout_of(left: float) -> float | None:
    """The seconds left as `asyncio.timeout` takes them."""
    return None if left == math.inf else max(left, 0.0)
