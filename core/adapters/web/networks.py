"""Public and private network addresses, and the private addresses that the operator allows."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from core.errors import BadInput

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_BAD_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network, unspecified
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by carriers; one cloud keeps its metadata here
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # a cloud's host agent, inside otherwise public space
            "169.254.0.0/16",  # link-local, with most clouds' metadata
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays, withdrawn
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarking
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_BAD_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "3fff::/20",  # documentation
        ),
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
"""Upper halves of the interface identifiers that carry an IPv4 address (RFC 5214)."""


def address_is_public(ip: str | Address) -> bool:
    """Check that an address is public.

    It is not in a range that is local, private, reserved or a tunnel into such a range. An IPv4-mapped or NAT64 address
    is as public as its IPv4 address. Teredo, 6to4 and IPv4-compatible addresses are always refused, because nobody
    serves pages from them. `is_global` of the standard library is not enough: it accepts several tunnels and multicast.
    """
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _BAD_V4)
    if address.scope_id is not None:
        return False
    low = int(address) & 0xFFFFFFFF
    if address in _MAPPED or address in _NAT64:
        return address_is_public(IPv4Address(low))
    if address not in _GLOBAL_V6 or any(address in network for network in _BAD_V6):
        return False
    carries_v4 = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    return not carries_v4 or address_is_public(IPv4Address(low))


@dataclass(frozen=True, slots=True)
class AddressAllowlist:
    """Addresses outside the public web that the operator allows, for tests and intranets.

    `exact` holds pairs of a host (a name or an address) and a port. A name allows all addresses that it resolves to.
    `networks` are allowed on every port.
    """

    exact: frozenset[tuple[str, int]] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> AddressAllowlist:
        """Parse entries such as `127.0.0.1:9001, [::1]:8080, wiki:8080, 10.0.0.0/8`.

        Raises:
            BadInput: naming the entry that is neither `host:port` nor a network.
        """
        exact: set[tuple[str, int]] = set()
        networks: list[Network] = []
        for entry in filter(None, re.split(r"[\s,;]+", text)):
            if "/" in entry:
                networks.append(_network(entry))
            else:
                exact.add(_host_and_port(entry))
        return cls(frozenset(exact), tuple(networks))

    def __bool__(self) -> bool:
        return bool(self.exact or self.networks)

    def __str__(self) -> str:
        pairs = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in sorted(self.exact))
        return ", ".join([*pairs, *map(str, self.networks)])

    def allows_host(self, host: str, port: int) -> bool:
        """Check a host and port as spelled."""
        return (host, port) in self.exact

    def allows_address(self, ip: Address, port: int) -> bool:
        """Check a resolved address and port."""
        return (str(ip), port) in self.exact or any(
            ip.version == network.version and ip in network for network in self.networks
        )


EMPTY_ALLOWLIST = AddressAllowlist()


def _network(entry: str) -> Network:
    try:
        return ipaddress.ip_network(entry)
    except ValueError as error:
        raise BadInput(
            f"“{entry}” is not a network.", hint="Write it as 10.0.0.0/8, with no bits set after the prefix."
        ) from error


def _host_and_port(entry: str) -> tuple[str, int]:
    host, colon, port = entry.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    good_port = re.fullmatch(r"[1-9][0-9]{0,4}", port) is not None and int(port) <= 65535
    if not colon or not host or not good_port or (":" in host) != bracketed:
        raise BadInput(
            f"“{entry}” is neither host:port nor a network.",
            hint="Examples: 127.0.0.1:9001, [::1]:8080, wiki.internal:8080, 10.0.0.0/8.",
        )
    try:
        return str(ipaddress.ip_address(host)), int(port)
    except ValueError:
        return host.lower().rstrip("."), int(port)
