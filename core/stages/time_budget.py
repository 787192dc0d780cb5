"""The time limit of a run, and each phase's share of it."""

import math
import time
from dataclasses import dataclass, field

REWRITING_SHARE, STEPS_SHARE, RETRIEVAL_SHARE, EMBEDDING_SHARE, WRITING_SHARE = 0.2, 0.5, 0.6, 0.75, 0.9
"""Shares of the time after which each phase is no longer awaited.

In order: the standalone question, an agent's next step, pages, vectors, and the chat model. The remaining work, quoting
from the sources and checking the citations, takes tenths of a second.
"""


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """A limit of `seconds` from `began`, by `time.perf_counter`. A phase ends with its results so far."""

    seconds: float = math.inf
    began: float = field(default_factory=time.perf_counter)

    @property
    def rewriting_left(self) -> float:
        """Seconds left for rewriting a follow-up."""
        return self._left(REWRITING_SHARE)

    @property
    def steps_left(self) -> float:
        """Seconds left for an agent's next step."""
        return self._left(STEPS_SHARE)

    @property
    def retrieval_left(self) -> float:
        """Seconds left for searches and pages, negative after that time."""
        return self._left(RETRIEVAL_SHARE)

    @property
    def embedding_left(self) -> float:
        """Seconds left for embedding."""
        return self._left(EMBEDDING_SHARE)

    @property
    def writing_left(self) -> float:
        """Seconds left for the chat model."""
        return self._left(WRITING_SHARE)

    @property
    def left(self) -> float:
        """Seconds left in total."""
        return self._left(1)

    def _left(self, share: float) -> float:
        return self.began + share * self.seconds - time.perf_counter()


UNLIMITED = TimeBudget()
"""No limit: each phase ends in its own time."""


def timeout_of(left: float) -> float | None:
    """Convert the seconds left for `asyncio.timeout`. No limit is None."""
    return None if left == math.inf else max(left, 0.0)
