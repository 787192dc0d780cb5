"""Egress policy: own hosts, and texts that must not reach models elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from core.config.knobs import SearchKnobs, SearchScope
from core.config.settings import LOOPBACK, Settings
from core.errors import BadInput
from core.text.http_headers import host_and_port, is_loopback

PAGES = ""
"""The origin of texts outside collections: web pages and documents of data sets."""
EVERY_COLLECTION = "*"
IN_PROCESS = ""
"""The host of a model that runs inside OpenQuery."""

OWN_MODEL = "Use a model of your own; OPENQUERY_OWN_HOSTS names the hosts that are yours."
"""A hint for what is kept from a hosted model."""


class Destination(StrEnum):
    """Where a model port sends texts."""

    MACHINE = "this machine"
    OWN = "your own host"
    HOSTED = "hosted"


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """Whether a text may reach a model, by the origin of the text and the host of the model.

    An origin is the name of a collection, or `PAGES`. The default lets every text reach every model.
    """

    private: frozenset[str] = frozenset()
    """The origins whose text reaches no hosted model."""
    own_hosts: frozenset[str] = frozenset()
    """Hosts that are not hosted: names, host:port, or `LOOPBACK`."""
    refuse: bool = False
    """Whether work that would need a private text at a hosted model is refused, rather than done without it."""

    @classmethod
    def from_settings(cls, settings: Settings) -> EgressPolicy:
        """The policy of a server with these settings."""
        pages = {PAGES} if settings.private_pages else set[str]()
        return cls(
            private=frozenset(_names(settings.private_collections) | pages),
            own_hosts=frozenset(_names(settings.own_hosts.lower())),
            refuse=settings.private_mode == "refuse",
        )

    def destination(self, host: str) -> Destination:
        """Return where the host of a model is. `host` is a name or address, with or without a port."""
        if host == IN_PROCESS:
            return Destination.MACHINE
        name, _ = host_and_port(host)
        if is_loopback(name) and LOOPBACK in self.own_hosts:
            return Destination.MACHINE
        return Destination.OWN if {host, name} & self.own_hosts else Destination.HOSTED

    def private_origins(self, origins: Iterable[str]) -> frozenset[str]:
        """Return the private origins among these, wherever their text goes."""
        return frozenset(origin for origin in origins if self._is_private(origin))

    def withheld(self, host: str, origins: Iterable[str]) -> frozenset[str]:
        """Return the origins whose text must not reach the model at this host.

        Raises:
            BadInput: when the result is not empty, and the policy refuses.
        """
        if not self.private or self.destination(host) is not Destination.HOSTED:
            return frozenset()
        withheld = self.private_origins(origins)
        if withheld and self.refuse:
            raise BadInput(
                f"{described(withheld)} must not reach the model at {host}, which is hosted.",
                hint=f"Choose other sources. {OWN_MODEL}",
            )
        return withheld

    def require(self, model: str, host: str, origins: Iterable[str]) -> None:
        """Refuse work that needs every text of these origins at this host.

        Raises:
            BadInput: when a text must not reach the host.
        """
        if withheld := self.withheld(host, origins):
            raise BadInput(f"{described(withheld)} is not sent to {model}, which is hosted.", hint=OWN_MODEL)

    def _is_private(self, origin: str) -> bool:
        if origin == EVERY_COLLECTION:
            return bool(self.private - {PAGES})
        return origin in self.private or (origin != PAGES and EVERY_COLLECTION in self.private)


UNRESTRICTED = EgressPolicy()


def searched_origins(knobs: SearchKnobs) -> frozenset[str]:
    """Return the origins of texts that a search with these knobs finds. Without names that is `EVERY_COLLECTION`."""
    pages = {PAGES} if knobs.origin is not SearchScope.LIBRARY else set[str]()
    collections = (knobs.collections or (EVERY_COLLECTION,)) if knobs.origin is not SearchScope.WEB else ()
    return frozenset(pages | set(collections))


def described(origins: Iterable[str]) -> str:
    """Origins in words, such as "Text of the collections a, b and pages"."""
    names = sorted(set(origins) - {PAGES})
    listed = f"the collection{'s' if len(names) > 1 else ''} {', '.join(names)}"
    listed = "all collections" if EVERY_COLLECTION in names else listed
    parts = [listed] * bool(names) + ["pages"] * (PAGES in origins)
    return f"Text of {' and '.join(parts)}"


def _names(text: str) -> set[str]:
    return {name.strip() for name in text.split(",") if name.strip()}
