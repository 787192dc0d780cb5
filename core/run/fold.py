"""Fold many events into a run in linear time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.model import Phase
from core.run import events as e
from core.run.growing import Growing
from core.run.state import Run
from core.run.transitions import UsageKey, add_usage, folded_calls, usage_of, with_merged_hits

if TYPE_CHECKING:
    from core.model import Index, Query

_GROWING = ("replies", "search_faults", "pages", "skips", "live_cosine")
_APPENDED = ("queries", "fetching", "notes", "passages", "embed_faults")


class Fold:
    """A run that grows by records. `run` is the immutable state after them.

    `Run.apply` copies the fields it changes, since callers may keep every state of a live run. A fold keeps only the
    last state, so it changes mappings, token sums and the matrix of vectors in place.
    """

    def __init__(self, base: Run) -> None:
        self._thaw(base)

    def _thaw(self, run: Run) -> None:
        timeline = replace(run.timeline, activities=Growing(run.timeline.activities))
        own: dict[str, Any] = {name: Growing(getattr(run, name)) for name in _GROWING}
        self._run = replace(run, timeline=timeline, **own)
        self._more: dict[str, list[Any]] = {name: [] for name in _APPENDED}
        """Values to append to these fields of the run."""
        self._queries: set[Query] = set(run.queries)
        self._usage: dict[UsageKey, e.ModelUsed] = {}
        for used in run.model_usage:
            add_usage(self._usage, used)
        self._index: Index | None = None
        """The index whose matrix only this fold holds."""
        self._unmerged = False

    @property
    def run(self) -> Run:
        """Return the run after the records so far. Later records do not change it."""
        run = self._run
        fields: dict[str, Any] = {name: dict(getattr(run, name)) for name in _GROWING}
        fields |= {name: (*getattr(run, name), *more) for name, more in self._more.items()}
        timeline = replace(run.timeline, activities=dict(run.timeline.activities))
        if self._index is not None and self._index.vectors is not None:
            self._index.vectors.flags.writeable = False
            self._index = None
        frozen = replace(run, timeline=timeline, model_usage=tuple(self._usage.values()), **fields)
        return frozen if not self._unmerged else with_merged_hits(frozen)

    @property
    def last(self) -> Run:
        """The state after the latest record.

        Read it before the next record. Fields that a `Fold` collects may be older.
        """
        return self._run

    def apply(self, record: e.Record) -> None:
        """Apply a record. Raises the errors of `Run.apply`."""
        event = record.event
        match event:
            case e.ModelUsed():
                add_usage(self._usage, event)
            case e.QueryPlanned(query=query):
                if query not in self._queries:
                    self._queries.add(query)
                    self._more["queries"].append(query)
            case e.FetchStarted(key=key):
                self._more["fetching"].append(key)
            case e.Note():
                self._more["notes"].append(event)
            case e.PageChunked(passages=passages):
                self._more["passages"] += passages
            case e.BatchFailed():
                self._more["embed_faults"].append(event)
            case e.RunResumed() | e.RunStopped() | e.RunFailed():
                self._thaw(self.run.apply(record))  # the previous run is kept or restored
                return
            case _:
                self._apply_whole(record)
                return
        run = self._run
        timeline, calls = run.timeline.apply(record), folded_calls(run, record)
        self._run = replace(run, seconds=record.at, timeline=timeline, calls=calls)

    def _apply_whole(self, record: e.Record) -> None:
        match record.event:
            case e.RunStarted() as start:
                self._usage.clear()
                for used in usage_of(start):
                    add_usage(self._usage, used)
            case e.PhaseStarted(phase=Phase.CHUNK):
                self._more["passages"].clear()
            case e.PhaseStarted(phase=Phase.EMBED):
                self._more["embed_faults"].clear()
            case e.SearchAnswered():
                self._unmerged = True
            case e.Embedded(rows=rows, vectors=vectors) as batch if rows is not None and vectors is not None:
                if (index := self._run.index) is not None:
                    if index is not self._index:
                        self._index = index.writable()
                        self._run = replace(self._run, index=self._index)
                    self._index.fill(rows, vectors)
                record = e.Record(record.at, replace(batch, rows=None, vectors=None))
        self._run = self._run.apply(record)


def folded_run(records: Iterable[e.Record], base: Run | None = None) -> Run:
    """Fold records into a run, starting from `base`.

    Without `base`, the run starts empty. A run that no record ends is interrupted.
    """
    fold = Fold(base or Run())
    for record in records:
        fold.apply(record)
    return fold.run.interrupted()
