"""Parse and check URLs strictly. Connections are made only to the results."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin

import idna

from core.adapters.web.networks import EMPTY_ALLOWLIST, Address, AddressAllowlist, address_is_public
from core.model import SkipReason, Unreadable

PORTS = frozenset({80, 443, 8080, 8443})
"""Ports of web servers. Other ports belong to mail, databases and the like. The allowlist opens more."""

_DEFAULT_PORT = {"http": 80, "https": 443}
_MAX_LENGTH = 4096
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ufeff]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCAL_SUFFIXES = frozenset(
    {"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private"}
    | {"onion", "home.arpa"}
)
"""Name endings that are never public. Names that resolve to private addresses are detected later."""

_URL_CHARACTERS = "!#$%&'()*+,/:;=?@[]~-._"


@dataclass(frozen=True, slots=True)
class SafeUrl:
    """A checked URL. `host` is ASCII and lower case: a name, or an IP address in its canonical form.

    `path` holds path and query, ASCII and percent-encoded, and begins with a slash.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The `Host` header's value. A default port is omitted."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The complete address."""
        return self.origin + self.path


def check_url(url: str, allowlist: AddressAllowlist = EMPTY_ALLOWLIST) -> SafeUrl:
    """Parse an http or https URL of the public web.

    Only the spelling is checked. Names still have to be resolved, and every address checked by `check_address` before
    connecting.

    Raises:
        Unreadable: BLOCKED, with the reason.
    """
    url = url.strip(" \t\r\n")
    if len(url) > _MAX_LENGTH:
        raise _blocked(f"longer than {_MAX_LENGTH} characters")
    if "\\" in url:
        raise _blocked("a backslash in the address")
    match = re.match(r"(?i)(https?)://([^/?#]*)([^#]*)", url)
    if not match:
        scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)", url)
        raise _blocked(
            f"{scheme[0].lower()} is not http or https" if scheme else "not an http or https address"
        )
    if _INVISIBLE.search(match[2]) or re.search(r"[\x00-\x1f\x7f-\x9f]", match[3]):
        raise _blocked("a control character or space in the address")
    scheme_name = match[1].lower()
    host, port = _host_and_port(match[2], scheme_name)
    _check_host(host, port, allowlist)
    path = quote(match[3], safe=_URL_CHARACTERS, encoding="utf-8", errors="replace")
    return SafeUrl(scheme_name, host, port, path if path.startswith("/") else "/" + path)


def check_redirect(base: SafeUrl, location: str, allowlist: AddressAllowlist = EMPTY_ALLOWLIST) -> SafeUrl:
    """Check the target of a redirect from `base`.

    Raises:
        Unreadable: BLOCKED as in `check_url`, or REDIRECTS for a step from https to http.
    """
    if _INVISIBLE.search(location.strip(" \t")):
        location = location.strip(" \t").replace(" ", "%20")
    try:
        url = urljoin(base.url, location)
    except ValueError as error:
        raise _blocked("a redirect to a malformed address") from error
    target = check_url(url, allowlist)
    if base.scheme == "https" and target.scheme == "http":
        raise Unreadable(SkipReason.REDIRECTS, "leads from https down to http")
    return target


def check_address(ip: str, host: str, port: int, allowlist: AddressAllowlist = EMPTY_ALLOWLIST) -> Address:
    """Check that connecting to an address is allowed. The address was resolved from `host`.

    Raises:
        Unreadable: BLOCKED.
    """
    try:
        address = ipaddress.ip_address(ip)
    except ValueError as error:
        raise _blocked(f"{host} resolves to something that is no address") from error
    if allowlist.allows_host(host, port) or allowlist.allows_address(address, port):
        return address
    if not address_is_public(address):
        raise _blocked(f"{host} is not on the public web")
    if port not in PORTS:
        raise _blocked(f"port {port}")
    return address


def _host_and_port(authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority:
        raise _blocked("a user name in the address")
    if "%" in authority:
        raise _blocked("an encoded or zoned host")
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?", authority)
    if not match:
        raise _blocked("no valid host and port")
    port = int(match[2]) if match[2] else _DEFAULT_PORT[scheme]
    if not 1 <= port <= 65535 or (match[2] or "1").startswith("0"):
        raise _blocked(f"port {match[2]}")
    if match[1].startswith("["):
        try:
            return str(ipaddress.IPv6Address(match[1][1:-1])), port
        except ValueError as error:
            raise _blocked("a malformed IPv6 address") from error
    return _normalize_host(match[1]), port


def _normalize_host(host: str) -> str:
    """Normalize a host: ASCII, lower case, no trailing dot.

    Only one such dot is removed. Numbers are accepted only as a.b.c.d.
    """
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True, transitional=False).decode("ascii")
        except (idna.IDNAError, UnicodeError) as error:
            raise _blocked("a host name that is not valid") from error
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _blocked("a host name that is not valid")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError as error:
            raise _blocked("a number in place of a host") from error
    return host


def _check_host(host: str, port: int, allowlist: AddressAllowlist) -> None:
    """Refuse a host that no look-up could make acceptable."""
    if allowlist.allows_host(host, port):
        return
    try:
        ipaddress.ip_address(host)
    except ValueError:
        labels = host.split(".")
        if len(labels) == 1:
            raise _blocked(f"{host} is not a public name") from None
        if labels[-1] in _LOCAL_SUFFIXES or ".".join(labels[-2:]) in _LOCAL_SUFFIXES:
            raise _blocked(f"{host} is not a public name") from None
        if port not in PORTS and not allowlist.networks:
            raise _blocked(f"port {port}") from None
    else:
        check_address(host, host, port, allowlist)


def _blocked(detail: str) -> Unreadable:
    return Unreadable(SkipReason.BLOCKED, detail)
