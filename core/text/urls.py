"""Web addresses: their canonical form, their host, and typed lists of domains.

The canonical form is for comparison only: the original URL is fetched and cited.

Folded, as RFC 3986 section 6 allows: host case, percent-encoding, dot segments, default ports, the fragment.
Folded beyond it, because on the web these nearly always name one page and a wrong fold costs one page at most:
http and https, a leading `www.`, trailing slashes, tracking parameters, the order of the other parameters.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

TRACKING_PREFIXES = ("utm_", "mc_", "pk_", "mtm_", "hsa_", "_hs", "vero_", "oly_", "guce_")
"""Campaign parameters of Google, Mailchimp, Matomo, HubSpot, Vero, Omeda and Yahoo."""

_CLICK_IDENTIFIERS = """
gclid gclsrc dclid gbraid wbraid srsltid _ga _gl fbclid igshid igsh mibextid msclkid yclid ysclid twclid
ttclid li_fat_id epik irclickid rb_clickid mkt_tok wickedid s_cid cmpid ncid smid spm ref_src ref_url
trk trkcampaign at_medium at_campaign ns_mchannel ns_source ns_campaign ns_linkname __twitter_impression
guccounter
"""
TRACKING_NAMES = frozenset(_CLICK_IDENTIFIERS.split())
"""`ref`, `source` and `si` are missing, because they choose the page on some sites."""

_SITE_WORD = re.compile(r"(?<![^\s(])(?P<minus>-)?site:(?P<name>[^\s,()\"]+)", re.IGNORECASE)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_UNESCAPED = _UNRESERVED | frozenset("!$&'()*+,;=:@/?")
_UNIT = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_USER_INFO = re.compile(r"^(\s*[a-zA-Z][a-zA-Z0-9+.-]*:[/\\]{2,})[^/?#\\]*@")
_IN_TEXT = re.compile(r"https?://[^\s<>\"“”«»„‹›，。；：！？、（）「」『』【】]{1,2000}", re.IGNORECASE)
_AFTER = ".,;:!?…'’*_`"
"""Punctuation after an address in a text, which is none of it."""
_EMPTY = re.compile(r"\(\s*\)|\[\s*\]|<\s*>")
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_HOST = re.compile(r"[^\s%/\\<>\"^`{|}\x00-\x20\x7f]+")


@lru_cache(maxsize=4096)
def canonical_url(url: str) -> str:
    """Return the canonical form of a web address. The function is idempotent.

    Other text than an http address with a plain host is returned unchanged, without surrounding white space. An address
    with user info is not folded either: it could replace the address without user info.
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        host, port = _host(parts), parts.port
    except ValueError:
        return url
    if parts.scheme not in {"http", "https"} or "@" in parts.netloc or not host:
        return url
    # Both default ports are removed for either scheme, because the scheme is folded too.
    origin = f"https://{host}" if port in {None, 80, 443} else f"https://{host}:{port}"
    path = _without_dots(_encoded(parts.path)).rstrip("/")
    query = _query(parts.query)
    return f"{origin}{path}?{query}" if query else f"{origin}{path}"


def addresses_in(text: str) -> tuple[str, ...]:
    """Return the web addresses in a text, each once, without the punctuation after them."""
    return tuple(dict.fromkeys(text[start:end] for start, end in _places_in(text)))


def without_addresses(text: str) -> str:
    """Return a text on one line without its web addresses."""
    pieces, reached = [], 0
    for start, end in _places_in(text):
        pieces.append(text[reached:start])
        reached = end
    return " ".join(_EMPTY.sub("", "".join([*pieces, text[reached:]])).split())


def _places_in(text: str) -> Iterator[tuple[int, int]]:
    for found in _IN_TEXT.finditer(text):
        address = found[0]
        while (last := address[-1]) in _AFTER or (
            last in _BRACKETS and address.count(last) > address.count(_BRACKETS[last])
        ):
            address = address[:-1]
        if not address.endswith("/") or address.count("/") > 2:
            yield found.start(), found.start() + len(address)


def without_user_info(url: str) -> str:
    """Return an address without its user name and password."""
    return _USER_INFO.sub(r"\1", url, count=1)


def _host(parts: SplitResult) -> str:
    """Return the host in lower case, in ASCII, without `www.`, or "" if it is not plain."""
    host = (parts.hostname or "").removesuffix(".")
    if not host.isascii():
        host = host.encode("idna").decode().lower().removesuffix(".")
    if not _HOST.fullmatch(host):
        return ""
    if ":" in host:
        return f"[{host}]"
    while host.startswith("www.") and "." in host[4:]:
        host = host[4:]
    return host


def _query(query: str) -> str:
    """Return the parameters sorted by name. Equal names keep their order, as servers read maps."""
    pairs = [_encoded(pair).replace("+", "%20").partition("=") for pair in query.split("&") if pair]
    telling = [pair for pair in pairs if not _tracks(pair[0].lower())]
    return "&".join("".join(pair) for pair in sorted(telling, key=lambda pair: pair[0]))


def _tracks(name: str) -> bool:
    return name in TRACKING_NAMES or name.startswith(TRACKING_PREFIXES)


def _encoded(text: str) -> str:
    """Return one spelling of percent-encoding: capital digits, and none for unreserved characters."""
    return _UNIT.sub(lambda match: _unit(match[0]), text)


def _unit(unit: str) -> str:
    if len(unit) == 3:
        character = chr(int(unit[1:], 16))
        return character if character in _UNRESERVED else unit.upper()
    if unit in _UNESCAPED:
        return unit
    return "".join(f"%{byte:02X}" for byte in unit.encode("utf-8", "surrogatepass"))


def _without_dots(path: str) -> str:
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[max(1, len(segments) - 1) :]  # the first is the empty one before the root
        elif segment != ".":
            segments.append(segment)
    return "/".join(segments)


@lru_cache(maxsize=64)
def domains(text: str) -> frozenset[str]:
    """Parse a typed list of domains.

    Commas or blanks separate the entries, which may be addresses or begin with `*.`.
    """
    return frozenset(listed_domains(text))


@lru_cache(maxsize=64)
def listed_domains(text: str) -> tuple[str, ...]:
    """Parse a typed list of domains, in order."""
    names = (name.lower() for name in text.replace(",", " ").split())
    hosts = (name.partition("://")[2] or name for name in names)
    bare = (host.partition("/")[0].partition(":")[0].removeprefix("*") for host in hosts)
    return tuple(dict.fromkeys(name for host in bare if (name := host.strip(".").removeprefix("www."))))


@lru_cache(maxsize=4096)
def within(url: str, rules: frozenset[str]) -> bool:
    """Return whether the address's host is one of the domains or their subdomains."""
    labels = host_of(url).split(".")
    return any(".".join(labels[start:]) in rules for start in range(len(labels)))


def site_filter(only: str, without: str) -> Callable[[str], bool]:
    """Return a function that tells whether an address is within typed lists of sites.

    Args:
        only: the domains that are allowed, or "" for all.
        without: the domains that are excluded.
    """
    allowed, excluded = domains(only), domains(without)

    def fits(url: str) -> bool:
        return (not allowed or within(url, allowed)) and not (excluded and within(url, excluded))

    return fits


def host_of(url: str) -> str:
    """Return the host of an address, or ""."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def without_site_words(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Remove the words `site:a.example` and `-site:b.example` from a text.

    Returns the text, and the allowed and excluded domains.
    """
    allowed: dict[str, None] = {}
    excluded: dict[str, None] = {}
    for match in _SITE_WORD.finditer(text):
        (excluded if match["minus"] else allowed).update(dict.fromkeys(listed_domains(match["name"])))
    rest = (
        re.sub(r"(?<!\S)(?:OR|\(|\)|\(\s*\))(?!\S)", " ", _SITE_WORD.sub(" ", text))
        if allowed or excluded
        else text
    )
    return (" ".join(rest.split()) if allowed or excluded else text), tuple(allowed), tuple(excluded)
