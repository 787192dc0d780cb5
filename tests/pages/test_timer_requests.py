"""Requests of a fragment's timer, which the browser sends with the values of all its widgets."""

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from pages.parts.serving.streamlit_patches import keep_values_from_timers

CLICKED = WidgetState(id="run", trigger_value=True)


def view(name: str) -> WidgetState:
    return WidgetState(id="view", string_value=name)


def requested(*requests: ClientState) -> RerunData:
    """Return what the script thread gets when these requests come before it looks."""
    thread = ScriptRequests()
    session: Any = AppSession.__new__(AppSession)
    session.id, session._state = "test", AppSessionState.APP_IS_RUNNING
    session._client_state = ClientState()
    session._scriptrunner = thread
    session._fragment_storage = SimpleNamespace(contains=lambda _name: True)
    for request in requests:
        session.request_rerun(request)
    session._state = AppSessionState.SHUTDOWN_REQUESTED  # its destructor has nothing to close
    begun = thread.on_scriptrunner_ready()
    assert begun is not None
    return begun.rerun_data


def timer(*values: WidgetState) -> ClientState:
    return ClientState(fragment_id="progress", is_auto_rerun=True, widget_states=WidgetStates(widgets=values))


@pytest.fixture(params=[True, False], ids=["kept", "as Streamlit does it"])
def patched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(app_session, "RerunData", RerunData)  # and back
    if request.param:
        keep_values_from_timers()
    return bool(request.param)


def test_a_timer_changes_no_widget(patched: bool) -> None:
    states = requested(timer(view("new"))).widget_states
    if patched:
        assert states is None
    else:
        assert states == WidgetStates(widgets=[view("new")]), "Streamlit ignores them: the patch can go"


def test_timer_after_a_click_keeps_the_values_of_the_click(patched: bool) -> None:
    click = ClientState(widget_states=WidgetStates(widgets=[view("results"), CLICKED]))
    data = requested(click, timer(view("new")))
    assert data.widget_states is not None
    values = {state.id: state for state in data.widget_states.widgets}
    assert values["run"] == CLICKED
    assert values["view"] == view("results" if patched else "new")
    assert not data.fragment_id_queue, "the whole page is drawn, as the click asks"
