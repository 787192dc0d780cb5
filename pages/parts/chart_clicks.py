"""Clicks on charts and tables that Streamlit does not report: bands of a Sankey, cells of a matrix.

A link to `#pick-<name>`, or a piece of a chart whose custom data is a name, is picked by a click on it. Charts
take part inside a container whose key starts with `pickable`.
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
    document.querySelectorAll('[class*="st-key-pickable"] .js-plotly-plot').forEach((plot) => {
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
    """`on_pick` is called with the name of what was clicked, before the page is drawn again."""

    def picked() -> None:
        name = getattr(st.session_state.get(KEY), "name", None)
        if isinstance(name, str) and name:
            on_pick(name[:2000])

    with st.container(key="bridge_picks"):
        _component(key=KEY, on_name_change=picked)
