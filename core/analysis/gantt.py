"""Gantt chart of a run: phases, and under each its searches, fetches and model calls."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from core.analysis.progress import PHASES
from core.model.passage_urls import site
from core.run.state import Run
from core.run.timeline import Span
from core.text.sanitize import one_line

MAX_BARS = 150
"""The most activities that are drawn: the longest ones; the rest are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """`left` and `width` are shares of the whole, from 0 to 1. `kind` is phase, search, fetch, extract …"""

    label: str
    detail: str
    """The label in full."""
    kind: str
    left: float
    width: float
    seconds: float
    failed: bool
    running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gantt:
    seconds: float
    """Duration of the full width."""
    ticks: tuple[float, ...]
    groups: tuple[tuple[Bar, tuple[Bar, ...]], ...]
    """Each phase with its activities, in order of their beginnings."""
    hidden: int
    """Activities left out because there are too many."""


def gantt(run: Run, now: float) -> Gantt:
    """The timeline at `now` seconds of the run's clock."""
    whole = max(now, run.seconds, 1e-3)
    activities = sorted(run.timeline.activities.values(), key=lambda one: -one.span.seconds(now))
    drawn = sorted(activities[:MAX_BARS], key=lambda one: (one.span.start, one.label))

    def bar(label: str, kind: str, span: Span, *, failed: bool = False) -> Bar:
        seconds = max(span.seconds(now), 0.0)
        return Bar(
            label=_short(label),
            detail=one_line(label, 500),
            kind=kind,
            left=min(span.start / whole, 1.0),
            width=seconds / whole,
            seconds=seconds,
            failed=failed,
            running=span.end is None,
        )

    groups = tuple(
        (
            bar(title, "phase", span),
            tuple(
                bar(one.label, one.kind, one.span, failed=one.failed) for one in drawn if one.phase is phase
            ),
        )
        for phase, title in PHASES
        if (span := run.timeline.phases.get(phase))
    )
    return Gantt(seconds=whole, ticks=_ticks(whole), groups=groups, hidden=len(activities) - len(drawn))


def _short(label: str) -> str:
    """An address shortened to the end of its path and its site."""
    if not label.startswith(("http://", "https://")):
        return one_line(label)
    last = urlsplit(label).path.rstrip("/").rpartition("/")[2]
    return one_line(f"{last} · {site(label)}" if last else site(label))


def _ticks(whole: float) -> tuple[float, ...]:
    """Round seconds for the axis, four to eight of them."""
    step = next(
        unit * 10.0**power
        for power in range(-3, 7)
        for unit in (1, 2, 5)
        if whole / (unit * 10.0**power) <= 8
    )
    return tuple(round(step * n, 6) for n in range(int(whole / step) + 1))
