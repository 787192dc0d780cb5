"""Fragments that are drawn with a requested one, in the same run of the script."""

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.testing.v1 import AppTest

from pages.parts.serving.streamlit_patches import draw_followers

_ORDER = MemoryFragmentStorage.order_fragment_ids


def script(followers: list[str]) -> None:
    """A page with three fragments. Its first drawing ends with a request for the control."""
    import streamlit as st
    from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
    from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx

    from pages.parts.serving import streamlit_patches

    def draw(name: str) -> None:
        st.session_state.setdefault("runs", []).append((id(streamlit_patches.script_run()), name))
        if name == "control":
            st.session_state["now"] = streamlit_patches.is_drawn_now(["control", "table"])

    streamlit_patches.set_followers(lambda key: followers if key == "control" else ())
    for name in ("table", "control", "other"):
        st.fragment(draw, key=name)(name)
    context = get_script_run_ctx()
    assert context is not None
    assert context.script_requests is not None
    control = context.fragment_storage.resolve_target("control")
    context.script_requests.request_rerun(RerunData(fragment_id_queue=control))


@pytest.fixture(autouse=True)
def drawn_as_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test here says whether Streamlit is patched."""
    monkeypatch.setattr(MemoryFragmentStorage, "order_fragment_ids", _ORDER)


def drawn_after_the_page(followers: list[str]) -> tuple[list[str], bool]:
    """Return the fragments of the requested run, and whether it said that it draws control and table."""
    page = AppTest.from_function(script, args=(followers,)).run()
    assert not page.exception
    runs = page.session_state["runs"]
    assert [name for _, name in runs[:3]] == ["table", "control", "other"]
    assert len({run for run, _ in runs[3:]}) == 1, "one run draws them all"
    return [name for _, name in runs[3:]], page.session_state["now"]


def test_followers_are_drawn_in_the_run_of_the_requested_fragment() -> None:
    draw_followers()
    assert drawn_after_the_page(["table"]) == (["control", "table"], True)


def test_a_follower_that_is_not_on_the_page_is_left_out() -> None:
    draw_followers()
    assert drawn_after_the_page(["closed", "table", "control"]) == (["control", "table"], True)


def test_streamlit_draws_the_requested_fragment_alone() -> None:
    assert drawn_after_the_page(["table"]) == (["control"], False), "The patch can go"
