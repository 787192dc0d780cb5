"""Gantt chart of a run: phases with their searches, pages and model calls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from urllib.parse import urlsplit

from core.analysis.progress import PHASES
from core.model.passage_urls import site
from core.run.state import Run
from core.run.timeline import Activity, Span, Wait
from core.text.sanitize import one_line

MAX_ROWS = 150
"""The most rows below the phases. Only the longest are shown, the others are counted."""

WAIT = "wait"
"""The kind of a bar between a fetch and its extraction."""

RETRY = "retry"
"""The kind of a bar for a model call's wait before another attempt."""

_PAGE_KINDS = frozenset({"fetch", "extract"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A part of a row. `left` and `width` are shares of the whole, from 0 to 1."""

    kind: str
    """phase, step, search, fetch, wait, extract, embed or retry."""
    left: float
    width: float
    start: float
    """Seconds since the run began."""
    seconds: float
    failed: bool = False
    running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A phase, a search, a page from its fetch to its article, or a model call.

    Its bars follow each other, except that retry waits lie within the bar of their call.
    """

    kind: str
    """phase, step, search, page, embed or retry."""
    label: str
    detail: str
    """The label in full, and the address of a page."""
    bars: tuple[Bar, ...]
    seconds: float
    """Seconds of work from the first bar to the last, without `waited`."""
    waited: float = 0.0
    """Seconds of waiting for another attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gantt:
    """The bars of a run's phases over time."""

    seconds: float
    """Duration of the full width."""
    ticks: tuple[float, ...]
    groups: tuple[tuple[Row, tuple[Row, ...]], ...]
    """Each phase with its rows, in order of their starts."""
    hidden: int
    """Rows left out because there are too many."""

    @property
    def bars(self) -> tuple[Bar, ...]:
        """All drawn bars."""
        return tuple(bar for phase, rows in self.groups for row in (phase, *rows) for bar in row.bars)


def gantt(run: Run, now: float) -> Gantt:
    """Return the timeline at `now` on the run's clock."""
    whole, timeline = max(now, run.seconds, 1e-3), run.timeline
    places = {hit.key: place for place, hit in enumerate(run.hits, 1)}
    titles = {hit.key: hit.title for hit in run.hits} | {page.key: page.title for page in run.pages.values()}
    by_row: dict[str, list[Activity]] = {}
    for key, activity in timeline.activities.items():
        subject = key.partition(" ")[2]
        row = f"page {subject}" if activity.kind in _PAGE_KINDS else key
        by_row.setdefault(row, []).append(activity)
    rows = []
    for name, parts in by_row.items():
        key, waited = (
            name.partition(" ")[2],
            timeline.waited(name, now) if name in timeline.activities else 0.0,
        )
        bars = (
            *_bars(sorted(parts, key=lambda activity: activity.span.start), now, whole),
            *_retries(run, name, now, whole),
        )
        rows.append((parts[0].phase, _row(parts, places.get(key), titles.get(key, ""), bars, waited)))
    rows += [(wait.phase, _retry_row(wait, now, whole)) for wait in timeline.waits if not wait.activity]
    longest = sorted(rows, key=lambda pair: -pair[1].seconds)[:MAX_ROWS]
    drawn = sorted(longest, key=lambda pair: (pair[1].bars[0].start, pair[1].label))
    groups = tuple(
        (
            Row(
                kind="phase",
                label=title,
                detail=title,
                bars=(_bar("phase", span, now, whole),),
                seconds=timeline.worked(phase, now),
                waited=max(span.seconds(now) - timeline.worked(phase, now), 0.0),
            ),
            tuple(row for of_phase, row in drawn if of_phase is phase),
        )
        for phase, title in PHASES
        if (span := timeline.phases.get(phase))
    )
    return Gantt(seconds=whole, ticks=_ticks(whole), groups=groups, hidden=len(rows) - len(drawn))


def _row(
    parts: Sequence[Activity], place: int | None, title: str, bars: tuple[Bar, ...], waited: float
) -> Row:
    """Return the row of activities about one subject.

    `place` in the hits and `title` are those of a page.
    """
    first = parts[0]
    address = one_line(first.label, 500)
    name = _short(title or first.label)
    return Row(
        kind="page" if first.kind in _PAGE_KINDS else first.kind,
        label=f"{place}. {name}" if place else name,
        detail=f"{one_line(title)} – {address}" if title else address,
        bars=bars,
        seconds=max(bar.start + bar.seconds for bar in bars) - bars[0].start - waited,
        waited=waited,
    )


def _retries(run: Run, activity: str, now: float, whole: float) -> Iterable[Bar]:
    """Yield a bar for each retry wait."""
    for wait in run.timeline.waits:
        if wait.activity == activity:
            yield _bar(RETRY, _until(wait, now), now, whole)


def _retry_row(wait: Wait, now: float, whole: float) -> Row:
    """Return the row of a wait whose call has no activity, such as writing queries."""
    bar = _bar(RETRY, _until(wait, now), now, whole)
    label = f"{wait.reason}: waiting for {wait.server}"
    return Row(
        kind=RETRY,
        label=_short(label),
        detail=one_line(label, 500),
        bars=(bar,),
        seconds=0.0,
        waited=bar.seconds,
    )


def _until(wait: Wait, now: float) -> Span:
    """Return the part of the wait before `now`."""
    return Span(start=wait.span.start, end=min(wait.ends(), max(now, wait.span.start)))


def _bars(parts: Sequence[Activity], now: float, whole: float) -> Iterable[Bar]:
    for part, following in zip_longest(parts, parts[1:]):
        yield _bar(part.kind, part.span, now, whole, failed=part.failed)
        end = part.span.end
        if following is not None and end is not None and end < following.span.start:
            yield _bar(WAIT, Span(start=end, end=following.span.start), now, whole)


def _bar(kind: str, span: Span, now: float, whole: float, *, failed: bool = False) -> Bar:
    seconds = max(span.seconds(now), 0.0)
    return Bar(
        kind=kind,
        left=min(span.start / whole, 1.0),
        width=seconds / whole,
        start=span.start,
        seconds=seconds,
        failed=failed,
        running=span.end is None,
    )


def _short(label: str) -> str:
    """Return a short form of an address: the end of its path, and its site."""
    if not label.startswith(("http://", "https://")):
        return one_line(label)
    last = urlsplit(label).path.rstrip("/").rpartition("/")[2]
    return one_line(f"{last} · {site(label)}" if last else site(label))


def _ticks(whole: float) -> tuple[float, ...]:
    """Return four to eight round seconds for the axis."""
    step = next(
        unit * 10.0**power
        for power in range(-3, 7)
        for unit in (1, 2, 5)
        if whole / (unit * 10.0**power) <= 8
    )
    return tuple(round(step * n, 6) for n in range(int(whole / step) + 1))
