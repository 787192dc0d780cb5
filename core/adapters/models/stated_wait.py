"""Find how long a model server asks to wait: in a header, in the fields of its error, or in its words."""

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from core.text.http_headers import duration, header_number, retry_after

_MILLISECONDS = ("retry-after-ms", "x-ms-retry-after-ms")
_RESET = re.compile(r"ratelimit(?:-.*)?-reset(?:-.*)?$", re.IGNORECASE)
_YEAR_2001 = 1e9
"""Larger numbers are no waits but moments: seconds since the epoch, or milliseconds from 1e12 on."""
_SAID = re.compile(
    r"\b(?:(?:try|retry|ask)(?:ing)? (?:again |your request )?(?:in|after)|wait(?: for)?(?: at least| about)?|retry-after:?)"
    r"\s(?P<wait>\d{1,9}(?:\.\d{1,9})?\s?[a-z]{1,12}(?:[\s,]{0,2}(?:and )?\d[\d.]{0,12}\s?[a-z]{1,12}){0,4})",
    re.IGNORECASE,
)
_FIELDS = frozenset(
    ("retrydelay", "retry_delay", "retry_after", "retryafter", "retry_after_seconds", "estimated_time")
)


def stated_wait(headers: Mapping[str, str], body: Any) -> float | None:
    """Return the seconds that a server asks to wait, or None.

    `headers` have lower-case names. Of the limits with a reset, those count that have no request or token left.
    """
    for name in _MILLISECONDS:
        if (milliseconds := header_number(headers.get(name))) is not None:
            return milliseconds / 1000
    seconds = retry_after(headers.get("retry-after"))
    if seconds is None:
        seconds = next(_in_body(body), None)
    return _until_reset(headers) if seconds is None else seconds


def _until_reset(headers: Mapping[str, str]) -> float | None:
    waits = list[float]()
    for name, value in headers.items():
        left = headers.get(name.replace("reset", "remaining"), "0")
        if _RESET.search(name) and not header_number(left) and (wait := _until(value)) is not None:
            waits.append(wait)
    return max(waits, default=None)


def _until(value: str) -> float | None:
    """Return the seconds until a reset: a number, a duration, a date, or a moment since the epoch."""
    number = header_number(value)
    if number is not None and number > _YEAR_2001:
        return max(0.0, number / (1000 if number > 1000 * _YEAR_2001 else 1) - time.time())
    wait = retry_after(value)
    if wait is None:
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        wait = max(0.0, moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - time.time())
    return wait


def _in_body(body: Any, depth: int = 6) -> Iterator[float]:
    """Yield the waits in an error: its fields before its words."""
    if isinstance(body, dict) and depth:
        for name, value in body.items():
            if str(name).lower() in _FIELDS and isinstance(value, str | int | float):
                wait = retry_after(str(value))
                yield from [] if wait is None else [wait]
    if isinstance(body, dict | list) and depth:
        for value in body.values() if isinstance(body, dict) else body:
            yield from _in_body(value, depth - 1)
    elif isinstance(body, str) and (said := _SAID.search(body[:2_000])):
        words = said["wait"]
        while words:  # the words after the duration do not belong to it
            if (wait := duration(words)) is not None:
                yield wait
                return
            words = words.rpartition(" ")[0].rstrip(",")
