import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import SearchKnobs
from core.errors import SearchFailed
from core.model import Author, Phase, Query, Result, SearchReply
from core.run.events import Event, Note, PhaseEnded, PhaseStarted, QueryFailed, SearchAnswered, SearchStarted
from core.run.hit_merging import merge_hits
from core.stages.search import search
from core.stages.streams import collected


def query(text: str) -> Query:
    return Query(text=text, author=Author.MODEL)


def reply(*urls: str, unresponsive_engines: tuple[tuple[str, str], ...] = ()) -> SearchReply:
    results = tuple(
        Result(url=url, title=f"Title of {url}", snippet="", rank=rank, engines=("test",))
        for rank, url in enumerate(urls, 1)
    )
    return SearchReply(backend="test", results=results, unresponsive_engines=unresponsive_engines)


async def stream(*texts: str) -> AsyncGenerator[Query]:
    for text in texts:
        yield query(text)


class Shelf:
    """A search over prepared replies; a query may have to wait for its gate."""

    identity = "shelf"

    def __init__(
        self,
        replies: Mapping[str, SearchReply | SearchFailed],
        gates: Mapping[str, asyncio.Event] | None = None,
    ) -> None:
        self.replies = replies
        self.gates = gates or {}

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        if query in self.gates:
            await self.gates[query].wait()
        answer = self.replies[query]
        if isinstance(answer, SearchFailed):
            raise answer
        return answer


def urls(hits: Sequence[object]) -> list[str]:
    return [hit.url for hit in hits]


async def test_hits_of_a_fast_query_wait_for_no_slow_one():
    gate = asyncio.Event()
    shelf = Shelf({"slow": reply("http://a.example"), "fast": reply("http://b.example")}, {"slow": gate})
    hits = search(stream("slow", "fast"), SearchKnobs(), shelf, lambda event: None)
    assert (await anext(hits)).url == "http://b.example"
    gate.set()
    assert (await anext(hits)).url == "http://a.example"
    await hits.aclose()


async def test_query_is_searched_before_the_next_is_planned():
    answered = asyncio.Event()

    async def planning() -> AsyncGenerator[Query]:
        yield query("first")
        await answered.wait()
        yield query("second")

    shelf = Shelf({"first": reply("http://a.example"), "second": reply("http://b.example")})
    hits = search(planning(), SearchKnobs(), shelf, lambda event: None)
    assert (await anext(hits)).found[0].query == "first"
    answered.set()
    assert urls(await collected(hits)) == ["http://b.example"]


async def test_an_address_that_two_queries_find_is_named_once():
    shelf = Shelf({"q": reply("http://www.a.example/x/"), "r": reply("https://a.example/x?utm_source=r")})
    hits = await collected(search(stream("q", "r"), SearchKnobs(), shelf, lambda event: None))
    assert [hit.key for hit in hits] == ["https://a.example/x"]


async def test_query_gives_at_most_the_asked_number_of_addresses():
    shelf = Shelf(
        {
            "q": reply(
                "ftp://a.example",
                "http://b.example",
                "http://b.example/",
                "http://c.example",
                "http://d.example",
            )
        }
    )
    hits = await collected(search(stream("q"), SearchKnobs(results=2), shelf, lambda event: None))
    assert urls(hits) == ["http://b.example", "http://c.example"]
    assert hits[0].found[0].rank == 2


async def test_everything_that_happens_is_reported():
    told: list[Event] = []
    shelf = Shelf({"q": reply("http://a.example"), "r": SearchFailed("Refused.", hint="Is it running?")})
    hits = await collected(search(stream("q", "r"), SearchKnobs(), shelf, told.append))
    assert len(hits) == 1
    assert told[0] == PhaseStarted(Phase.SEARCH)
    assert told[-1] == PhaseEnded(Phase.SEARCH)
    assert SearchStarted(query("q")) in told
    assert SearchAnswered(query("q"), reply("http://a.example")) in told
    assert QueryFailed(query("r"), "Refused.", "Is it running?") in told


async def test_the_phase_begins_with_its_first_query():
    told: list[Event] = []
    told_while_planning: list[Event] = []

    async def planning() -> AsyncGenerator[Query]:
        told_while_planning.extend(told)
        yield query("q")
        yield query("r")

    shelf = Shelf({"q": reply("http://a.example"), "r": reply()})
    await collected(search(planning(), SearchKnobs(), shelf, told.append))
    assert told_while_planning == []
    assert [event for event in told if isinstance(event, PhaseStarted)] == [PhaseStarted(Phase.SEARCH)]


async def test_failed_plan_is_not_a_failed_search():
    async def planning() -> AsyncGenerator[Query]:
        yield query("q")
        raise LookupError("no plan")

    with pytest.raises(LookupError, match="no plan"):
        await collected(search(planning(), SearchKnobs(), Shelf({"q": reply()}), lambda event: None))


async def test_when_every_query_fails_the_first_failure_is_raised():
    told: list[Event] = []
    gate = asyncio.Event()
    shelf = Shelf(
        {"q": SearchFailed("Later.", hint="No."), "r": SearchFailed("First.", hint="Yes.")}, {"q": gate}
    )

    def emit(event: Event) -> None:
        told.append(event)
        if isinstance(event, QueryFailed):
            gate.set()

    with pytest.raises(SearchFailed) as caught:
        await collected(search(stream("q", "r"), SearchKnobs(), shelf, emit))
    assert (caught.value.message, caught.value.hint) == ("First.", "Yes.")
    assert told[-1] == PhaseEnded(Phase.SEARCH)


async def test_search_that_finds_nothing_names_the_silent_engines():
    shelf = Shelf({"q": reply(), "r": reply("ftp://a.example", unresponsive_engines=(("brave", "timeout"),))})
    with pytest.raises(SearchFailed, match=r"No search results found\. .*brave \(timeout\)") as caught:
        await collected(search(stream("q", "r"), SearchKnobs(), shelf, lambda event: None))
    assert caught.value.hint


async def test_unknown_name_of_the_backend_is_noted_once():
    told: list[Event] = []
    lacking = replace(reply("http://a.example"), unknown_engines=("gogle", "scince"))
    await collected(search(stream("q", "r"), SearchKnobs(), Shelf({"q": lacking, "r": lacking}), told.append))
    (note,) = [event for event in told if isinstance(event, Note)]
    assert "no engine or category named gogle, scince" in note.message
    assert note.hint


async def test_of_many_silent_engines_only_a_few_are_named():
    shelf = Shelf(
        {"q": reply(unresponsive_engines=tuple((f"engine{number}", "timeout") for number in range(80)))}
    )
    with pytest.raises(SearchFailed, match=r"engine12 \(timeout\) and 75 more") as caught:
        await collected(search(stream("q"), SearchKnobs(), shelf, lambda event: None))
    assert "engine5" not in caught.value.message


async def test_leaving_early_stops_the_searches_under_way():
    gate = asyncio.Event()
    shelf = Shelf({"q": reply("http://a.example"), "r": reply()}, {"r": gate})
    hits = search(stream("q", "r"), SearchKnobs(), shelf, lambda event: None)
    await anext(hits)
    await hits.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_agreement_between_queries_lifts_a_hit():
    answers = [
        (query("q"), reply("http://a.example", "http://b.example")),
        (query("r"), reply("http://c.example", "https://www.b.example/")),
    ]
    first, *rest = merge_hits(answers, SearchKnobs(results=5))
    assert first.key == "https://b.example"
    assert first.score == pytest.approx(2 / 62)
    assert [(found.query, found.rank) for found in first.found] == [("q", 2), ("r", 2)]
    assert urls(rest) == ["http://a.example", "http://c.example"]


def test_a_hit_is_described_by_its_best_rank():
    worse, better = reply("http://x.example", "http://a.example/?utm_source=w"), reply("http://a.example")
    hit = next(
        hit
        for hit in merge_hits([(query("q"), worse), (query("r"), better)], SearchKnobs(results=5))
        if len(hit.found) == 2
    )
    assert hit.url == "http://a.example"


lists = st.lists(
    st.lists(st.sampled_from([f"http://{name}.example" for name in "abcdefgh"]), max_size=6), max_size=4
)


@given(lists.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(range(len(rows))))))
def test_scores_do_not_depend_on_the_order_of_answers(drawn):
    rows, order = drawn
    answers = [(query(str(number)), reply(*row)) for number, row in enumerate(rows)]
    shuffled = [answers[number] for number in order]
    left, right = (
        {hit.key: hit for hit in merge_hits(given, SearchKnobs(results=5))} for given in (answers, shuffled)
    )
    assert {key: hit.score for key, hit in left.items()} == {key: hit.score for key, hit in right.items()}
    assert all(set(left[key].found) == set(right[key].found) for key in left)


@given(lists, st.integers(1, 6))
def test_merging_keeps_each_address_once_and_best_first(rows, limit):
    hits = merge_hits(
        [(query(str(number)), reply(*row)) for number, row in enumerate(rows)], SearchKnobs(results=limit)
    )
    assert len({hit.key for hit in hits}) == len(hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    named = {
        number: sum(found.query == str(number) for hit in hits for found in hit.found)
        for number in range(len(rows))
    }
    assert all(named[number] == min(limit, len(set(row))) for number, row in enumerate(rows))


async def test_passwords_in_addresses_are_neither_stored_nor_shown():
    told: list[Event] = []
    found = reply("http://ann:s3cret@a.example/@x", "https://ann@b.example", "https://c.example/ann@c?q=a@b")
    shelf = Shelf({"q": found})
    hits = await collected(search(stream("q"), SearchKnobs(), shelf, told.append))
    assert urls(hits) == ["http://a.example/@x", "https://b.example", "https://c.example/ann@c?q=a@b"]
    (answered,) = (event for event in told if isinstance(event, SearchAnswered))
    assert [row.url for row in answered.reply.results] == urls(hits)


@pytest.mark.parametrize(
    "reason", ["CAPTCHA", "Suspended: too many requests", "refused (429, too many requests)"]
)
async def test_engines_that_refuse_are_named_with_what_to_do(reason: str) -> None:
    shelf = Shelf({"tea": reply(unresponsive_engines=(("brave", reason),))})
    with pytest.raises(SearchFailed) as caught:
        await collected(search(stream("tea"), SearchKnobs(), shelf, lambda event: None))
    assert caught.value.message == f"The search engines refused to search. Not searched: brave ({reason})."
    assert "wait some minutes" in caught.value.hint


async def test_answer_and_correction_are_told_without_any_page() -> None:
    found = replace(reply(), answers=("12 minutes",), corrections=("cooper test",))
    with pytest.raises(SearchFailed) as caught:
        await collected(
            search(stream("coper test"), SearchKnobs(), Shelf({"coper test": found}), lambda event: None)
        )
    assert "itself answers “12 minutes”" in caught.value.message
    assert "“cooper test”" in caught.value.hint
