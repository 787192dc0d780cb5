"""How the cost of work grows with its size: a ratio of two costs, so that no machine is too slow for it."""

import gc
import math
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LINEAR = 1.6
"""Growth below this is linear, with room for what a larger working set costs; quadratic work comes out at 2."""
STEP = 16


def growth(made: Callable[[int], T], work: Callable[[T], object], small: int, large: int) -> float:
    """The p for which the cost of `work(made(size))` grows as size ** p from `small` to `large`.

    A cost is the least CPU time of up to six on this thread, with no garbage collection in it: what earlier
    tests left behind, on the heap or running on other threads, is not part of the growth. The large size is
    measured again only while its cost is above the bound. The sizes differ by a little, so that nothing that
    remembers its last argument answers for free.
    """
    work(made(small + 3 * STEP))  # loads what is loaded late
    least = min(_cost(made, work, small + STEP * turn) for turn in range(3))
    growths: list[float] = []
    while len(growths) < 6 and not any(growth < LINEAR for growth in growths):
        cost = _cost(made, work, large + STEP * len(growths))
        growths.append(math.log(cost / least) / math.log(large / small))
    return min(growths)


def _cost(made: Callable[[int], T], work: Callable[[T], object], size: int) -> float:
    given = made(size)
    gc.disable()
    try:
        began = time.thread_time()
        work(given)
        return time.thread_time() - began
    finally:
        gc.enable()


def repeated(piece: str) -> Callable[[int], str]:
    """Texts of about so many characters that say nothing but `piece`."""
    return lambda size: piece * (size // len(piece))
