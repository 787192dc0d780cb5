"""The sites that a chat request narrows its search to, in the fields that web searches of chat APIs have."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import ConfigDict, Field

from core.features.api.strict_json import Strict

Site = Annotated[str, Field(pattern=r"^-?[^\s,]{1,253}$")]
SiteList = Annotated[list[Site], Field(max_length=20)]


class SearchFilters(Strict):
    """`filters` of OpenAI's web search tool."""

    model_config = ConfigDict(extra="ignore")

    allowed_domains: SiteList | None = None
    blocked_domains: SiteList | None = None


class WebSearchOptions(Strict):
    """`web_search_options`: OpenAI's own fields ask for nothing here, those about sites narrow the search."""

    model_config = ConfigDict(extra="ignore")

    filters: SearchFilters | None = None
    only_domains: SiteList | None = None
    without_domains: SiteList | None = None


def sites_of(
    options: WebSearchOptions | None, domain_filter: SiteList | None
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return the sites that are allowed and those that are excluded, None where the request says nothing.

    `domain_filter` is Perplexity's `search_domain_filter`, which excludes with a minus sign.
    """
    only = [*_listed(options, "only_domains", "allowed_domains")]
    without = [*_listed(options, "without_domains", "blocked_domains")]
    for site in domain_filter or ():
        (without if site.startswith("-") else only).append(site.removeprefix("-"))
    return tuple(only) or None, tuple(without) or None


def _listed(options: WebSearchOptions | None, own: str, of_filters: str) -> Iterator[str]:
    if options:
        yield from getattr(options, own) or ()
        yield from getattr(options.filters, of_filters, None) or ()
