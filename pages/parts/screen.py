"""How wide the browser's window is, which it reports: Streamlit tells a script no width."""

from __future__ import annotations

import streamlit as st

NARROW, COMPACT = 640, 1200
"""Pixels of the widest window of a phone, and of a tablet or a half screen."""
_SCRIPT = """
export default function ({ data, setStateValue }) {
  const limits = data.limits.map((pixels) => window.matchMedia(`(max-width: ${pixels}px)`));
  const report = () => {
    const place = limits.findIndex((limit) => limit.matches);
    const pixels = place < 0 ? null : data.limits[place];
    if (pixels !== data.reported) setStateValue('limit', pixels);
  };
  limits.forEach((limit) => limit.addEventListener('change', report));
  report();
  return () => limits.forEach((limit) => limit.removeEventListener('change', report));
}
"""

_component = st.components.v2.component("openquery_screen", html="<span></span>", js=_SCRIPT)
_KEY = "screen"


def watch() -> None:
    """Add the script to the page. A page that opens in a small window, or is turned, is drawn once more."""
    data = {"limits": [NARROW, COMPACT], "reported": _limit()}
    with st.container(key="screen_component"):
        _component(key=_KEY, data=data, on_limit_change=lambda: None)


def is_narrow() -> bool:
    """Whether the window is as narrow as a phone's. False until the browser has reported it."""
    return _limit() == NARROW


def is_compact() -> bool:
    """Whether the window is too narrow for all columns side by side. False until the browser has reported it."""
    return _limit() is not None


def _limit() -> int | None:
    limit = getattr(st.session_state.get(_KEY), "limit", None)
    return None if limit is None else int(limit)
