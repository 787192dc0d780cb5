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
"""Runs that are read at once while filters choose among them."""


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
    before, found = _read_cursor(cursor), list[RunSummary]()
    while True:
        runs = read(_CHUNK, before=before)
        found += wanted(runs)
        if len(found) > limit:
            return found[:limit], _cursor(found[limit - 1])
        if len(runs) < _CHUNK:
            return found, ""
        before = runs[-1].started, runs[-1].id


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
