"""Replies as real servers send them, read whole, in pieces, cut anywhere, and damaged."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapters.models.openai_stream import ReplyLimits, read_reply
from core.adapters.models.replies.thoughts import ThoughtHabit
from core.errors import ChatFailed
from core.model import ReplyText, StreamChunk
from tests.adapters.models.reported_replies import (
    ABOUT_MARKS,
    ANSWER,
    CALLS,
    REPORTS,
    THOUGHT,
    THOUGHTS,
    TOOLS,
    USAGES,
    Report,
    text,
    whole,
)

LIMITS = ReplyLimits(max_tokens=2_000, seconds=60)
every_report = pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)


class Read:
    """A reply as it was read."""

    def __init__(self) -> None:
        self.said = ReplyText()
        self.calls: list[tuple[str, object]] = []
        self.last = StreamChunk()
        self.failure = ""
        self.shown = ""

    def add(self, chunk: StreamChunk) -> None:
        self.said.read(chunk)
        self.shown += chunk.text_delta
        self.last = chunk
        if call := chunk.tool_call:
            self.calls.append((call.function.name, _value(call.function.arguments)))


def _value(arguments: str) -> object:
    """The arguments of a call, or their text if they are damaged."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


async def _read(
    pieces: Iterable[bytes], tools: tuple[str, ...] = (), habit: ThoughtHabit | None = None
) -> Read:
    async def stream() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    read = Read()
    try:
        async for chunk in read_reply(
            stream(), host="mill.example", key="sk-1", limits=LIMITS, tools=tools, habit=habit
        ):
            read.add(chunk)
    except ChatFailed as error:
        assert error.hint
        read.failure = error.message
    return read


def _words(text: str) -> list[str]:
    return text.split()


@every_report
@pytest.mark.parametrize("size", [1, 7, 10**9])
async def test_reported_reply_reads_as_its_row(report: Report, size: int) -> None:
    body = report.body
    read = await _read((body[start : start + size] for start in range(0, len(body), size)), report.tools)
    assert report.failure in read.failure
    assert bool(report.failure) == bool(read.failure)
    assert _words(read.said.text) == _words(report.answer)
    assert _words(read.said.reasoning) == _words(report.thought)
    assert tuple(read.calls) == report.calls
    if not report.failure:
        assert read.said.finish == report.finish
    if report.counted is not None:
        assert bool(read.last.usage) == report.counted


@pytest.mark.parametrize("report", ABOUT_MARKS, ids=lambda report: report.name)
async def test_answer_about_marks_stays_as_written(report: Report) -> None:
    assert (await _read([report.body])).said.text == report.answer


@every_report
async def test_reply_cut_anywhere_shows_no_thought(report: Report) -> None:
    await _cut(report, 1 + len(report.body) // 100)


@pytest.mark.thorough
@every_report
async def test_reply_cut_at_every_byte_shows_no_thought(report: Report) -> None:
    await _cut(report, 1)


async def _cut(report: Report, step: int) -> None:
    answer = _words(report.answer)
    for end in range(0, len(report.body), step):
        read = await _read([report.body[:end]], report.tools)
        if report in THOUGHTS:
            assert "ponder" not in read.said.text
            assert "think" not in read.said.text.lower()
        if not read.failure:
            assert _words(read.said.text) == answer or read.said.text in report.answer


MARKED = [report for report in THOUGHTS if "end mark alone" not in report.name]


@pytest.mark.parametrize("report", MARKED, ids=lambda report: report.name)
async def test_text_that_is_shown_is_never_taken_back(report: Report) -> None:
    read = await _read([report.body[place : place + 1] for place in range(len(report.body))])
    assert "ponder" not in read.shown
    assert _words(read.shown) == _words(report.answer)


async def test_model_that_only_closes_its_thoughts_is_buffered_next_time() -> None:
    habit = ThoughtHabit()
    words = [f"{word} " for word in f"Tides: {THOUGHT}\n</think>\n{ANSWER}".split(" ")]
    first = await _read([text(*words)], habit=habit)
    second = await _read([text(*words)], habit=habit)
    assert "ponder" in first.shown
    assert "ponder" not in second.shown
    assert _words(second.said.text) == _words(ANSWER)
    plain = await _read([text(ANSWER)], habit=habit)
    assert plain.said.text == ANSWER
    assert not habit.unopened


@pytest.mark.parametrize(
    "opening", ["The user asks about mills. I ponder.", "Okay, so the user wants mills. I ponder."]
)
async def test_text_that_may_be_thoughts_waits_for_the_mark(opening: str) -> None:
    words = [f"{word} " for word in opening.split()]
    read = await _read([text(*words, "\n</think>\n", ANSWER)])
    assert "ponder" not in read.shown
    assert "user" not in read.shown
    assert _words(read.said.text) == _words(ANSWER)
    assert (await _read([text(*words)])).said.text.strip() == opening


@pytest.mark.parametrize("first", ["The ", "Tide mills", "**Tides**", "1. ", "ebb", "I ", "[1] says"])
async def test_first_word_of_plain_text_waits_for_nothing(first: str) -> None:
    asked = 0

    async def stream() -> AsyncIterator[bytes]:
        nonlocal asked
        for piece in (text(first, end=b""), text(" turn.")):
            asked += 1
            yield piece

    async for chunk in read_reply(stream(), host="mill.example", key=""):
        if chunk.text_delta:
            assert (chunk.text_delta, asked) == (first, 1)
            break


async def test_frames_without_a_reply_are_counted() -> None:
    body = b"data:\n\ndata: : WAITING\n\n" + text(ANSWER, end=b"data: null\n\n") + text("")
    assert (await _read([body])).last.skipped == 3


async def test_unreadable_tool_call_is_a_failed_call() -> None:
    read = ReplyText()
    calls = []

    async def stream() -> AsyncIterator[bytes]:
        yield text('<tool_call>{"name": "search", "arguments": {"query": "mi</tool_call>')

    async for chunk in read_reply(stream(), host="mill.example", key="", tools=TOOLS):
        read.read(chunk)
        calls += [chunk.tool_call] if chunk.tool_call else []
    assert [call.function.name for call in calls] == ["search"]
    assert "mi" in calls[0].function.arguments
    assert (read.text, read.finish) == ("", "tool_calls")


def _damaged(body: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for place, cut, insert in edits:
        at = place % (len(body) + 1)
        body = body[:at] + insert + body[at + cut :]
    return body


_EDITS = st.lists(
    st.tuples(
        st.integers(0, 5_000),
        st.integers(0, 40),
        st.sampled_from([
            *(b"", b"\n", b"\n\n", b"data:", b'"', b"{", b"}", b"[", b"\\", b"\xff", b"null", b"<think>"),
            *(b"</think>", b"<|channel|>", b"```", b"`", b"<tool_call>", b"\x00", b"\\ud83d", b"1e999", b"[DONE]"),
        ]),
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


@given(st.sampled_from(REPORTS), _EDITS, st.integers(1, 200))
def test_damaged_reply_is_read_or_fails_in_time(
    report: Report, edits: list[tuple[int, int, bytes]], size: int
) -> None:
    body = _damaged(report.body, edits)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    began = time.perf_counter()
    read = asyncio.run(_read(pieces, TOOLS if report in CALLS else ()))
    assert time.perf_counter() - began < 5
    (read.said.text + read.said.reasoning).encode()


@given(st.lists(st.text(alphabet="<think>/`. Ok\n", max_size=9), max_size=12))
def test_cuts_between_pieces_move_no_word(pieces: list[str]) -> None:
    whole = asyncio.run(_read([text("".join(pieces))]))
    parts = asyncio.run(_read([text(*pieces)]))
    assert parts.said.text.strip() == whole.said.text.strip()
    assert parts.said.reasoning == whole.said.reasoning


def test_usages_cover_believed_and_estimated_counts() -> None:
    assert {report.counted for report in USAGES} == {True, False}


@pytest.mark.parametrize(
    "piece", ["```\n", "`<think>` ", "x</think> y", '{"name":', "<function=search>", "[[", "&lt;"]
)
async def test_reply_of_marks_alone_takes_no_time(piece: str) -> None:
    began = time.process_time()
    await _read([whole({"content": piece * 100_000})], TOOLS)
    assert time.process_time() - began < 10  # a minute where each mark looked at all text before it
