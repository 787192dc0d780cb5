"""The adapter against a real SearXNG."""

from collections.abc import AsyncIterator

import httpx
import pytest

from core.adapters.search.searxng import HEADERS, SearxNG
from core.config.knobs import SafeSearch, SearchKnobs, TimeRange
from core.errors import SearchFailed
from tests.services.searxng import RealSearxNG, hit, limiting_searxng, real_searxng

pytestmark = pytest.mark.searxng

REFUSED = (
    ("Accept", "application/json"),
    ("Accept-Encoding", "br"),
    ("Accept-Language", ""),
    ("User-Agent", "python-requests/2.32"),
)
"""Headers that the limiter refuses, each by itself."""


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as client:
        yield client


async def test_results_come_with_title_snippet_engine_and_rank(searxng: RealSearxNG, client):
    reply = await SearxNG(searxng.url, client=client)("chunk overlap", SearchKnobs())
    assert reply.backend == "searxng"
    assert [(row.rank, row.url) for row in reply.results] == [
        (1, "http://one.example/overlap"),
        (2, "http://two.example/size"),
        (3, "http://three.example/fusion"),
    ]
    first = reply.results[0]
    assert (first.title, first.snippet) == ("Chunk overlap", "Neighbouring passages share some text.")
    assert first.engines == ("local",)
    assert searxng.site.requests[0].query["q"] == "chunk overlap"


async def test_further_pages_are_asked_until_there_are_enough(searxng: RealSearxNG, client):
    searxng.site.hits = [hit(f"http://site.example/{number}", f"Page {number}") for number in range(40)]
    reply = await SearxNG(searxng.url, client=client)("anything", SearchKnobs(results=25))
    assert [row.rank for row in reply.results] == list(range(1, 26))
    assert len({row.url for row in reply.results}) == 25
    assert [request.query["page"] for request in searxng.site.requests] == ["1", "2", "3"]


async def test_engines_that_fail_are_named_with_their_reason(searxng: RealSearxNG, client):
    reply = await SearxNG(searxng.url, client=client)("x", SearchKnobs(engines="local,refused,broken"))
    assert len(reply.results) == 3
    assert {name for name, _ in reply.unresponsive_engines} == {"refused", "broken"}
    assert all(why for _, why in reply.unresponsive_engines)


async def test_reply_is_empty_and_says_so_when_all_engines_fail(searxng: RealSearxNG, client):
    reply = await SearxNG(searxng.url, client=client)("x", SearchKnobs(engines="broken"))
    assert reply.results == ()
    assert [name for name, _ in reply.unresponsive_engines] == ["broken"]


async def test_every_knob_is_accepted(searxng: RealSearxNG, client):
    knobs = SearchKnobs(
        language="de",
        safe_search=SafeSearch.STRICT,
        categories="general",
        engines="local",
        time_range=TimeRange.ANY,
    )
    assert len((await SearxNG(searxng.url, client=client)("x", knobs)).results) == 3


async def test_engine_without_a_time_filter_leaves_a_time_range(searxng: RealSearxNG, client):
    reply = await SearxNG(searxng.url, client=client)("x", SearchKnobs(time_range=TimeRange.WEEK))
    assert reply.results == ()


async def test_instance_with_json_is_healthy_without_asking_an_engine(searxng: RealSearxNG, client):
    health = await SearxNG(searxng.url, client=client).healthy()
    assert searxng.url in health
    assert "JSON enabled" in health
    assert searxng.site.requests == []


async def test_an_instance_without_json_says_how_to_enable_it(tmp_path, searxng, client):
    with real_searxng(tmp_path, json=False) as other:
        adapter = SearxNG(other.url, client=client)
        for request in (adapter.healthy(), adapter("x", SearchKnobs())):
            with pytest.raises(SearchFailed, match="refuses JSON") as caught:
                await request
            assert "search.formats" in caught.value.hint


async def test_engines_and_categories_that_the_instance_lacks_are_named(searxng: RealSearxNG, client):
    knobs = SearchKnobs(engines="local, Local,gogle", categories="general,scince")
    reply = await SearxNG(searxng.url, client=client)("x", knobs)
    assert reply.unknown_engines == ("Local", "gogle", "scince")
    assert len(reply.results) == 3


async def test_limiter_passes_four_searches_then_says_what_to_do(tmp_path, client):
    """Its own numbers: four searches in JSON an hour and address. Health spends none of them."""
    with limiting_searxng(tmp_path) as limiting:
        for name, value in REFUSED:
            status = (
                await client.get(f"{limiting.url}/search", headers={**HEADERS, name: value})
            ).status_code
            assert (name, status) == (name, 429)
        adapter = SearxNG(limiting.url, client=client)
        for _ in range(4):
            assert "limiter on" in await adapter.healthy()
            assert len((await adapter("x", SearchKnobs(results=3, engines="local"))).results) == 3
        with pytest.raises(SearchFailed, match=r"limits requests \(429\)") as caught:
            await adapter("x", SearchKnobs())
        assert "pass_ip" in caught.value.hint
