"""Pages of the history by a cursor: the start and the id of the last run."""

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import Protocol

import orjson

from core.serving.problems import Fault, Refusal
from core.storage.run_summaries import RunSummary

_VERSION = 1
_CHUNK = 500
"""Runs that are read at once after the first time, when filters left too few."""


class ReadRuns(Protocol):
    """Reads stored runs, newest first."""

    def __call__(self, limit: int, *, before: tuple[str, str] | None) -> tuple[RunSummary, ...]:
        """Return at most `limit` runs that are older than the run with this start and id."""


def run_page(
    read: ReadRuns,
    wanted: Callable[[Iterable[RunSummary]], tuple[RunSummary, ...]],
    limit: int,
    cursor: str,
) -> tuple[list[RunSummary], str]:
    """Return at most `limit` wanted runs after the cursor, and the next cursor, which is empty at the end.

    Raises:
        Refusal: when the cursor is none of this version.
    """
    before, page, size = _read_cursor(cursor), list[RunSummary](), limit + 1
    while True:
        runs = read(size, before=before)
        page += wanted(runs)
        if len(page) > limit:
            return page[:limit], _cursor(page[limit - 1])
        if len(runs) < size:
            return page, ""
        before, size = (runs[-1].started, runs[-1].id), max(size, _CHUNK)


def _cursor(run: RunSummary) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([_VERSION, run.started, run.id])).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[str, str] | None:
    if not cursor:
        return None
    try:
        match orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))):
            case [version, str(started), str(name)] if version == _VERSION:
                return started, name
    except (ValueError, binascii.Error):
        pass
    fault = Fault(field="cursor", message="It is none of this version.")
    raise Refusal(404, "There is no such page of runs.", "Begin again without a cursor.", errors=[fault])
