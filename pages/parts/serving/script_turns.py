"""How many scripts are run at once: one, because they share one interpreter.

Threads that compute at the same time end late together: each has a share of the interpreter. In turns the first ones
end at once, the last ones no later, and the event loop that sends what they draw waits for one of them.
"""

import threading
import time
from collections import deque

AT_ONCE = 1
"""Of 100 people who move a slider 95 % wait .2 to 1.7 s, and with two at once .5 to 4.3 s (decision 0079)."""
SECONDS = 0.2
"""After this time a run counts no longer: it may wait for a server, and nobody waits for it."""

Place = threading.Event
"""A place among those that run. It is set when it is given."""


class ScriptTurns:
    """Lets at most `at_once` runs of scripts begin, and each of the next ones when one has ended.

    They begin in the order in which they came. A run that takes longer than `seconds` keeps no place.
    """

    def __init__(self, at_once: int = AT_ONCE, seconds: float = SECONDS) -> None:
        self._at_once, self._seconds = at_once, seconds
        self._lock = threading.Lock()
        self._running: dict[Place, float] = {}
        """The time at which each run loses its place."""
        self._waiting: deque[Place] = deque()

    @property
    def waiting(self) -> int:
        """How many runs wait for a place."""
        return len(self._waiting)

    def begin(self) -> Place:
        """Wait for a place, and return it."""
        place = threading.Event()
        with self._lock:
            self._waiting.append(place)
            self._fill()
        while not place.wait(self._seconds):
            with self._lock:
                self._fill()
        return place

    def end(self, place: Place | None) -> None:
        """Give a place back."""
        with self._lock:
            if place is not None:
                self._running.pop(place, None)
            self._fill()

    def _fill(self) -> None:
        """Give the free places to those who wait. The caller holds the lock."""
        now = time.monotonic()
        while self._waiting:
            if len(self._running) >= self._at_once:
                late = next((place for place, end in self._running.items() if end <= now), None)
                if late is None:
                    return
                del self._running[late]
            place = self._waiting.popleft()
            self._running[place] = now + self._seconds
            place.set()
