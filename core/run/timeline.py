"""The timeline of a run: spans of its phases, searches, fetches, extractions and embedding calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.model import Phase
from core.run import events as e


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A time interval in seconds since the start of the run. `end` is None while it lasts."""

    start: float
    end: float | None = None

    def seconds(self, now: float) -> float:
        """The length in seconds, up to `now` while it lasts."""
        return (now if self.end is None else self.end) - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One bar of the timeline. `kind` is search, fetch, extract, embed or model."""

    phase: Phase
    kind: str
    label: str
    span: Span
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Spans by phase, and one activity for each search, fetch, extraction and embedding call."""

    phases: Mapping[Phase, Span] = field(default_factory=dict)
    activities: Mapping[str, Activity] = field(default_factory=dict)
    """Activities by kind and subject, such as `search <query>`, in order of their starts."""

    def apply(self, record: e.Record) -> Timeline:
        """The timeline after `record`; unchanged when the event starts or ends nothing."""
        at = record.at
        match record.event:
            case e.PhaseStarted(phase=phase):
                return replace(self, phases={**self.phases, phase: Span(start=at)})
            case e.PhaseEnded(phase=phase) if phase in self.phases:
                return replace(self, phases={**self.phases, phase: replace(self.phases[phase], end=at)})
            case e.SearchStarted(query=query):
                return self._start(f"search {query.text}", Phase.SEARCH, "search", query.text, at)
            case e.SearchAnswered(query=query):
                return self._end(f"search {query.text}", at)
            case e.QueryFailed(query=query):
                return self._end(f"search {query.text}", at, failed=True)
            case e.FetchStarted(key=key, url=url):
                return self._start(f"fetch {key}", Phase.READ, "fetch", url, at)
            case e.Fetched(key=key) if f"fetch {key}" in self.activities:
                label = self.activities[f"fetch {key}"].label
                fetched = self._end(f"fetch {key}", at)
                return fetched._start(f"extract {key}", Phase.READ, "extract", label, at)
            case e.PageRead(page=page):
                # Extraction may have queued for a worker: the span is the CPU time of the worker.
                start = at - page.article.seconds
                return self._end(f"extract {page.key}", at, start=start)
            case e.PageSkipped(skip=skip):
                fetched = self._end(f"fetch {skip.key}", at, failed=True)
                return fetched._end(f"extract {skip.key}", at, failed=True)
            case e.EmbedStarted(batch=batch, texts=texts):
                return self._start(f"embed {batch}", Phase.EMBED, "embed", f"{texts} texts", at)
            case e.Embedded(batch=batch):
                return self._end(f"embed {batch}", at)
            case e.BatchFailed(batch=batch):
                return self._end(f"embed {batch}", at, failed=True)
            case e.RunDone() | e.RunStopped() | e.RunFailed():
                return self.closed(at)
            case _:
                return self

    def closed(self, at: float) -> Timeline:
        """The timeline with every open span ended at `at`."""
        return Timeline(
            phases={p: replace(s, end=at) if s.end is None else s for p, s in self.phases.items()},
            activities={
                k: replace(a, span=replace(a.span, end=at)) if a.span.end is None else a
                for k, a in self.activities.items()
            },
        )

    def _start(self, key: str, phase: Phase, kind: str, label: str, at: float) -> Timeline:
        activity = Activity(phase=phase, kind=kind, label=label, span=Span(start=at))
        return replace(self, activities={**self.activities, key: activity})

    def _end(self, key: str, at: float, *, failed: bool = False, start: float | None = None) -> Timeline:
        activity = self.activities.get(key)
        if activity is None or activity.span.end is not None:
            return self
        span = Span(start=max(activity.span.start, start or 0.0), end=at)
        return replace(self, activities={**self.activities, key: replace(activity, span=span, failed=failed)})
