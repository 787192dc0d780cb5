"""When each thing of a run happened: phases, and the single searches, fetches, extractions and embedding calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.model import Phase
from core.run import events as e


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a run's clock, in seconds since it began. `end` is None while it lasts."""

    start: float
    end: float | None = None

    def seconds(self, now: float) -> float:
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
    phases: Mapping[Phase, Span] = field(default_factory=dict)
    activities: Mapping[str, Activity] = field(default_factory=dict)
    """Keyed by what each bar stands for, in order of their beginnings."""

    def apply(self, record: e.Record) -> Timeline:
        """The timeline once `record` has happened; itself when the event marks no beginning or end."""
        at = record.at
        match record.event:
            case e.PhaseStarted(phase=phase):
                return replace(self, phases={**self.phases, phase: Span(start=at)})
            case e.PhaseEnded(phase=phase) if phase in self.phases:
                return replace(self, phases={**self.phases, phase: replace(self.phases[phase], end=at)})
            case e.SearchStarted(query=query):
                return self._begun(f"search {query.text}", Phase.SEARCH, "search", query.text, at)
            case e.SearchAnswered(query=query):
                return self._ended(f"search {query.text}", at)
            case e.QueryFailed(query=query):
                return self._ended(f"search {query.text}", at, failed=True)
            case e.FetchStarted(key=key, url=url):
                return self._begun(f"fetch {key}", Phase.READ, "fetch", url, at)
            case e.Fetched(key=key) if f"fetch {key}" in self.activities:
                label = self.activities[f"fetch {key}"].label
                fetched = self._ended(f"fetch {key}", at)
                return fetched._begun(f"extract {key}", Phase.READ, "extract", label, at)
            case e.PageRead(page=page):
                # Extraction may have queued for a worker: its bar is the worker's own time.
                start = at - page.article.seconds
                return self._ended(f"extract {page.key}", at, start=start)
            case e.PageSkipped(skip=skip):
                fetched = self._ended(f"fetch {skip.key}", at, failed=True)
                return fetched._ended(f"extract {skip.key}", at, failed=True)
            case e.EmbedStarted(batch=batch, texts=texts):
                return self._begun(f"embed {batch}", Phase.EMBED, "embed", f"{texts} texts", at)
            case e.Embedded(batch=batch):
                return self._ended(f"embed {batch}", at)
            case e.BatchFailed(batch=batch):
                return self._ended(f"embed {batch}", at, failed=True)
            case e.RunDone() | e.RunStopped() | e.RunFailed():
                return self.closed(at)
            case _:
                return self

    def closed(self, at: float) -> Timeline:
        """Everything that still lasts ends at `at`."""
        return Timeline(
            phases={p: replace(s, end=at) if s.end is None else s for p, s in self.phases.items()},
            activities={
                k: replace(a, span=replace(a.span, end=at)) if a.span.end is None else a
                for k, a in self.activities.items()
            },
        )

    def _begun(self, key: str, phase: Phase, kind: str, label: str, at: float) -> Timeline:
        activity = Activity(phase=phase, kind=kind, label=label, span=Span(start=at))
        return replace(self, activities={**self.activities, key: activity})

    def _ended(self, key: str, at: float, *, failed: bool = False, start: float | None = None) -> Timeline:
        activity = self.activities.get(key)
        if activity is None or activity.span.end is not None:
            return self
        span = Span(start=max(activity.span.start, start or 0.0), end=at)
        return replace(self, activities={**self.activities, key: replace(activity, span=span, failed=failed)})
