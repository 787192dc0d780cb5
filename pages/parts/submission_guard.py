"""Deduplication of submitted questions: a double submission starts one run.

A key that is pressed twice, or a click after Enter, submits the question twice. The second event aborts the
script run of the first, which may lose session state, and with it some settings. So submissions are
remembered outside the session, and the second returns the run of the first.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import LRUCache

from core.config.knobs import Knobs

SAME_SETTINGS_SECONDS = 3.0
"""Seconds in which the same question and settings are one submission."""
ANY_SETTINGS_SECONDS = 1.0
"""Seconds in which the same question is one submission under any settings.

Nobody changes a setting and asks so quickly.
"""
MAX_SESSIONS = 1000


@dataclass(frozen=True, slots=True)
class _Submission:
    question: str
    knobs: Knobs
    run_id: str
    at: float = field(default_factory=time.monotonic)


class SubmissionGuard:
    """The latest submission of each session with its run. Thread-safe."""

    def __init__(self) -> None:
        self._latest: LRUCache[str, _Submission] = LRUCache(MAX_SESSIONS)
        self._lock = threading.Lock()

    def run_id_for(
        self,
        session_id: str,
        question: str,
        knobs: Knobs,
        *,
        start: Callable[[], str],
        live: Callable[[str], bool],
        settings_may_be_lost: bool = True,
    ) -> str:
        """Return the run id of a submission. `start` makes a new id, and a duplicate gets the earlier id.

        While that run is `live` the same question is the same submission, because its page offers no other:
        on a busy machine the second event may come late. `settings_may_be_lost` is False for a submission
        that names its settings itself. Errors of `start` are passed on.
        """
        within = ANY_SETTINGS_SECONDS if settings_may_be_lost else 0.0
        with self._lock:
            before = self._latest.get(session_id)
            if before and before.question == question:
                recent = time.monotonic() - before.at <= (
                    SAME_SETTINGS_SECONDS if knobs == before.knobs else within
                )
                if recent or live(before.run_id):
                    return before.run_id
            run_id = start()
            self._latest[session_id] = _Submission(question, knobs, run_id)
            return run_id
