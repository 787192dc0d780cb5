"""URL canonicalization. The canonical form is for comparing only: what is fetched and cited is the URL found.

Folded, as RFC 3986 section 6 allows: host case, percent-encoding, dot segments, default ports, the fragment.
Folded beyond it, because on the web these nearly always name one page and a wrong fold costs one page at most:
http and https, a leading `www.`, trailing slashes, tracking parameters, the order of the other parameters.
"""

import re
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
"""`ref`, `source` and `si` are not among them: on some sites they choose the page."""

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_UNESCAPED = _UNRESERVED | frozenset("!$&'()*+,;=:@/?")
_UNIT = re.compile(r"%[0-9A-Fa-f]{2}|.", re.DOTALL)
_USER_INFO = re.compile(r"^(\s*[a-zA-Z][a-zA-Z0-9+.-]*:[/\\]{2,})[^/?#\\]*@")
_HOST = re.compile(r"[^\s%/\\<>\"^`{|}\x00-\x20\x7f]+")


@lru_cache(maxsize=4096)
def canonical_url(url: str) -> str:
    """The canonical form of a web address; `canonical_url(canonical_url(url)) == canonical_url(url)`.

    Anything that is no http address with a plain host comes back as it is, without surrounding white space.
    So does an address with user info: folded onto the address without it, it could take that one's place.
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        host, port = _host(parts), parts.port
    except ValueError:
        return url
    if parts.scheme not in {"http", "https"} or "@" in parts.netloc or not host:
        return url
    # Both default ports go, whatever the scheme: the scheme itself is folded.
    origin = f"https://{host}" if port in {None, 80, 443} else f"https://{host}:{port}"
    path = _without_dots(_encoded(parts.path)).rstrip("/")
    query = _query(parts.query)
    return f"{origin}{path}?{query}" if query else f"{origin}{path}"


def without_user_info(url: str) -> str:
    """The address without a user name and password in it."""
    return _USER_INFO.sub(r"\1", url, count=1)


def _host(parts: SplitResult) -> str:
    """Lower case, in ASCII, without `www.`; empty when it is not a plain host name or address."""
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
    """Parameters sorted by name, since servers read them as a map; those of one name keep their order."""
    pairs = [_encoded(pair).replace("+", "%20").partition("=") for pair in query.split("&") if pair]
    telling = [pair for pair in pairs if not _tracks(pair[0].lower())]
    return "&".join("".join(pair) for pair in sorted(telling, key=lambda pair: pair[0]))


def _tracks(name: str) -> bool:
    return name in TRACKING_NAMES or name.startswith(TRACKING_PREFIXES)


def _encoded(text: str) -> str:
    """Percent-encoding in one spelling: capital digits, and none for characters that never need it."""
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
