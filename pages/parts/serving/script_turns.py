"""Run the scripts of all sessions one after the other, because they share one interpreter.

Threads that compute at the same time end late together: each has a share of the interpreter. In turns the first ones
end at once, the last ones no later, and the event loop that sends what they draw waits for one of them (decision 0079).
"""

import threading
import time
from collections import deque

SECONDS = 0.2
"""Seconds after which the next script begins beside one that may be waiting for a server."""

Turn = threading.Event
"""The turn of a script. It is set when the script may run."""


class ScriptTurns:
    """Gives turns to scripts, in the order of their requests. A turn ends after `seconds` at the latest."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: Turn | None = None
        self._ends = 0.0
        """The time at which the running script loses its turn."""
        self._waiting: deque[Turn] = deque()

    @property
    def waiting(self) -> int:
        """How many scripts wait for their turn."""
        return len(self._waiting)

    def begin(self) -> Turn:
        """Wait for a turn, and return it."""
        turn = threading.Event()
        with self._lock:
            self._waiting.append(turn)
            self._next()
        while not turn.wait(self._seconds):
            with self._lock:
                self._next()
        return turn

    def end(self, turn: Turn | None) -> None:
        """End a turn. One that was ended has no effect."""
        with self._lock:
            if turn is not None and turn is self._running:
                self._running = None
                self._next()

    def _next(self) -> None:
        """Give the next turn if the last one has ended. The caller holds the lock."""
        if self._waiting and (self._running is None or self._ends <= time.monotonic()):
            self._running, self._ends = self._waiting.popleft(), time.monotonic() + self._seconds
            self._running.set()
