"""Patience counts seconds without progress."""

from tests.patience import Patience


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def looks(patience: Patience, clock: Clock, seconds: float, seen: list[int] | None = None) -> int:
    """How many looks, one every so many seconds, until patience ends; at most 1,000."""
    for look in range(1_000):
        clock.now += seconds
        if not patience.lasts(seen[look] if seen and look < len(seen) else None):
            return look + 1
    return 1_000


def test_patience_ends_without_progress() -> None:
    clock = Clock()
    assert looks(Patience(60, clock=clock, load=lambda: 1.0), clock, 0.5) == 120


def test_progress_begins_the_wait_again() -> None:
    clock = Clock()
    seen = [number // 50 for number in range(400)]
    assert looks(Patience(60, clock=clock, load=lambda: 1.0), clock, 1.0, seen) > 400


def test_seconds_of_a_busy_machine_count_less() -> None:
    clock = Clock()
    assert looks(Patience(60, clock=clock, load=lambda: 3.0), clock, 1.0) == 180


def test_one_slow_look_does_not_end_patience() -> None:
    clock = Clock()
    patience = Patience(60, clock=clock, load=lambda: 1.0)
    clock.now += 500
    assert patience.lasts()
