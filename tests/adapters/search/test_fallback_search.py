from __future__ import annotations

import asyncio

import pytest

from core.adapters.search.fallback_search import FallbackSearch
from core.config.knobs import SearchKnobs
from core.errors import SearchFailed
from core.model import Result, SearchReply


class Backend:
    """Fails, finds nothing, or finds one address; remembers what it was asked."""

    def __init__(self, identity: str, *, fails: str = "", finds: bool = True) -> None:
        self.identity = identity
        self.fails = fails
        self.finds = finds
        self.asked: list[str] = []
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        self.asked.append(query)
        self.reached.set()
        await self.open.wait()
        if self.fails:
            raise SearchFailed(self.fails, hint=f"Mend {self.identity}.")
        row = Result(url="http://a.example", title="", snippet="", rank=1)
        return SearchReply(backend="whatever", results=(row,) if self.finds else ())


async def test_the_first_that_works_answers_every_query_and_is_named():
    first, second, third = Backend("one", fails="Refused."), Backend("two"), Backend("three")
    auto = FallbackSearch([("searxng", first), ("ddgs", second), ("demo", third)])
    replies = [await auto(query, SearchKnobs()) for query in ("q", "r")]
    assert [reply.backend for reply in replies] == ["ddgs", "ddgs"]
    assert replies[0].passed == replies[1].passed == (("searxng", "Refused."),)
    assert (first.asked, second.asked, third.asked) == (["q"], ["q", "r"], [])


async def test_other_queries_wait_for_the_first_and_then_run_together():
    first, second = Backend("one", fails="Refused."), Backend("two")
    first.open.clear()
    auto = FallbackSearch([("searxng", first), ("demo", second)])
    asking = [asyncio.create_task(auto(query, SearchKnobs())) for query in ("q", "r", "s")]
    await first.reached.wait()
    first.open.set()
    replies = await asyncio.gather(*asking)
    assert [reply.backend for reply in replies] == ["demo"] * 3
    assert first.asked == ["q"]
    assert sorted(second.asked) == ["q", "r", "s"]


async def test_finding_nothing_is_an_answer():
    first, second = Backend("one", finds=False), Backend("two")
    auto = FallbackSearch([("searxng", first), ("demo", second)])
    assert (await auto("q", SearchKnobs())).results == ()
    assert second.asked == []


async def test_a_backend_that_breaks_later_fails_that_query_only():
    first, second = Backend("one"), Backend("two")
    auto = FallbackSearch([("searxng", first), ("demo", second)])
    await auto("q", SearchKnobs())
    first.fails = "Gone."
    with pytest.raises(SearchFailed, match=r"Gone\."):
        await auto("r", SearchKnobs())
    first.fails = ""
    assert (await auto("s", SearchKnobs())).backend == "searxng"
    assert second.asked == []


async def test_when_none_works_all_reasons_are_told_and_nobody_is_asked_twice():
    first, second = Backend("one", fails="Refused."), Backend("two", fails="Offline.")
    auto = FallbackSearch([("searxng", first), ("ddgs", second)])
    for query in ("q", "r"):
        with pytest.raises(SearchFailed, match=r"searxng: Refused\. ddgs: Offline\.") as caught:
            await auto(query, SearchKnobs())
        assert caught.value.hint == "Mend one."
    assert first.asked == second.asked == ["q"]


async def test_a_cancelled_first_query_leaves_the_probe_to_the_next():
    first = Backend("one")
    first.open.clear()
    auto = FallbackSearch([("searxng", first)])
    asking = asyncio.create_task(auto("q", SearchKnobs()))
    await first.reached.wait()
    asking.cancel()
    first.open.set()
    assert (await auto("r", SearchKnobs())).backend == "searxng"


async def test_the_identity_names_all_until_one_has_answered():
    auto = FallbackSearch([("searxng", Backend("one")), ("demo", Backend("two"))])
    before = auto.identity
    await auto("q", SearchKnobs())
    assert "one" in before
    assert "two" in before
    assert "one" in auto.identity
    assert "two" not in auto.identity
