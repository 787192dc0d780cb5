"""A page that is drawn right after one of its fragments, by the same thread of Streamlit."""

from typing import Any

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Column
from streamlit.testing.v1.local_script_runner import LocalScriptRunner


def script(mended: bool) -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
    from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx

    from pages.parts.serving.streamlit_patches import draw_from_the_root

    if mended:
        draw_from_the_root()
    st.session_state["drawings"] = st.session_state.get("drawings", 0) + 1
    (column,) = st.columns(1)

    @st.fragment(key="part")
    def part() -> None:
        st.write("text")

    with column:
        part()
    context = get_script_run_ctx()
    if context is not None and st.session_state["drawings"] == 1:
        context.script_requests.request_rerun(
            RerunData(fragment_id_queue=list(context.fragment_storage._fragments))  # type: ignore[attr-defined]
        )


@pytest.mark.parametrize("mended", [True, False], ids=["from the root", "as Streamlit does it"])
def test_page_drawn_right_after_a_fragment_is_outside_it(
    monkeypatch: pytest.MonkeyPatch, mended: bool
) -> None:
    """A click comes after a fragment's last element and before its thread ends: that thread draws the page.

    If the second case fails, Streamlit has been mended, and `draw_from_the_root` and decision 0037 can go.
    """
    drawn_once = column_depth(AppTest.from_function(script, args=(mended,)).run())
    finish = LocalScriptRunner._on_script_finished

    def click_at_the_end(runner: LocalScriptRunner, context: Any, *rest: Any) -> None:
        finish(runner, context, *rest)
        if context.fragment_ids_this_run:
            runner.request_rerun(RerunData())

    monkeypatch.setattr(LocalScriptRunner, "_on_script_finished", click_at_the_end)
    page = AppTest.from_function(script, args=(mended,)).run()
    assert page.session_state["drawings"] == 2
    assert (column_depth(page) == drawn_once) is mended


def column_depth(page: AppTest) -> int:
    """How many containers the column stands in."""

    def depth(node: Any) -> int | None:
        if isinstance(node, Column):
            return 0
        below = [depth(child) for child in getattr(node, "children", {}).values()]
        return next((1 + steps for steps in below if steps is not None), None)

    found = depth(page.main)
    assert found is not None
    return found
