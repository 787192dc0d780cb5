"""Search the web within sites: `site:` narrows the query, and other sites' results are dropped."""

from dataclasses import replace

from core.config.knobs import RankKnobs, SearchKnobs
from core.errors import SearchFailed
from core.model import SearchReply
from core.ports import Search
from core.text.sanitize import plural, pluralize
from core.text.urls import listed_domains, site_filter

MOST_NAMED = 10
"""The maximum number of domains in a query. Engines cut longer queries. The others are only filtered."""

ANY_SITE = "Name other sites, or leave “Only these sites” empty."
"""The hint for a search without results on the chosen sites."""


class WithinSites:
    """A `Search` port over another web search, within the sites of the knobs.

    `operators` says whether its engines understand `site:`.
    """

    def __init__(self, web: Search, knobs: RankKnobs, *, operators: bool) -> None:
        self._web, self._operators = web, operators
        self._only, self._without = knobs.only_domains, knobs.without_domains

    @property
    def identity(self) -> str:
        """The identity of the other search."""
        return self._web.identity

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Search, and keep only results on these sites. Their ranks are numbered again.

        Raises:
            SearchFailed: when the other search fails, or there are no results on these sites.
        """
        reply = await self._web(self._narrowed(query), knobs)
        fits = site_filter(self._only, self._without)
        on_sites = [result for result in reply.results if fits(result.url)]
        told = reply.unresponsive_engines or reply.corrections or reply.answers
        only = listed_domains(self._only)
        if not on_sites and (reply.results or (only and not told)):
            raise SearchFailed(
                self._nothing(len(reply.results)), hint=ANY_SITE if only else "Exclude fewer sites."
            )
        ranked = (replace(result, rank=rank) for rank, result in enumerate(on_sites, 1))
        return replace(reply, results=tuple(ranked))

    def _narrowed(self, query: str) -> str:
        """Narrow the query to the sites. A query with its own `site:` is unchanged."""
        if not self._operators or "site:" in query:
            return query
        only = " OR ".join(f"site:{name}" for name in listed_domains(self._only)[:MOST_NAMED])
        without = " ".join(f"-site:{name}" for name in listed_domains(self._without)[:MOST_NAMED])
        return " ".join(filter(None, (query, f"({only})" if " OR " in only else only, without)))

    def _nothing(self, others: int) -> str:
        only = listed_domains(self._only)
        where = f"on {', '.join(only)}" if only else f"outside of {', '.join(listed_domains(self._without))}"
        left_out = (
            f"; {pluralize(others, 'result')} on other sites {plural(others, 'was', 'were')} left out"
            if others
            else ""
        )
        return f"No search results found {where}{left_out if only else ''}."
