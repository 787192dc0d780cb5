"""A run with the events that it was folded from: what a store holds of it, and what leaves it as a bundle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.model import Label
from core.run.events import Record, RunStarted
from core.run.state import Run


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedRun:
    """A run that has ended or was interrupted, and how it came about."""

    run: Run
    records: tuple[Record, ...] = ()
    """In the order of their times; the first has `RunStarted` where there is no `base`."""
    base: Run | None = None
    """The run before the first record: one that was imported without its events. None: the records are all of it."""
    labels: tuple[Label, ...] = ()
    """Of passages of its pages, to its question."""

    @classmethod
    def folded(
        cls, records: Iterable[Record], base: Run | None = None, labels: Iterable[Label] = ()
    ) -> RecordedRun:
        """The run that these records make of `base`."""
        records = tuple(records)
        return cls(run=Run.from_records(records, base), records=records, base=base, labels=tuple(labels))

    def with_id(self, run_id: str) -> RecordedRun:
        """The same run under another id."""
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
