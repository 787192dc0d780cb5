"""Browser events: clicks, window width and time zone.

The scripts are in `static/scripts`, which the page loads once.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import streamlit as st
from htpy import p
from streamlit.components.v2.types import ComponentRenderer

from pages.parts import markup

NARROW, COMPACT = 640, 1200
"""Maximum window width in pixels: of a phone, and of a tablet or half screen."""


def component(name: str, html: str = "<span></span>") -> ComponentRenderer:
    """Return a component of the page. The function `window.openquery.<name>` receives its `html`.

    It takes no room on the page if its key ends with `_component`.
    """
    script = f"export default (component) => window.openquery.{name}(component);"
    return st.components.v2.component(f"openquery_{name}", html=html, js=script, isolate_styles=False)


_citations = component("citations")
_chart_clicks = component("chart_clicks")
_row_clicks = component("row_clicks")
_kept_row = component("kept_row")
_struck_citations = component("struck_citations")
_screen = component("screen")
_reveal = component("reveal")
_save_charts = component("save_charts", Path(__file__).with_name("save_charts.html").read_text("utf-8"))
_copy_link = component("copy_link", Path(__file__).with_name("copy_link.html").read_text("utf-8"))


def strike_citations(lost: Collection[int]) -> None:
    """Strike the citations of sources that left the context. Their numbers are `lost`."""
    _struck_citations(key="struck_citations_component", data={"lost": sorted(lost)})


def keep_row(table: str) -> None:
    """Keep the row being read in view while rows are added. `table` is the key of the table."""
    _kept_row(key="kept_row_component", data={"table": table})


def _reported(key: str, field: str) -> Any:
    """Return a component's last report in this field, or None."""
    return getattr(st.session_state.get(key), field, None)


def citation_clicks(cited: int | None, on_cite: Callable[[int], None] | None = None) -> None:
    """Call `on_cite` with the number of a clicked citation. `cited` is highlighted, if given."""

    def clicked() -> None:
        if on_cite and isinstance(number := _reported("citation_component", "cite"), int | float):
            on_cite(int(number))

    _citations(key="citation_component", data={"cited": cited or 0}, on_cite_change=clicked)


def chart_clicks(picks: Mapping[str, Callable[[str], object]]) -> None:
    """Call a function with the name of a clicked chart element.

    The function is called before the script reruns. `picks` has the functions by kind. Clicks are reported on
    a link of `markup.pick_link`, and on chart elements whose custom data is `<kind>/<name>` in a container
    whose key starts with `clickable`.
    """

    def clicked() -> None:
        kind, _, name = str(_reported("pick_component", "name") or "")[:2000].partition("/")
        if kind in picks:
            picks[kind](name)

    _chart_clicks(key="pick_component", on_name_change=clicked)


def row_clicks(table: str, row: str, cell: str, on_open: Callable[[str], None]) -> None:
    """Call `on_open` with the id of an opened row.

    A click or Enter opens a row, and the call precedes the rerun. `table` is the key of the container around
    the table, and `row` the id of the row with the marked `cell`, which is "" if no cell is marked.
    """

    def clicked() -> None:
        name = _reported("row_click_component", "open")
        if isinstance(name, str) and name:
            on_open(name)

    _row_clicks(
        key="row_click_component", data={"table": table, "row": row, "cell": cell}, on_open_change=clicked
    )


def copy_link() -> None:
    """Draw a button that copies the address.

    Without a clipboard in the browser, a field with the link appears below it.
    """
    _copy_link(key="copy_link")


def reveal(key: str, of: str) -> None:
    """Scroll this container into view, and focus its text field, once per text `of`."""
    _reveal(key="reveal_component", data={"key": key, "of": of})


def save_charts(name: str) -> None:
    """Draw buttons that save the page's charts as SVG and PNG. The files are named after `name`."""
    _save_charts(key="save_charts", data={"name": name})


def announcement(text: str) -> None:
    """Announce the page's state to screen readers. The text is invisible, and is read out when it changes."""
    with st.container(key="announcement"):
        markup.show(p(".oq-unseen", data_announce=True)[text])


def report_width() -> None:
    """Have the window report how wide it is. A page that opens in a small window, or is turned, is drawn once more."""
    data = {"limits": [NARROW, COMPACT], "reported": _width_limit()}
    _screen(key="screen_component", data=data, on_limit_change=lambda: None)


def is_narrow() -> bool:
    """Whether the window is as narrow as a phone's. False until the browser has reported its width."""
    return _width_limit() == NARROW


def is_compact() -> bool:
    """Whether the window is too narrow for all columns. False until the browser has reported its width."""
    return _width_limit() is not None


def _width_limit() -> int | None:
    limit = _reported("screen_component", "limit")
    return None if limit is None else int(limit)


def time_zone() -> tzinfo:
    """Return the visitor's time zone."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (KeyError, ValueError):
        return UTC


def time_zone_name() -> str:
    """The visitor's time zone, such as Europe/Vienna."""
    zone = time_zone()
    return zone.key if isinstance(zone, ZoneInfo) else "UTC"


def local(started: str) -> datetime | None:
    """Return a run's start in the visitor's time zone, or None before it."""
    return datetime.fromisoformat(started).astimezone(time_zone()) if started else None


def local_time(started: str) -> str:
    """Return a run's start as text, in the visitor's time zone."""
    return f"{start:%-d %B %Y, %H:%M}" if (start := local(started)) else "not started"
