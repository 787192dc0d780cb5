"""What features add to an engine: connections, and probes of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from core.adapters.cache.embedding_cache import CachedEmbed
    from core.config.access import Access
    from core.config.knobs import Knobs
    from core.ports import Ports


class EnginePart(Protocol):
    """The connections of a feature, which live as long as the engine."""

    async def wrap_ports(self, ports: Ports, embed: CachedEmbed, knobs: Knobs, access: Access) -> Ports:
        """Return the ports of a run with the sources of the feature.

        Args:
            ports: the ports without the feature.
            embed: `ports.embed` with its cache.
            knobs: the run's knobs, which choose where it searches.
            access: the visitor's servers and keys.

        Raises:
            BadInput: when the visitor may not use a server of theirs here.
        """

    async def collections(self, access: Access) -> tuple[str, ...]:
        """Return the names of the collections that a visitor's run can search.

        Raises:
            LibraryFailed: when they cannot be listed.
        """

    async def aclose(self) -> None:
        """Close connections and processes."""


class ProbeState(StrEnum):
    """The state of a service."""

    WORKS = "works"
    PARTLY = "partly"
    """The service works, but not all that is set up."""
    OFF = "off"
    BROKEN = "broken"


ProbeReport = tuple[ProbeState, str, str]
Check = Callable[[], Awaitable[ProbeReport]]
"""A probe: it returns the state, the detail and a hint, or raises OpenQueryError."""
