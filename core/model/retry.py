"""A retry of a request to a model server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A request that is sent again after a temporary refusal or a lost connection."""

    server: str
    """Host and port."""
    seconds: float
    """The wait before the next attempt."""
    reason: str
    """The reason, such as `rate limit`."""
