"""What went wrong, told where it did: an error, or a wish that was not granted."""

from __future__ import annotations

import streamlit as st

from core.errors import OpenQueryError
from core.text.safe_markdown import markdown_label
from pages.parts import runtime


def problem(error: OpenQueryError) -> None:
    st.error(_told(error.message, error.hint), icon=":material/error:")


def refusal() -> None:
    """Why the latest wish was not granted; told once."""
    if refused := runtime.refusal():
        st.warning(_told(*refused), icon=":material/feedback:")


def _told(message: str, hint: str) -> str:
    return f"**{markdown_label(message, 400)}** {markdown_label(hint, 400)}"
