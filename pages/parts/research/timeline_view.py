"""Timeline: a Gantt chart of phases, searches, fetches and model calls."""

from __future__ import annotations

import streamlit as st

from core.analysis.gantt import Bar, Gantt, gantt
from core.run.state import Run
from core.text.safe_markdown import escape_html
from pages.parts import markup


def timeline(run: Run, now: float) -> None:
    chart = gantt(run, now)
    if not chart.groups:
        st.html(markup.empty("The run has not started yet.", "timeline"))
        return
    note = f"The {chart.hidden} shortest activities are not shown." if chart.hidden else ""
    st.html(
        f"{markup.kicker('Timeline', 'phases overlap: pages are embedded while others load')}"
        f'<div class="oq-gantt" role="table" aria-label="Timeline of the run">{_axis(chart)}'
        f"{''.join(_group(phase, bars) for phase, bars in chart.groups)}</div>"
        f'<div class="oq-facts"><span><b>{markup.duration(chart.seconds)}</b> in total</span><span>{escape_html(note)}</span></div>'
    )


def _axis(chart: Gantt) -> str:
    marks = "".join(
        f'<i style="left:{tick / chart.seconds:.2%}"><span>{tick:g} s</span></i>' for tick in chart.ticks
    )
    return f'<div class="axis" aria-hidden="true"><div></div><div class="lane">{marks}</div></div>'


def _group(phase: Bar, bars: tuple[Bar, ...]) -> str:
    return _row(phase) + "".join(map(_row, bars))


def _row(bar: Bar) -> str:
    state = "failed" if bar.failed else "running" if bar.running else ""
    title = f"{bar.detail}: {markup.duration(bar.seconds)}"
    return (
        f'<div class="row {bar.kind}" role="row" title="{escape_html(title)}"><div class="label" role="cell">{escape_html(bar.label)}</div>'
        f'<div class="lane" role="cell"><b class="{state}" style="left:{bar.left:.3%};width:{bar.width:.3%}"></b>'
        f'<span style="left:{min(bar.left + bar.width, 0.9):.3%}">{markup.duration(bar.seconds)}</span></div></div>'
    )
