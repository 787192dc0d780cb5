"""Streamlit widgets for the pages. They have a symbol, no label above, and not Streamlit's theme."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import plotly.graph_objects as go
import streamlit as st

from core.features.evaluate.services.task_store import TaskStore
from core.text.markdown.safe_markdown import markdown_label

T = TypeVar("T")

Kind = Literal["primary", "secondary", "tertiary"]

CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": "reset", "responsive": True}
"""Options of Plotly charts."""


def button(
    label: str,
    symbol: str = "",
    on_click: Callable[..., object] | None = None,
    *args: object,
    key: str,
    type: Kind = "secondary",  # Streamlit's own name for it
    **options: Any,
) -> bool:
    """Draw a button with a symbol of the icon font.

    A press calls `on_click` with `args`. Returns True for one script run after it.
    """
    icon = f":material/{symbol}:" if symbol else None
    options |= {"on_click": on_click, "args": args}
    return st.button(label, key=key, icon=icon, type=type, **options)


def close_button(on_click: Callable[..., object], *args: object, key: str) -> None:
    """Draw the button that closes its container."""
    button("Close", "close", on_click, *args, key=key, type="tertiary")


def undo_button(stack: str, undo: Callable[[Any], object], *, key: str) -> None:
    """Draw the button that undoes the latest action, also with U.

    It calls `undo` with the last item of the list in the session state under `stack`, and removes the item.
    """
    items: list[Any] = st.session_state.setdefault(stack, [])
    button(
        "Undo", "undo", lambda: undo(items.pop()), key=key, shortcut="u", type="tertiary", disabled=not items
    )


def delete_button(
    folders: TaskStore[Any], name: str, title: str, *, key: str, deleted: str, parameter: str
) -> None:
    """Draw the button that deletes an experiment or evaluation.

    The address has its `name` under `parameter`. The `deleted_offer` with the same `deleted` can restore it.
    """

    def delete() -> None:
        folders.delete(name)
        st.session_state[f"{deleted}_last"] = (name, title)
        st.query_params.pop(parameter, None)

    button("Delete", "delete", delete, key=key, type="tertiary")


def deleted_offer(folders: TaskStore[Any], show: Callable[[str], object], *, key: str, deleted: str) -> None:
    """Offer to restore the last deleted work, then `show` it."""
    name, title = st.session_state.get(f"{deleted}_last") or ("", "")
    if not folders.is_restorable(name):
        return

    def restore() -> None:
        folders.restore(name)
        show(name)

    with st.container(horizontal=True, vertical_alignment="center", border=True, key=deleted):
        st.markdown(f"**{markdown_label(title, 200)}** was deleted.", width="stretch")
        button("Undo", "undo", restore, key=key)


def download_button(
    label: str, data: Callable[[], bytes], file_name: str, mime: str, *, key: str, **options: Any
) -> None:
    """Draw a button for a file, made when pressed. The page is not drawn again."""
    icon = ":material/download:"
    st.download_button(label, data, file_name, mime, key, icon=icon, on_click="ignore", **options)


def choice(label: str, options: Sequence[T], *, key: str, **more: Any) -> T:
    """Draw options in a row, and return the chosen option.

    One is always chosen. Only screen readers get the label.
    """
    chosen: T = st.segmented_control(
        label, options, key=key, required=True, label_visibility="collapsed", **more
    )
    return chosen


def search_field(label: str, placeholder: str, *, key: str, **options: Any) -> str:
    """Draw a search or filter field, and return its text. Only screen readers get the label."""
    options |= {"icon": ":material/search:", "label_visibility": "collapsed"}
    return st.text_input(label, key=key, placeholder=placeholder, **options) or ""


def chart(figure: go.Figure, *, key: str, alt: str, **options: Any) -> None:
    """Draw a Plotly chart with its own colours. `alt` describes it."""
    st.plotly_chart(figure, key=key, config=CONFIG, theme=None, alt=alt, **options)
