"""Error and warning boxes for errors of the core."""

import streamlit as st

from core.errors import Handled, OpenQueryError
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import runtime


def problem(error: OpenQueryError) -> None:
    """Show an error of the core, with what to do."""
    st.error(_message(error.message, error.hint), icon=":material/error:")


def _stop(error: OpenQueryError) -> None:
    problem(error)
    st.stop()


shown = Handled(problem)
"""A part of a page that the core may fail to give: the error stands in its place."""
needed = Handled(_stop)
"""What a page is about: where the core fails to give it, the page shows the error and ends."""


def refusal() -> None:
    """Show once why the visitor's latest action was refused."""
    if refused := runtime.refusal():
        st.warning(_message(*refused), icon=":material/feedback:")


def missing(kind: str, name: str, what_there_is: str) -> None:
    """Say that the address names an article, collection or experiment that does not exist, and what there is."""
    st.warning(_message(f"There is no {kind} {name[:60]}.", what_there_is), icon=":material/search_off:")


def _message(message: str, hint: str) -> str:
    return f"**{markdown_label(message, 400)}** {markdown_label(hint, 400)}"
