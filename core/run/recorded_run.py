"""A run with its events, as stored or exported in a bundle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.model import Label
from core.run.events import Record, RunStarted
from core.run.fold import folded_run
from core.run.state import Run


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedRun:
    """An ended or interrupted run, with its events."""

    run: Run
    records: tuple[Record, ...] = ()
    """Records in order of time. The first has `RunStarted` unless `base` is set."""
    base: Run | None = None
    """The run before the first record, if it was imported without events, or None."""
    labels: tuple[Label, ...] = ()
    """Relevance labels of passages for the run's question."""

    @classmethod
    def folded(
        cls, records: Iterable[Record], base: Run | None = None, labels: Iterable[Label] = ()
    ) -> RecordedRun:
        """Return the run that these records make of `base`."""
        records = tuple(records)
        return cls(run=folded_run(records, base), records=records, base=base, labels=tuple(labels))

    def with_id(self, run_id: str) -> RecordedRun:
        """Return the same run under another id."""
        first = self.records[0] if self.records else None
        records = self.records
        if first is not None and isinstance(first.event, RunStarted):
            records = (replace(first, event=replace(first.event, id=run_id)), *records[1:])
        return replace(
            self,
            run=replace(self.run, id=run_id),
            records=records,
            base=replace(self.base, id=run_id) if self.base else None,
        )
