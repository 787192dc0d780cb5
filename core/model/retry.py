"""A request to a model server that is sent again after a wait."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A request that a server refused for now, or whose connection was lost, and that is sent again."""

    server: str
    """Host and port."""
    seconds: float
    """The wait before the next attempt."""
    reason: str
    """Why, such as `rate limit`."""
