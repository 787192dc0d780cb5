"""The timeline of a run: phases, activities and waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from core.model import Phase
from core.run import events as e
from core.run.growing import with_items
from core.run.reports.plan_events import PlanApproved, PlanProposed
from core.run.step_events import StepEnded, StepStarted
from core.text.sanitize import pluralize


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A time interval in seconds since the start of the run. `end` is None until it ends."""

    start: float
    end: float | None = None

    def seconds(self, now: float) -> float:
        """Return the length in seconds, up to `now` if it has not ended."""
        return (now if self.end is None else self.end) - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One bar of the timeline. `kind` is step, search, fetch, extract or embed."""

    phase: Phase
    kind: str
    label: str
    span: Span
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A wait before a request to a model server is sent again. Its end is known from its start."""

    phase: Phase
    activity: str
    """The key of the waiting activity, or "" if the request has none."""
    server: str
    reason: str
    span: Span

    def ends(self) -> float:
        """Return the end time of the wait. It counts seconds since the run began. An open wait returns its start."""
        return self.span.start if self.span.end is None else self.span.end


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedReply:
    """An unfinished reply of a chat model. Times are seconds since the start of the run."""

    model: str
    heard: float
    """When the model was asked, or last sent data."""
    silence: float | None = None
    """Seconds without data before the reply is given up, or None."""
    ends: float | None = None
    """When the reply is given up, or None."""

    @property
    def gives_up(self) -> float | None:
        """Seconds of silence after which the reply is given up, or None."""
        limits = [self.silence, None if self.ends is None else self.ends - self.heard]
        return min((limit for limit in limits if limit is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Phase spans, activities and waits of a run. Each search, fetch, extraction and embedding call is an activity."""

    phases: Mapping[Phase, Span] = field(default_factory=dict)
    activities: Mapping[str, Activity] = field(default_factory=dict)
    """Activities by kind and subject, such as `search <query>`, in order of their starts."""
    waits: tuple[Wait, ...] = ()
    awaited: Mapping[Phase, AwaitedReply] = field(default_factory=dict)
    """Unfinished replies of chat models, by phase."""
    resumed: float = 0.0
    """When the latest work began, for the run itself or its latest follow-up."""

    def apply(self, record: e.Record) -> Timeline:
        """Return the timeline after `record`. Events that start or end nothing leave it unchanged."""
        seconds = record.at
        match record.event:
            case e.RunStarted() | e.RunResumed() | PlanApproved():
                return replace(self, resumed=seconds)
            case e.ModelRetry(phase=phase, retry=retry, batch=batch):
                wait = Wait(
                    phase=phase,
                    activity=f"embed {batch}" if batch else "",
                    server=retry.server,
                    reason=retry.reason,
                    span=Span(start=seconds, end=seconds + retry.seconds),
                )
                return replace(self, waits=(*self.waits, wait))._heard(phase, wait.ends())
            case e.ModelAsked(phase=phase, model=model, silence=silence, ends=ends):
                ends = None if ends is None else seconds + ends
                reply = AwaitedReply(model=model, heard=seconds, silence=silence, ends=ends)
                return replace(self, awaited={**self.awaited, phase: reply})
            case e.ModelHeard(phase=phase) | e.ModelThought(phase=phase):
                return self._heard(phase, seconds)
            case e.TokensWritten():
                return self._heard(Phase.ANSWER, seconds)
            case e.ModelUsed(phase=phase):
                return self._not_awaited(phase)
            case e.PhaseStarted(phase=phase):
                phases = {**self.phases, phase: Span(start=seconds)}
                return replace(self._not_awaited(phase), phases=phases)
            case e.PhaseEnded(phase=phase) if phase in self.phases:
                waits = _cut(self.waits, seconds, lambda wait: wait.phase is phase)
                spans = {**self.phases, phase: replace(self.phases[phase], end=seconds)}
                return replace(self._not_awaited(phase), phases=spans, waits=waits)
            case StepStarted(number=number, tool=tool):
                return self._start(f"step {number}", Phase.PLAN, "step", f"step {number}: {tool}", seconds)
            case StepEnded(number=number, error=error):
                return self._end(f"step {number}", seconds, failed=error)
            case e.SearchStarted(query=query):
                return self._start(f"search {query.text}", Phase.SEARCH, "search", query.text, seconds)
            case e.SearchAnswered(query=query):
                return self._end(f"search {query.text}", seconds)
            case e.QueryFailed(query=query):
                return self._end(f"search {query.text}", seconds, failed=True)
            case e.FetchStarted(key=key, url=url):
                return self._start(f"fetch {key}", Phase.READ, "fetch", url, seconds)
            case e.Fetched(key=key) if f"fetch {key}" in self.activities:
                label = self.activities[f"fetch {key}"].label
                fetched = self._end(f"fetch {key}", seconds)
                return fetched._start(f"extract {key}", Phase.READ, "extract", label, seconds)
            case e.PageRead(page=page):
                # Extraction may have waited for a worker, so the span is the CPU time of the worker.
                start = seconds - page.article.seconds
                return self._end(f"extract {page.key}", seconds, start=start)
            case e.PageSkipped(skip=skip):
                fetched = self._end(f"fetch {skip.key}", seconds, failed=True)
                return fetched._end(f"extract {skip.key}", seconds, failed=True)
            case e.EmbedStarted(batch=batch, texts=texts):
                return self._start(f"embed {batch}", Phase.EMBED, "embed", pluralize(texts, "text"), seconds)
            case e.Embedded(batch=batch):
                return self._end(f"embed {batch}", seconds)
            case e.BatchFailed(batch=batch):
                return self._end(f"embed {batch}", seconds, failed=True)
            case e.RunDone() | e.RunStopped() | e.RunFailed() | PlanProposed():
                return self.closed(seconds)
            case _:
                return self

    def closed(self, at: float) -> Timeline:
        """Return the timeline with every open span ended at `at`."""
        ended = {
            key: replace(activity, span=replace(activity.span, end=at))
            for key, activity in self.activities.items()
            if activity.span.end is None
        }
        return replace(
            self,
            phases={p: replace(s, end=at) if s.end is None else s for p, s in self.phases.items()},
            activities=with_items(self.activities, ended),
            waits=_cut(self.waits, at, lambda _: True),
            awaited={},
        )

    def silent(self, phase: Phase, now: float) -> float:
        """Return seconds since the awaited model sent data.

        The request counts as data. Returns 0 if no model is awaited.
        """
        return max(now - self.awaited[phase].heard, 0.0) if phase in self.awaited else 0.0

    def waiting(self, phase: Phase, now: float) -> Wait | None:
        """Return the retry wait of a running phase that ends soonest, or None."""
        span = self.phases.get(phase)
        if span is None or span.end is not None:
            return None
        under_way = [
            wait for wait in self.waits if wait.phase is phase and wait.span.start <= now < wait.ends()
        ]
        return min(under_way, key=Wait.ends, default=None)

    def worked(self, phase: Phase, now: float) -> float:
        """Return seconds of a started phase without idle waits.

        Time counts as idle when the phase only waited to retry.
        """
        span = self.phases[phase]
        waits = [wait for wait in self.waits if wait.phase is phase]
        if not waits:
            return span.seconds(now)
        busy = [
            part
            for key, activity in self.activities.items()
            if activity.phase is phase
            for part in _without(
                _interval(activity.span, now), [_interval(w.span, now) for w in waits if w.activity == key]
            )
        ]
        whole = _interval(span, now)
        idle = [part for wait in waits for part in _without(_clipped(_interval(wait.span, now), whole), busy)]
        return _length([whole]) - _length(idle)

    def waited(self, activity: str, now: float) -> float:
        """Return seconds that an activity waited to be retried."""
        whole = _interval(self.activities[activity].span, now)
        waits = [_interval(wait.span, now) for wait in self.waits if wait.activity == activity]
        return _length([_clipped(wait, whole) for wait in waits])

    def _heard(self, phase: Phase, at: float) -> Timeline:
        if phase not in self.awaited:
            return self
        return replace(self, awaited={**self.awaited, phase: replace(self.awaited[phase], heard=at)})

    def _not_awaited(self, phase: Phase) -> Timeline:
        return replace(self, awaited={p: reply for p, reply in self.awaited.items() if p is not phase})

    def _start(self, key: str, phase: Phase, kind: str, label: str, at: float) -> Timeline:
        activity = Activity(phase=phase, kind=kind, label=label, span=Span(start=at))
        return replace(self, activities=with_items(self.activities, {key: activity}))

    def _end(self, key: str, at: float, *, failed: bool = False, start: float | None = None) -> Timeline:
        activity = self.activities.get(key)
        if activity is None or activity.span.end is not None:
            return self
        span = Span(start=max(activity.span.start, start or 0.0), end=at)
        return replace(
            self,
            activities=with_items(self.activities, {key: replace(activity, span=span, failed=failed)}),
            waits=_cut(self.waits, at, lambda wait: wait.activity == key),
        )


def _cut(waits: tuple[Wait, ...], at: float, ended: Callable[[Wait], bool]) -> tuple[Wait, ...]:
    """Cut unfinished waits of ended work at `at`."""
    return tuple(
        replace(wait, span=replace(wait.span, end=at)) if ended(wait) and wait.ends() > at else wait
        for wait in waits
    )


_Interval = tuple[float, float]


def _interval(span: Span, now: float) -> _Interval:
    return span.start, max(span.start, now if span.end is None else min(span.end, max(now, span.start)))


def _clipped(interval: _Interval, whole: _Interval) -> _Interval:
    start = min(max(interval[0], whole[0]), whole[1])
    return start, max(start, min(interval[1], whole[1]))


def _without(interval: _Interval, holes: Iterable[_Interval]) -> list[_Interval]:
    remaining = []
    start, end = interval
    for first, last in sorted(holes):
        if first > start:
            remaining.append((start, min(first, end)))
        start = max(start, last)
        if start >= end:
            return remaining
    return [*remaining, (start, end)]


def _length(intervals: Iterable[_Interval]) -> float:
    """Return seconds that the intervals cover together. Overlaps count once."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered
