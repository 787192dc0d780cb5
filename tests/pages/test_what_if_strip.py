"""The strip “What if” and the sidebar have one value, whichever of them is moved and however fast."""

import pytest

from core.runtime.registry import RunRegistry
from pages.parts.research import what_if
from tests.pages.conftest import answered, opened

pytestmark = pytest.mark.slow

SIDEBAR, STRIP = "knob_rank_top_k", "strip_rank_top_k"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [0.0]
    monkeypatch.setattr(what_if, "monotonic", lambda: seconds[0])
    return seconds


def test_moves_of_the_sidebar_are_not_taken_back_by_the_strip(
    registry: RunRegistry, clock: list[float]
) -> None:
    """With the second move the browser sends the strip's value from before the first one, with the third the next."""
    app = opened(run=answered(registry).id)
    assert app.slider(key=SIDEBAR).value == 6
    app.slider(key=SIDEBAR).set_value(5).run()
    app.slider(key=STRIP).set_value(6)
    app.slider(key=SIDEBAR).set_value(4).run()
    assert (app.slider(key=SIDEBAR).value, app.slider(key=STRIP).value) == (4, 4)
    app.slider(key=STRIP).set_value(5)
    app.slider(key=SIDEBAR).set_value(3).run()
    assert (app.slider(key=SIDEBAR).value, app.slider(key=STRIP).value) == (3, 3)


def test_the_strip_can_be_moved_back_and_forth(registry: RunRegistry, clock: list[float]) -> None:
    app = opened(run=answered(registry).id)
    app.slider(key=SIDEBAR).set_value(5).run()
    clock[0] += 3
    for number in (6, 5, 6):
        app.slider(key=STRIP).set_value(number).run()
        assert (app.slider(key=SIDEBAR).value, app.slider(key=STRIP).value) == (number, number)
    assert not app.exception
