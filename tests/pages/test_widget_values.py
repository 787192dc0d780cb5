"""The values of widgets, which are looked up one by one and not copied for each widget."""

from collections.abc import Iterator

import pytest
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.testing.v1 import AppTest

from pages.parts.serving.streamlit_patches import look_up_widget_values


@pytest.fixture(autouse=True)
def drawn_as_served() -> None:
    """Each test here says whether Streamlit is patched."""


@pytest.fixture(params=[True, False], ids=["looked up", "as Streamlit does it"])
def patched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    monkeypatch.setattr(SafeSessionState, "filtered_state", SafeSessionState.filtered_state)  # and back
    if request.param:
        look_up_widget_values()
    return request.param


def script() -> None:
    import streamlit as st

    st.session_state.setdefault("own", 3)
    for number in range(10):
        st.slider(f"slider {number}", 0, 10, 4, key=f"slider_{number}")
        st.text_input(f"field {number}", "text", key=f"field_{number}")
    st.text_input("no key")
    st.session_state["keys"] = sorted(key for key in st.session_state if key != "keys")


def test_widget_does_not_copy_all_state_and_has_equal_values(
    patched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = []
    copied = SessionState.filtered_state.fget
    assert copied
    monkeypatch.setattr(
        SessionState, "filtered_state", property(lambda state: copies.append(1) or copied(state))
    )
    app = AppTest.from_function(script).run()
    app.slider(key="slider_3").set_value(7)
    app.text_input(key="field_3").set_value("other").run()
    assert (app.slider(key="slider_3").value, app.text_input(key="field_3").value) == (7, "other")
    assert (app.slider(key="slider_4").value, app.text_input(key="field_4").value) == (4, "text")
    assert app.session_state["keys"] == sorted(
        ["own", *(f"{kind}_{number}" for kind in ("slider", "field") for number in range(10))]
    )
    if patched:
        assert len(copies) < 10
    else:
        assert len(copies) >= 20, "Streamlit looks values up by itself: the patch can go"
