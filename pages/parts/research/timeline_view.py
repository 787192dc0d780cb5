"""Timeline: a Gantt chart of phases, searches, pages and model calls."""

from htpy import Element, b, div, i, span

from core.analysis.gantt import Bar, Gantt, Row, gantt
from core.run.state import Run
from core.text.sanitize import plural, pluralize
from pages.parts import markup

KINDS = {
    "phase": "phase",
    "step": "step of the agent",
    "search": "search",
    "fetch": "fetching the page",
    "wait": "waiting for a free extraction process",
    "extract": "extracting its text",
    "embed": "embedding a batch of passages",
    "retry": "waiting to send a request again",
}
"""Kinds of bars, with their names in legend and tooltips."""
FAILED, RUNNING = "failed or skipped (striped)", "still running (fading at its end)"


def timeline(run: Run, now: float) -> None:
    """Draw the run's phases, fetches and requests over time. `now` is in seconds of its clock."""
    chart = gantt(run, now)
    if not chart.groups:
        markup.show_empty("The run has not started yet.", "timeline")
        return
    note = (
        f"The shortest {pluralize(chart.hidden, 'row')} {plural(chart.hidden, 'is', 'are')} not shown."
        if chart.hidden
        else ""
    )
    tick = (chart.ticks[1] if len(chart.ticks) > 1 else chart.seconds) / chart.seconds
    rows = (_row(row) for phase, rows in chart.groups for row in (phase, *rows))
    markup.show(
        markup.section_heading("Timeline", "phases overlap: pages are embedded while others load"),
        _legend(chart),
        div(".oq-gantt", role="table", aria_label="Timeline of the run", style=f"--tick:{tick:.3%}")[
            _axis(chart), rows
        ],
        markup.facts(markup.fact(markup.duration(chart.seconds), "in total"), span[note]),
    )


def _legend(chart: Gantt) -> Element:
    """Return a legend of the chart's colours and patterns."""
    kinds = {bar.kind for bar in chart.bars}
    entries = [(kind, words) for kind, words in KINDS.items() if kind in kinds]
    entries += [("failed", FAILED)] if any(bar.failed for bar in chart.bars) else []
    entries += [("running", RUNNING)] if any(bar.running for bar in chart.bars) else []
    return markup.legend(*entries)


def _axis(chart: Gantt) -> Element:
    marks = (i(style=f"left:{tick / chart.seconds:.2%}")[span[f"{tick:g} s"]] for tick in chart.ticks)
    return div(".axis", aria_hidden="true")[div, div(".lane")[marks], div["duration"]]


def _row(row: Row) -> Element:
    waited = f"and {markup.duration(row.waited)} of waiting to ask again" if row.waited else None
    return div(class_=["row", row.kind], role="row")[
        div(".label", role="rowheader", dir="auto", title=row.detail)[row.label],
        div(".lane", role="cell")[map(_bar, row.bars)],
        div(".seconds", role="cell", title=waited)[markup.duration(row.seconds)],
    ]


def _bar(bar: Bar) -> Element:
    hint = f"{KINDS[bar.kind]}: {markup.duration(bar.seconds)}, from {markup.duration(bar.start)}"
    label = f"{hint}, {FAILED.partition(' (')[0]}" if bar.failed else hint
    return b(
        class_=[bar.kind, {"failed": bar.failed, "running": bar.running and not bar.failed}],
        role="img",
        aria_label=label,
        title=label,
        style=f"left:{bar.left:.3%};width:{bar.width:.3%}",
    )
