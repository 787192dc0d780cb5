"""A typed number stays until the browser has seen it, however long the server takes to draw it."""

import pytest
from streamlit.testing.v1 import AppTest

from core.runtime.registry import RunRegistry
from pages.parts.sidebar import number_control
from tests.pages.conftest import opened
from tests.pages.test_addresses import field
from tests.runtime.waiting import finished

KEY = "passages"


def script() -> None:
    import streamlit as st

    from core.config.schema import parameters
    from pages.parts.sidebar.number_control import number_control

    if st.session_state.get("interrupted"):
        st.stop()
    parameter = next(one for one in parameters() if one.name == "top_k")
    number_control(parameter, 1, {}, key="passages")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds = [0.0]
    monkeypatch.setattr(number_control, "monotonic", lambda: seconds[0])
    return seconds


def typed_and_interrupted() -> AppTest:
    """The page after a number was typed whose slider the script has not drawn."""
    page = AppTest.from_function(script)
    page.session_state[KEY] = 6
    page.run()
    page.session_state["interrupted"] = True
    page.text_input[0].set_value("5").run()
    page.session_state["interrupted"] = False
    return page


def sent_by_the_browser(page: AppTest, number: int) -> int:
    """The slider's number after the browser has sent one."""
    page.session_state[KEY] = number
    page.run()
    value: int = page.slider[0].value
    return value


def test_number_that_is_drawn_late_is_kept(clock: list[float]) -> None:
    page = typed_and_interrupted()
    clock[0] += 60
    assert sent_by_the_browser(page, 6) == 5
    assert sent_by_the_browser(page, 6) == 5


def test_slider_can_be_moved_back_once_its_number_was_seen(clock: list[float]) -> None:
    page = typed_and_interrupted()
    assert sent_by_the_browser(page, 6) == 5
    assert sent_by_the_browser(page, 7) == 7
    clock[0] += 60
    assert sent_by_the_browser(page, 6) == 6


@pytest.mark.slow
def test_question_is_asked_with_the_number_that_was_typed_before_the_click(registry: RunRegistry) -> None:
    """The browser sends the click as a request of its own, with the slider as it still shows it."""
    app = opened(session={"knob_search_backend": "demo"})
    slider = "knob_rank_top_k"
    before = app.slider(key=slider).value
    field(app, slider).set_value("5").run()
    app.slider(key=slider).set_value(before)
    app.text_input(key="question").set_value("How does chunk overlap affect retrieval?")
    app.button(key="go").click().run()
    assert not app.exception
    run = finished(registry, app.session_state["run_id"])
    assert (before, run.knobs.rank.top_k) == (6, 5)
