"""A callback runs to its end, also if the session's next request waits."""

from typing import Any

import pytest
from streamlit.runtime.scriptrunner import RerunException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.safe_session_state import SafeSessionState

from pages.parts.serving import streamlit_patches


def interrupt() -> None:
    raise RerunException(RerunData())


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> SafeSessionState:
    """A session whose callback takes what was typed, while another request waits."""
    state = SafeSessionState(SessionState(), lambda: None)
    state["typed"] = 5

    def callback(*_arguments: Any, **_more: Any) -> None:
        state["slider"] = state["typed"]

    monkeypatch.setattr(SessionState, "on_script_will_rerun", callback)
    monkeypatch.setattr(SafeSessionState, "on_script_will_rerun", SafeSessionState.on_script_will_rerun)
    object.__setattr__(state, "_yield_callback", interrupt)
    return state


def test_streamlit_interrupts_callbacks(state: SafeSessionState) -> None:
    with pytest.raises(RerunException):  # else the patch can go
        state.on_script_will_rerun(None)


def test_callbacks_are_finished_and_the_next_look_is_interrupted(state: SafeSessionState) -> None:
    streamlit_patches.finish_callbacks()
    state.on_script_will_rerun(None)
    assert state._state["slider"] == 5
    with pytest.raises(RerunException):
        _ = state["slider"]
