"""One wish, one run: the same question twice in a moment is asked once.

Ctrl+Enter in the question box is both the form's own Enter and the button's shortcut. The second ends the
script run of the first, whose session state may be lost, and some settings with it. So wishes are kept
outside of it, and the second goes on where the first began.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from core.config.knobs import Knobs

ONE_WISH = 3.0
"""Seconds in which the same question under the same settings is the same wish."""
ECHO = 1.0
"""Seconds in which it is the same wish whatever the settings: nobody turns one and asks again so soon."""
MOST = 1000


@dataclass(frozen=True, slots=True)
class _Wish:
    question: str
    knobs: Knobs
    run_id: str
    at: float = field(default_factory=time.monotonic)


class DedupeSubmit:
    """What each viewer wished latest, and the run that came of it. May be asked from any thread."""

    def __init__(self) -> None:
        self._latest: OrderedDict[str, _Wish] = OrderedDict()
        self._granting = threading.Lock()

    def granted(
        self,
        viewer: str,
        question: str,
        knobs: Knobs,
        *,
        start: Callable[[], str],
        live: Callable[[str], bool],
    ) -> str:
        """The id of the run for this wish: the one that `start` begins, or that of the same wish before.

        While that run is `live` the same question is the same wish, as its page offers no other one: on a
        busy machine the second keystroke may come late. Raises what `start` raises.
        """
        with self._granting:
            before = self._latest.get(viewer)
            if before and before.question == question:
                recent = time.monotonic() - before.at <= (ONE_WISH if knobs == before.knobs else ECHO)
                if recent or live(before.run_id):
                    return before.run_id
            run_id = start()
            self._latest[viewer] = _Wish(question, knobs, run_id)
            while len(self._latest) > MOST:
                self._latest.popitem(last=False)
            return run_id
