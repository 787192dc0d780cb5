"""Timeline: a Gantt chart of phases, searches, pages and model calls, with a legend."""

from __future__ import annotations

import streamlit as st

from core.analysis.gantt import Bar, Gantt, Row, gantt
from core.run.state import Run
from core.text.markdown.safe_markdown import escape_html
from pages.parts import markup

KINDS = {
    "phase": "phase",
    "search": "search",
    "fetch": "fetching the page",
    "wait": "waiting for a free extraction process",
    "extract": "extracting its text",
    "embed": "embedding a batch of passages",
    "retry": "waiting to send a request again",
}
"""Kinds of bars, and what the legend and the tooltips call them."""
FAILED, RUNNING = "failed or skipped (striped)", "still running (fading at its end)"


def timeline(run: Run, now: float) -> None:
    chart = gantt(run, now)
    if not chart.groups:
        st.html(markup.empty("The run has not started yet.", "timeline"))
        return
    note = f"The {chart.hidden:,} shortest rows are not shown." if chart.hidden else ""
    tick = (chart.ticks[1] if len(chart.ticks) > 1 else chart.seconds) / chart.seconds
    st.html(
        f"{markup.kicker('Timeline', 'phases overlap: pages are embedded while others load')}"
        f"{_legend(chart)}"
        f'<div class="oq-gantt" role="table" aria-label="Timeline of the run" style="--tick:{tick:.3%}">'
        f"{_axis(chart)}{''.join(_row(row) for phase, rows in chart.groups for row in (phase, *rows))}</div>"
        f'<div class="oq-facts"><span><b>{markup.duration(chart.seconds)}</b> in total</span><span>{escape_html(note)}</span></div>'
    )


def _legend(chart: Gantt) -> str:
    """The colours and patterns that are on the chart, in words."""
    kinds = {bar.kind for bar in chart.bars}
    entries = [(kind, words) for kind, words in KINDS.items() if kind in kinds]
    entries += [("failed", FAILED)] if any(bar.failed for bar in chart.bars) else []
    entries += [("running", RUNNING)] if any(bar.running for bar in chart.bars) else []
    return markup.legend(*entries)


def _axis(chart: Gantt) -> str:
    marks = "".join(
        f'<i style="left:{tick / chart.seconds:.2%}"><span>{tick:g} s</span></i>' for tick in chart.ticks
    )
    return f'<div class="axis" aria-hidden="true"><div></div><div class="lane">{marks}</div><div>duration</div></div>'


def _row(row: Row) -> str:
    bars = "".join(map(_bar, row.bars))
    waited = f' title="and {markup.duration(row.waited)} of waiting to ask again"' if row.waited else ""
    return (
        f'<div class="row {row.kind}" role="row">'
        f'<div class="label" role="rowheader" dir="auto" title="{escape_html(row.detail)}">{escape_html(row.label)}</div>'
        f'<div class="lane" role="cell">{bars}</div>'
        f'<div class="seconds" role="cell"{waited}>{markup.duration(row.seconds)}</div></div>'
    )


def _bar(bar: Bar) -> str:
    state = " failed" if bar.failed else " running" if bar.running else ""
    hint = f"{KINDS[bar.kind]}: {markup.duration(bar.seconds)}, from {markup.duration(bar.start)}"
    label = f"{hint}, {FAILED.partition(' (')[0]}" if bar.failed else hint
    return (
        f'<b class="{bar.kind}{state}" role="img" aria-label="{label}" title="{label}" '
        f'style="left:{bar.left:.3%};width:{bar.width:.3%}"></b>'
    )
