import pytest

from core.adapters.search.within_sites import WithinSites
from core.config.knobs import RankKnobs, SearchKnobs
from core.errors import SearchFailed
from core.model import Result, SearchReply


class Web:
    """A search that keeps what it is asked, and finds the same pages for everything."""

    identity = "web"

    def __init__(self, *urls: str, **more: object) -> None:
        rows = (Result(url=url, title=url, snippet="", rank=rank) for rank, url in enumerate(urls, 1))
        self.reply = SearchReply(backend="web", results=tuple(rows), **more)
        self.asked: list[str] = []

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        self.asked.append(query)
        return self.reply


A, SUB, B = "https://a.example/1", "https://www.sub.a.example/2", "https://b.example/3"


@pytest.mark.parametrize(
    ("only", "without", "asked", "found"),
    [
        ("a.example", "", "tea site:a.example", [A, SUB]),
        ("https://www.A.example/x, b.example", "", "tea (site:a.example OR site:b.example)", [A, SUB, B]),
        ("", "b.example sub.a.example", "tea -site:b.example -site:sub.a.example", [A]),
        ("a.example", "sub.a.example", "tea site:a.example -site:sub.a.example", [A]),
    ],
)
async def test_sites_narrow_the_query_and_its_results(only, without, asked, found) -> None:
    web = Web(A, SUB, B)
    search = WithinSites(web, RankKnobs(only_domains=only, without_domains=without), operators=True)
    reply = await search("tea", SearchKnobs())
    assert web.asked == [asked]
    assert [result.url for result in reply.results] == found
    assert [result.rank for result in reply.results] == list(range(1, len(found) + 1))


async def test_search_without_operators_is_only_filtered() -> None:
    web = Web(A, B)
    reply = await WithinSites(web, RankKnobs(only_domains="b.example"), operators=False)("tea", SearchKnobs())
    assert web.asked == ["tea"]
    assert [result.url for result in reply.results] == [B]


@pytest.mark.parametrize(
    ("urls", "says"),
    [
        ((A, B), "No search results found on c.example; 2 results on other sites were left out."),
        ((), "No search results found on c.example."),
    ],
)
async def test_allow_list_that_leaves_nothing_says_so(urls, says) -> None:
    search = WithinSites(Web(*urls), RankKnobs(only_domains="c.example"), operators=True)
    with pytest.raises(SearchFailed) as caught:
        await search("tea", SearchKnobs())
    assert caught.value.message == says
    assert "Only these sites" in caught.value.hint


async def test_engines_that_refuse_are_told_also_within_sites() -> None:
    web = Web(unresponsive_engines=(("brave", "CAPTCHA"),))
    reply = await WithinSites(web, RankKnobs(only_domains="c.example"), operators=True)("tea", SearchKnobs())
    assert reply.unresponsive_engines == (("brave", "CAPTCHA"),)
