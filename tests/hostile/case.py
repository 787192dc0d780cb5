"""What a case is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.model import Extractor, Page, SkipReason
from tests.loopback import Route

RouteOf = Callable[[int], Route]
"""A route that has to know the port of its web."""


@dataclass(frozen=True)
class Case:
    """`reason` is None when the page must be read. Without a `url` it is the route `/` that is fetched."""

    group: str
    name: str
    reason: SkipReason | None
    url: str = ""
    """What is fetched, `{port}` standing for the web's own."""
    routes: Mapping[str, Route] = field(default_factory=dict)
    port_routes: Mapping[str, RouteOf] = field(default_factory=dict)
    """Further routes, which are made once the port is known."""
    names: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """Names, each with the answers that looking it up brings, one after the other."""
    certificate: str = ""
    robots: bool = False
    fetches: int = 1
    megabytes: float = 1.0
    extractor: Extractor = Extractor.ACCURATE
    visits: int | None = None
    """How many requests must reach the web; None: any number."""
    says: str = ""
    """Words that the reason's detail must hold."""
    holds: Callable[[Page], bool] | None = None
    """What must be true of the page that was read."""

    @property
    def patience(self) -> float:
        """Seconds for each page: few where using them up is the outcome, else more than a busy machine needs."""
        return 1.0 if self.reason is SkipReason.TIMEOUT else 30.0
