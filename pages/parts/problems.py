"""Error and warning boxes for errors of the core."""

import streamlit as st

from core.errors import ErrorHandler, OpenQueryError
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import runtime


def problem(error: OpenQueryError) -> None:
    """Show an error of the core and its hint."""
    st.error(_message(error.message, error.hint), icon=":material/error:")


def _stop(error: OpenQueryError) -> None:
    problem(error)
    st.stop()


errors_inline = ErrorHandler(problem)
"""Handles errors of a part of a page. The error is shown in place of the part."""
errors_stop_page = ErrorHandler(_stop)
"""Handles errors in loading the page's subject. The page shows the error and stops."""


def refusal() -> None:
    """Show once why the visitor's latest action was refused."""
    if refused := runtime.refusal():
        st.warning(_message(*refused), icon=":material/feedback:")


def missing(kind: str, name: str, what_there_is: str) -> None:
    """Say that the addressed item does not exist.

    `kind` is article, collection or experiment. `what_there_is` lists the existing items.
    """
    st.warning(_message(f"There is no {kind} {name[:60]}.", what_there_is), icon=":material/search_off:")


def _message(message: str, hint: str) -> str:
    return f"**{markdown_label(message, 400)}** {markdown_label(hint, 400)}"
