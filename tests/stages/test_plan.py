import asyncio
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import PlanKnobs
from core.errors import ChatFailed
from core.model import Author, Phase, Query, Severity, StreamChunk, Usage
from core.run.events import Event, ModelUsed, Note, PhaseEnded, PhaseStarted, QueryPlanned
from core.stages.plan import plan, plan_prompt
from core.stages.streams import collected
from core.text.query_parser import LINE_LIMIT, QueryReader
from tests.growth import LINEAR, growth, repeated
from tests.stages.fakes import ScriptedChat

QUESTION = "How does chunk overlap affect retrieval?"
REPLY = (
    "chunk overlap retrieval recall\npassage boundary overlap experiments\noverlap storage cost embeddings\n"
)


async def planned(chat: ScriptedChat | None, queries: int = 3) -> tuple[list[Query], list[Event]]:
    told: list[Event] = []
    found = await collected(plan(QUESTION, PlanKnobs(queries=queries), chat, told.append))
    assert told[0] == PhaseStarted(Phase.PLAN)
    assert told[-1] == PhaseEnded(Phase.PLAN)
    assert [event.query for event in told if isinstance(event, QueryPlanned)] == found
    return found, told


def notes(told: list[Event]) -> list[Note]:
    return [event for event in told if isinstance(event, Note)]


# --- the stage --------------------------------------------------------------------------------------------


async def test_the_model_writes_the_queries() -> None:
    found, told = await planned(ScriptedChat(REPLY))
    assert [query.text for query in found] == REPLY.splitlines()
    assert {query.author for query in found} == {Author.MODEL}
    assert not notes(told)


async def test_query_is_there_when_its_line_is_complete() -> None:
    more = asyncio.Event()
    chat = ScriptedChat("first que", "ry here\nsecond", more, " query there\nthird one at last")
    queries = plan(QUESTION, PlanKnobs(queries=3), chat, lambda event: None)
    assert (await anext(queries)).text == "first query here"
    more.set()
    assert [query.text async for query in queries] == ["second query there", "third one at last"]


async def test_rest_of_a_reply_with_all_queries_is_not_awaited() -> None:
    chat = ScriptedChat(REPLY, asyncio.Event())
    found, _ = await planned(chat)
    assert len(found) == 3
    assert chat.closed


async def test_leaving_early_ends_the_request() -> None:
    chat = ScriptedChat("one good query\n", asyncio.Event())
    queries = plan(QUESTION, PlanKnobs(queries=3), chat, lambda event: None)
    await anext(queries)
    await queries.aclose()
    assert chat.closed


async def test_one_query_is_the_question_without_a_model() -> None:
    chat = ScriptedChat(REPLY)
    found, told = await planned(chat, queries=1)
    assert found == [Query(text=QUESTION, author=Author.QUESTION)]
    assert not chat.asked
    assert not notes(told)


async def test_without_a_chat_model_the_question_is_searched_with_a_note() -> None:
    found, told = await planned(None)
    assert found == [Query(text=QUESTION, author=Author.QUESTION)]
    assert "No chat model is connected" in notes(told)[0].message


@pytest.mark.parametrize(
    "reply", ["", "I'm sorry, but I can't help with that.", "Here are the queries:\n", "…\n---\n"]
)
async def test_an_unusable_reply_falls_back_to_the_question(reply: str) -> None:
    found, told = await planned(ScriptedChat(reply))
    assert found == [Query(text=QUESTION, author=Author.QUESTION)]
    (note,) = notes(told)
    assert "scripted@test wrote no query" in note.message
    assert "The question itself is searched" in note.message


async def test_failing_model_is_a_note_and_the_question_is_searched() -> None:
    found, told = await planned(ScriptedChat(ChatFailed("The key was refused.", hint="Check it.")))
    assert found == [Query(text=QUESTION, author=Author.QUESTION)]
    assert notes(told) == [
        Note(
            Phase.PLAN,
            "Search queries could not be written: The key was refused. The question itself is searched.",
            "Check it.",
            Severity.WARNING,
        )
    ]


async def test_a_break_keeps_the_queries_that_came() -> None:
    found, told = await planned(
        ScriptedChat("one good query\nhalf a", ChatFailed("It broke.", hint="Again."))
    )
    assert [query.text for query in found] == ["one good query"]
    assert "goes on with 1 of 3" in notes(told)[0].message


async def test_fewer_queries_than_asked_for_are_noted() -> None:
    found, told = await planned(ScriptedChat("only this query"))
    assert len(found) == 1
    assert "wrote one query of the 3" in notes(told)[0].message


async def test_line_cut_by_the_token_limit_is_no_query() -> None:
    found, _ = await planned(ScriptedChat("a whole query\nand half of ano", finish="length"))
    assert [query.text for query in found] == ["a whole query"]


async def test_thinking_is_not_searched() -> None:
    chat = ScriptedChat(
        StreamChunk(reasoning_delta="search for cats\n"), "<think>dogs and cats\n</think>\n", REPLY
    )
    found, _ = await planned(chat)
    assert [query.text for query in found] == REPLY.splitlines()


async def test_a_model_that_rambles_is_cut_off() -> None:
    chat = ScriptedChat(*["Let me think about the question once more.\n"] * 500, asyncio.Event())
    found, _ = await planned(chat)
    assert found[0].author is Author.QUESTION


async def test_question_over_many_lines_is_searched_as_one() -> None:
    told: list[Event] = []
    (query,) = await collected(plan("why\n\nthis \tthen", PlanKnobs(queries=1), None, told.append))
    assert query.text == "why this then"


def test_prompt_gives_the_date_and_number_of_queries() -> None:
    system, user = plan_prompt(QUESTION, 4, date(2026, 11, 21))
    assert "Saturday, 21 November 2026" in system.content
    assert QUESTION in user.content
    assert "4 search queries" in user.content


# --- reading the reply ------------------------------------------------------------------------------------

A, B, C = "chunk overlap recall", "passage boundary facts", "embedding storage cost"


def queries_of(reply: str, limit: int) -> tuple[str, ...]:
    reader = QueryReader(limit)
    return (*reader.read(reply), *reader.end())


@pytest.mark.parametrize(
    "reply",
    [
        f"{A}\n{B}\n{C}",
        f"1. {A}\n2) {B}\n(3) {C}",
        f"- {A}\n* {B}\n• {C}",
        f'1. "{A}"\n2. “{B}”\n3. `{C}`',
        f"**{A}** - finds the main studies\n**{B}**: because of facts\n*{C}*",
        f"Query 1: {A}\nQuery 2: {B}\nSearch query 3: {C}",
        f"**Query 1:** {A}\n**Query 2:** {B}\n**Query 3:** {C}",
        f"Here are 3 diverse search queries:\n\n1. {A}\n2. {B}\n3. {C}\n\nThese queries cover all aspects.",
        f"Sure! Here you go\n```\n{A}\n{B}\n{C}\n```",
        f"<think>\nWhat about\n1. cats\n</think>\n{A}\n{B}\n{C}",
        f'["{A}", "{B}", "{C}"]',
        f'```json\n["{A}", "{B}", "{C}"]\n```',
        f'[\n  "{A}",\n  "{B}",\n  "{C}"\n]',
        f'{{"queries": ["{A}", "{B}", "{C}"]}}',
        f'{{\n "queries": [\n  "{A}",\n  "{B}",\n  "{C}"\n ]\n}}',
        f'[{{"query": "{A}", "reason": "first"}}, {{"query": "{B}"}}, {{"query": "{C}"}}]',
        f'[\n {{"query": "{A}",\n "rationale": "why not"}},\n {{"query": "{B}"}},\n {{"query": "{C}"}}\n]',
        f'["{A}", "{B}", "{C}",]',
        f"{A}\r\n\r\n{B}\r\n{C}\r\n",
        f"1. {A}\n2. {A}s\n3. the {A}\n4. {B}\n5. {B.upper()}\n6. {C}",
    ],
)
def test_queries_are_found_in_every_shape_of_reply(reply: str) -> None:
    assert queries_of(reply, 3) == (A, B, C)


@pytest.mark.parametrize(
    ("reply", "queries"),
    [
        ('"chunk overlap" site:arxiv.org', ('"chunk overlap" site:arxiv.org',)),
        ('"exact phrase" "other phrase"', ('"exact phrase" "other phrase"',)),
        ("2024 election results\n3.5 inch floppy", ("2024 election results", "3.5 inch floppy")),
        ("C++ vs Rust\nC# generics", ("C++ vs Rust", "C# generics")),
        ("分块重叠对检索的影响\n如何选择分块大小", ("分块重叠对检索的影响", "如何选择分块大小")),
        ("what is HyDE?", ("what is HyDE?",)),
        ("x" * (LINE_LIMIT + 1), ()),
        ("word", ("word",)),
        ("?!", ()),
    ],
)
def test_queries_are_kept_as_they_are(reply: str, queries: tuple[str, ...]) -> None:
    assert queries_of(reply, 5) == queries


replies = st.text() | st.lists(
    st.sampled_from(
        [A, B, C, "\n", "\r\n", "1. ", "- ", '"', "[", "]", "{", "}", ", ", ": ", "```json", "<think>", "</think>",
         '"query": ', "Here are the queries:", "**", " ", "\\", "\u2028", "\x00"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(replies, st.integers(1, 5), st.lists(st.integers(0, 400), max_size=6))
def test_reply_in_pieces_gives_the_queries_of_the_whole(reply: str, n: int, cuts: list[int]) -> None:
    reader = QueryReader(n)
    bounds = [0, *sorted(cuts), len(reply)]
    found = [query for a, b in pairwise(bounds) for query in reader.read(reply[a:b])]
    found += reader.end()
    assert tuple(found) == queries_of(reply, n) == tuple(reader.queries)


@given(replies, st.integers(1, 5))
def test_any_reply_gives_few_short_different_lines(reply: str, n: int) -> None:
    found = queries_of(reply, n)
    assert len(found) <= n
    assert len(set(found)) == len(found)
    for query in found:
        assert 1 < len(query) <= LINE_LIMIT
        assert query == " ".join(query.split())


@pytest.mark.parametrize("piece", ['\\"', '["', "[", '"a', "- ", "1. "])
def test_reading_a_reply_costs_no_more_than_its_length(piece: str) -> None:
    def read(reply: str) -> None:
        assert len(queries_of(f"[{reply}", 50)) <= 50

    assert growth(repeated(piece), read, 1_900, 19_000) < LINEAR


async def test_query_tokens_are_told_or_estimated_when_not_awaited() -> None:
    usage = Usage(prompt_tokens=120, completion_tokens=30)
    counted = ScriptedChat("one good query\n", StreamChunk(finish="stop", usage=usage))
    for chat, estimated in ((counted, False), (ScriptedChat(REPLY, asyncio.Event()), True)):
        _, told = await planned(chat)
        (used,) = (event for event in told if isinstance(event, ModelUsed))
        assert (used.phase, used.usage.estimated) == (Phase.PLAN, estimated)
        assert used.usage.tokens == usage or used.usage.tokens.completion_tokens == -(-len(REPLY) // 4)
