"""Clicks that Streamlit does not report: flows of the attrition diagram, points of a chart, cells of a matrix.

Reported are clicks on a link to `#pick-<name>`, and on chart elements whose custom data is a name, when the
chart is in a container whose key starts with `clickable`.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

_SCRIPT = """
export default function ({ setTriggerValue }) {
  const onClick = (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#pick-"]');
    if (!link) return;
    event.preventDefault();
    setTriggerValue('name', decodeURIComponent(link.getAttribute('href').slice(6)));
  };
  const onPlot = (event) => {
    const point = event.points && event.points[0];
    const name = point && (Array.isArray(point.customdata) ? point.customdata[0] : point.customdata);
    if (name) setTriggerValue('name', String(name));
  };
  const wired = new Set();
  const wire = () => {
    document.querySelectorAll('[class*="st-key-clickable"] .js-plotly-plot').forEach((plot) => {
      if (!plot.on || wired.has(plot)) return;
      wired.add(plot);
      plot.on('plotly_click', onPlot);
    });
  };
  document.addEventListener('click', onClick);
  const watch = new MutationObserver(wire);
  watch.observe(document.body, { childList: true, subtree: true });
  wire();
  return () => {
    document.removeEventListener('click', onClick);
    watch.disconnect();
    wired.forEach((plot) => plot.removeListener && plot.removeListener('plotly_click', onPlot));
  };
}
"""

_component = st.components.v2.component("openquery_picks", html="<span></span>", js=_SCRIPT)
KEY = "pick"


def chart_clicks(on_pick: Callable[[str], None]) -> None:
    """Call `on_pick` with the name of the clicked element, before the script reruns."""

    def picked() -> None:
        name = getattr(st.session_state.get(KEY), "name", None)
        if isinstance(name, str) and name:
            on_pick(name[:2000])

    with st.container(key="click_component"):
        _component(key=KEY, on_name_change=picked)
