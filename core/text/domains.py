"""Lists of domains that a person typed, and addresses within them."""

import re
from functools import lru_cache
from urllib.parse import urlsplit


@lru_cache(maxsize=64)
def domains(text: str) -> frozenset[str]:
    """The domains of a list that a person typed: separated by commas or blanks, addresses and `*.` understood."""
    return frozenset(listed_domains(text))


@lru_cache(maxsize=64)
def listed_domains(text: str) -> tuple[str, ...]:
    """The same in the order in which they were typed, each once."""
    names = (name.lower() for name in text.replace(",", " ").split())
    hosts = (name.partition("://")[2] or name for name in names)
    bare = (host.partition("/")[0].partition(":")[0].removeprefix("*") for host in hosts)
    return tuple(dict.fromkeys(name for host in bare if (name := host.strip(".").removeprefix("www."))))


@lru_cache(maxsize=4096)
def within(url: str, rules: frozenset[str]) -> bool:
    """Whether the address's host is one of the domains or below one of them."""
    labels = host_of(url).split(".")
    return any(".".join(labels[start:]) in rules for start in range(len(labels)))


def host_of(url: str) -> str:
    """The host by which rules on domains see the address; empty where it has none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


_SITE_WORD = re.compile(r"(?<![^\s(])(?P<minus>-)?site:(?P<name>[^\s,()\"]+)", re.IGNORECASE)


def without_site_words(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a text without its words `site:a.example` and `-site:b.example`, and the domains that they allow and exclude."""
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
