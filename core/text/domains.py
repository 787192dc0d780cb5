"""Lists of typed domains, and addresses within them."""

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urlsplit

_SITE_WORD = re.compile(r"(?<![^\s(])(?P<minus>-)?site:(?P<name>[^\s,()\"]+)", re.IGNORECASE)


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
