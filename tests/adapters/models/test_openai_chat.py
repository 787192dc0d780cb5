import asyncio
import gzip
import json
import traceback
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from core.adapters.models.alternating_roles import alternating
from core.adapters.models.openai_chat import OpenAIChat, list_local_models, list_models
from core.adapters.models.openai_stream import ReplyLimits, read_reply
from core.adapters.models.replies.thoughts import ThoughtSplitter
from core.errors import ChatFailed
from core.model import (
    FunctionCall,
    Message,
    Retry,
    StreamChunk,
    ToolCall,
    ToolDefinition,
    ToolFunction,
    Usage,
)
from core.stages.streams import collected
from tests.services.loopback import Cut, Gate, Loopback, Reply, Request, html_reply, json_reply
from tests.services.openai_server import FakeOpenAI, chunk, failure, sse, streamed, whole

KEY = "sk-canary-5f2d9c"
ASK = (Message(role="system", content="Be brief."), Message(role="user", content="Why?"))


def chat_at(server: FakeOpenAI, key: str | None = KEY, **more: float) -> OpenAIChat:
    return OpenAIChat("fake-chat", server.base_url, SecretStr(key) if key else None, pause=0.01, **more)


async def collect_reply(
    chat: OpenAIChat, messages: Sequence[Message] = ASK, **options: Any
) -> list[StreamChunk]:
    try:
        return await collected(chat(messages, **{"max_tokens": 50, "temperature": 0.2, **options}))
    finally:
        await chat.aclose()


async def reply_of(server: FakeOpenAI, *replies: Reply, **more: float) -> list[StreamChunk]:
    """The reply of a chat model whose server answers with these, one after the other."""
    server.chats.extend(replies)
    return await collect_reply(chat_at(server, **more))


async def failure_of(chat: OpenAIChat) -> tuple[str, ChatFailed]:
    """The text that came before the failure, and the failure."""
    text = ""
    with pytest.raises(ChatFailed) as caught:
        async for delta in chat(ASK, max_tokens=50, temperature=0.2):
            text += delta.text_delta
    await chat.aclose()
    return text, caught.value


def text_of(deltas: list[StreamChunk]) -> str:
    return "".join(delta.text_delta for delta in deltas)


def raw(*parts: bytes | Gate | Cut) -> Reply:
    return Reply(parts, content_type="text/event-stream", streamed=True)


async def test_reply_streams_and_ends_with_its_tokens(fake_openai: FakeOpenAI) -> None:
    deltas = await reply_of(fake_openai, streamed("Hel", "lo [1].", usage=(31, 7), cost=0.002))
    assert [delta.text_delta for delta in deltas if delta.text_delta] == ["Hel", "lo [1]."]
    assert deltas[-1] == StreamChunk(
        finish="stop", usage=Usage(prompt_tokens=31, completion_tokens=7, cost=0.002)
    )


async def test_warming_up_asks_the_server_nothing(fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("Warm."))
    chat = chat_at(fake_openai)
    await chat.warm()
    assert fake_openai.requests == []
    assert text_of(await collect_reply(chat)) == "Warm."


async def test_request_has_the_key_and_nothing_of_the_machine(
    fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-operator")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Operator: secret")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    await reply_of(fake_openai)
    await collect_reply(chat_at(fake_openai, key=None))
    with_key, without = fake_openai.chat_requests
    assert with_key.headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in without.headers
    headers = json.dumps([request.headers for request in fake_openai.requests])
    assert "operator" not in headers
    assert "environment" not in headers
    assert "stainless" not in headers
    assert with_key.json == {
        "model": "fake-chat",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 50,
        "temperature": 0.2,
    }


def test_the_identity_names_model_and_host_and_no_secret() -> None:
    chat = OpenAIChat("org/some-model", "https://user:pass@models.example:8443/v1", SecretStr(KEY))
    assert chat.identity == "org/some-model@models.example:8443"


async def test_characters_split_over_packets_arrive_whole(fake_openai: FakeOpenAI) -> None:
    assert (
        text_of(await reply_of(fake_openai, streamed("Grüße, 世界 👩‍💻", "line\u2028separator", split=True)))
        == "Grüße, 世界 👩‍💻line\u2028separator"
    )


async def test_line_separators_inside_strings_are_text(fake_openai: FakeOpenAI) -> None:
    event = json.dumps(
        {"id": "1", "choices": [{"delta": {"content": "a\u2028b\u0085c"}, "finish_reason": "stop"}]},
        ensure_ascii=False,
    )
    assert (
        text_of(await reply_of(fake_openai, raw(f"data: {event}\r\n\r\ndata: [DONE]\r\n\r\n".encode())))
        == "a\u2028b\u0085c"
    )


async def test_comments_empty_choices_and_unasked_tool_calls_are_ignored(fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(
        raw(
            b": OPENROUTER PROCESSING\r\n\r\n",
            b"event: message\nid: 7\nretry: 10\n" + chunk({"role": "assistant", "content": None}),
            chunk(),
            chunk({"tool_calls": [{"index": 0, "function": {"name": "rm", "arguments": "{}"}}]}),
            chunk({"content": [{"type": "text", "text": "fine"}]}),
            chunk({}, finish="stop"),
            chunk(usage={"prompt_tokens": 3, "completion_tokens": 1}),
            b"data: [DONE]\n\n",
        )
    )
    deltas = await reply_of(fake_openai)
    assert text_of(deltas) == "fine"
    assert deltas[-1].usage == Usage(prompt_tokens=3, completion_tokens=1)


async def test_thinking_is_told_apart_from_the_reply(fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("Answer.", reasoning=["Let me", " see."]))
    fake_openai.chats.append(streamed("\n<thi", "nk>Let me", " see.</th", "ink>\n\nAns", "wer."))
    for _ in range(2):
        deltas = await reply_of(fake_openai)
        assert text_of(deltas) == "Answer."
        assert "".join(delta.reasoning_delta for delta in deltas) == "Let me see."


@given(st.lists(st.text(alphabet="<think>/ ab\n", max_size=9), max_size=12))
def test_other_chunks_of_a_reply_give_the_same_thinking(pieces: list[str]) -> None:
    def read(pieces: list[str]) -> tuple[str, str]:
        thoughts = ThoughtSplitter()
        deltas = [delta for piece in pieces for delta in thoughts.read("", piece)] + list(thoughts.end())
        return "".join(d.reasoning_delta for d in deltas), "".join(d.text_delta for d in deltas).lstrip()

    assert read(pieces) == read(["".join(pieces)])


async def test_a_server_that_does_not_stream_is_understood(fake_openai: FakeOpenAI) -> None:
    deltas = await reply_of(fake_openai, whole("All at once [1].", usage=(9, 4)))
    assert text_of(deltas) == "All at once [1]."
    assert deltas[-1] == StreamChunk(finish="stop", usage=Usage(prompt_tokens=9, completion_tokens=4))


async def test_an_end_mark_alone_ends_a_reply(fake_openai: FakeOpenAI) -> None:
    assert (await reply_of(fake_openai, streamed("Hello", finish=None)))[-1].finish == "stop"


async def test_a_finish_reason_alone_ends_a_reply(fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("Hello", finish="length", done=False))
    fake_openai.chats.append(streamed("Hello", finish="length", unended=True))
    for _ in range(2):
        assert (await reply_of(fake_openai))[-1].finish == "length"


@pytest.mark.parametrize(
    "broken_off",
    [
        streamed("Half an", " ans", finish=None, done=False),
        streamed("Half an", " ans", finish=None, unended=True),
        streamed("Half an", " ans", Cut()),
        streamed("Half an", " ans", sse({"error": {"message": "Overloaded", "code": 503}})),
        streamed("Half an", " ans", finish="error"),
        streamed("Half an", " ans", b"data: {not json\n\n"),
    ],
    ids=["no end mark", "body unended", "reset", "error event", "finish error", "garbage"],
)
async def test_text_before_a_broken_connection_is_kept_and_reported(
    fake_openai: FakeOpenAI, broken_off: Reply
) -> None:
    fake_openai.chats.append(broken_off)
    text, error = await failure_of(chat_at(fake_openai))
    assert text == "Half an ans"
    assert error.hint
    assert len(fake_openai.chat_requests) == 1, "a reply that has begun is not asked for again"


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (
            json_reply({"error": {"message": "Provider returned error", "code": 502}}),
            "Provider returned error",
        ),
        (json_reply({"error": "model is loading"}), "model is loading"),
        (html_reply(), "sent a web page"),
        (Reply((b"",)), "sent an empty reply"),
        (Reply((b"",), content_type="text/event-stream", streamed=True), "sent an empty reply"),
        (raw(b": keep-alive\n\n"), "no chat reply"),
        (json_reply(["surprise"]), "no chat reply"),
        (json_reply({"detail": "nope"}), "no chat reply"),
        (Reply((b"\x00\xff\xfe" * 50,)), "no chat reply"),
    ],
    ids=["error", "error text", "html", "empty", "empty stream", "comment", "list", "object", "bytes"],
)
async def test_a_success_that_is_no_reply_is_a_failure(
    fake_openai: FakeOpenAI, reply: Reply, says: str
) -> None:
    fake_openai.chats.append(reply)
    text, error = await failure_of(chat_at(fake_openai))
    assert text == ""
    assert says in error.message
    assert error.hint


def elsewhere() -> Reply:
    return Reply((b"",), status=307, headers={"Location": "http://127.0.0.1:9/v1/chat/completions"})


@pytest.mark.parametrize(
    ("reply", "says", "hint"),
    [
        (failure(401, f"Incorrect API key provided: {KEY}."), "refused the key", "OPENAI_API_KEY"),
        (failure(402, "Insufficient credits"), "no credit left", "Add credit"),
        (failure(403, "Model is moderated"), "does not allow this: Model is moderated", "another model"),
        (failure(404, "The model `fake-chat` does not exist"), "The model fake-chat does not exist", "Pick"),
        (failure(400, "fake-chat is not a valid model ID"), "The model fake-chat does not exist", "Pick"),
        (html_reply("<h1>Not Found</h1>", status=404), "There is no chat endpoint at", "/v1"),
        (failure(400, "This model's maximum context length is 2048 tokens"), "too long", "fewer"),
        (failure(413, "Payload too large"), "too long", "fewer"),
        (failure(429, "Slow down", retry_after="3600"), "takes no more requests", "3,600 seconds"),
        (elsewhere(), "sends requests elsewhere (307)", "base URL"),
        (failure(418, "I am a teapot"), "refused the request (418): I am a teapot", "base URL"),
        (
            json_reply([{"error": {"code": 400, "message": "Key expired"}}], status=400),
            ": Key expired.",
            "base URL",
        ),
        (
            json_reply({"detail": [{"loc": ["body", "top"], "msg": "Too high"}]}, status=422),
            ": body.top: Too high.",
            "base URL",
        ),
        (
            json_reply({"success": False, "errors": [{"code": 7, "message": "No seat"}]}, status=400),
            ": No seat.",
            "base URL",
        ),
        (
            json_reply({"fault": {"faultstring": "No toll", "detail": {"errorcode": "x"}}}, status=400),
            ": No toll.",
            "base URL",
        ),
        (
            json_reply({"Message": "Bad token", "__type": "ValidationException"}, status=400),
            ": Bad token.",
            "base URL",
        ),
        (failure(400, '{"error": {"message": "Deep down"}}'), ": Deep down.", "base URL"),
        (
            json_reply({"statusCode": 400, "message": ["No top", "x"], "error": "Bad Request"}, status=400),
            ": No top.",
            "base URL",
        ),
        (
            json_reply(
                {"error": {"message": None, "type": "t", "code": "context_length_exceeded"}}, status=400
            ),
            "too long",
            "fewer",
        ),
        (
            json_reply({"error": {"message": "Filtered", "code": "content_filter"}}, status=400),
            "for its content (400): Filtered",
            "other words",
        ),
        (failure(429, "Please retry after 45 seconds."), "takes no more requests", "in 45 seconds"),
    ],
)
async def test_refusal_says_what_to_do_and_is_not_repeated(
    fake_openai: FakeOpenAI, reply: Reply, says: str, hint: str
) -> None:
    fake_openai.chats.append(reply)
    _, error = await failure_of(chat_at(fake_openai))
    assert says in error.message
    assert hint in error.hint
    assert len(fake_openai.chat_requests) == 1
    assert KEY not in "".join(traceback.format_exception(error))


async def test_a_key_that_is_missing_is_asked_for(fake_openai: FakeOpenAI) -> None:
    fake_openai.key = "sk-right"
    _, error = await failure_of(chat_at(fake_openai, key=None))
    assert "asks for a key" in error.message


async def test_impossible_key_is_refused_before_it_is_sent(fake_openai: FakeOpenAI) -> None:
    _, error = await failure_of(chat_at(fake_openai, key="sk-😀"))
    assert "characters that no key has" in error.message
    assert not fake_openai.requests


async def test_an_exhausted_quota_is_about_credit_and_not_repeated(fake_openai: FakeOpenAI) -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    fake_openai.chats.append(json_reply(body, status=429))
    _, error = await failure_of(chat_at(fake_openai))
    assert "no credit left" in error.message
    assert len(fake_openai.chat_requests) == 1


@pytest.mark.parametrize(
    "passing",
    [
        failure(429, retry_after="0.01"),
        failure(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
        failure(429, retry_after="soon"),
        failure(500),
        html_reply("<h1>Bad gateway</h1>", status=502),
        json_reply({"error": {"message": "Failed to call", "code": "tool_use_failed"}}, status=400),
    ],
    ids=["seconds", "date", "nonsense", "500", "502", "a call that cannot be read"],
)
async def test_a_passing_failure_is_tried_again(fake_openai: FakeOpenAI, passing: Reply) -> None:
    fake_openai.chats.extend((passing, passing, streamed("At last.")))
    assert text_of(await reply_of(fake_openai)) == "At last."
    assert len(fake_openai.chat_requests) == 3


@pytest.mark.parametrize(
    ("passing", "reason"),
    [(failure(429, retry_after="0.01"), "rate limit"), (failure(503, retry_after="0.01"), "HTTP status 503")],
)
async def test_a_wait_is_told_before_it_begins(fake_openai: FakeOpenAI, passing: Reply, reason: str) -> None:
    fake_openai.chats.extend((passing, streamed("At last.")))
    first, *rest = await reply_of(fake_openai)
    host = fake_openai.url.removeprefix("http://")
    assert first == StreamChunk(retry=Retry(server=host, seconds=0.01, reason=reason))
    assert not any(chunk.retry for chunk in rest)


async def test_a_lasting_failure_is_reported_after_three_attempts(fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.extend([failure(503, "All workers busy")] * 4)
    _, error = await failure_of(chat_at(fake_openai))
    assert "answered with an error (503): All workers busy" in error.message
    assert len(fake_openai.chat_requests) == 3


async def test_server_without_stream_options_is_not_asked_for_them_again(
    fake_openai: FakeOpenAI,
) -> None:
    fake_openai.chats.extend(
        (
            json_reply({"detail": [{"loc": ["body", "stream_options"], "msg": "Not permitted"}]}, status=422),
            failure(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            failure(400, "Unsupported value: 'temperature' does not support 0.2 with this model."),
        )
    )
    chat = chat_at(fake_openai)
    await collected(chat(ASK, max_tokens=50, temperature=0.2))
    assert text_of(await collect_reply(chat)) == fake_openai.chat
    assert len(fake_openai.chat_requests) == 5
    last = fake_openai.chat_requests[-1].json
    assert last.keys() == {"model", "messages", "stream", "max_completion_tokens"}


async def test_lone_surrogate_in_a_question_is_replaced(fake_openai: FakeOpenAI) -> None:
    await collect_reply(chat_at(fake_openai), [Message(role="user", content="a\ud83d")])
    assert fake_openai.chat_requests[0].json["messages"][0]["content"] == "a\ufffd"


async def test_nobody_listening_is_reported_at_once() -> None:
    chat = OpenAIChat("some-model", "http://127.0.0.1:9/v1")
    _, error = await failure_of(chat)
    assert "Nothing answers at 127.0.0.1:9" in error.message
    assert "running" in error.hint


@pytest.mark.parametrize(
    "address",
    ["localhost:11434/v1", "nonsense", "http://[::1", "", "http://127.0.0.1:99999/v1", "ftp://a.example/v1"],
)
async def test_an_address_that_is_none_is_reported(address: str) -> None:
    _, error = await failure_of(OpenAIChat("some-model", address))
    assert "base URL" in error.hint


async def test_silence_before_and_within_a_reply_is_reported(fake_openai: FakeOpenAI) -> None:
    before, within = Gate(), Gate()
    fake_openai.chats.append(raw(before, chunk({"content": "late"})))
    fake_openai.chats.append(streamed("Half", within, " an answer"))
    text, error = await failure_of(chat_at(fake_openai, timeout=0.2))
    assert (text, "fell silent" in error.message) == ("", True)
    text, error = await failure_of(chat_at(fake_openai, timeout=0.2))
    assert (text, "fell silent" in error.message) == ("Half", True)


async def test_closing_the_generator_ends_the_request(fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Once upon", gate, " a time"))
    chat = chat_at(fake_openai)
    async with aclosing(chat(ASK, max_tokens=50, temperature=0.2)) as deltas:
        assert (await anext(deltas)).text_delta == "Once upon"
    await fake_openai.requests[0].hung_up()
    await chat.aclose()


async def test_cancelling_the_reader_ends_the_request(fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Once upon", gate, " a time"))
    chat = chat_at(fake_openai)
    reading = asyncio.create_task(collected(chat(ASK, max_tokens=50, temperature=0.2)))
    await gate.reached()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await fake_openai.requests[0].hung_up()
    await chat.aclose()


async def test_connection_left_open_after_the_end_is_not_awaited(fake_openai: FakeOpenAI) -> None:
    lingering = streamed("Done.", done=False, usage=None)
    async with asyncio.timeout(10):
        deltas = await reply_of(fake_openai, raw(*lingering.parts, Gate()), timeout=60)
    assert text_of(deltas) == "Done."
    assert deltas[-1].finish == "stop"


async def test_models_are_listed_by_name_with_embedders_last(fake_openai: FakeOpenAI) -> None:
    fake_openai.models = ["zeta", "all-minilm", "Alpha", "nomic-embed-text", "beta"]
    assert await list_models(fake_openai.base_url) == (
        "Alpha",
        "beta",
        "zeta",
        "all-minilm",
        "nomic-embed-text",
    )
    assert await list_local_models(fake_openai.url) == ("Alpha", "beta", "zeta")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "System role not supported"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (400, "Developer instruction is not enabled for models/small"),
        (424, "Request failed: conversation roles must alternate user/assistant"),
        (500, "Only user, assistant and tool roles are supported, got system."),
    ],
)
async def test_model_without_a_system_role_is_told_in_the_question(
    fake_openai: FakeOpenAI, status: int, message: str
) -> None:
    fake_openai.chats.extend((failure(status, message), streamed("Yes."), streamed("Again.")))
    chat = chat_at(fake_openai)
    assert text_of(await collected(chat(ASK, max_tokens=50, temperature=0.2))) == "Yes."
    assert text_of(await collect_reply(chat)) == "Again."
    roles = [[turn["role"] for turn in request.json["messages"]] for request in fake_openai.chat_requests]
    assert roles == [["system", "user"], ["user"], ["user"]]
    assert fake_openai.chat_requests[1].json["messages"][0]["content"] == "Be brief.\n\nWhy?"


async def test_roles_that_are_refused_again_are_a_failure(fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.extend([failure(400, "System role not supported")] * 3)
    _, error = await failure_of(chat_at(fake_openai))
    assert "System role not supported" in error.message
    assert len(fake_openai.chat_requests) == 2


def test_turns_alternate_and_calls_stay() -> None:
    call = ToolCall(id="a", function=FunctionCall(name="search", arguments="{}"))
    messages = [
        Message(role="system", content="Be brief."),
        Message(role="user", content="Why?"),
        Message(role="user", content="How?"),
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content="Tides.", tool_call_id="a"),
        Message(role="assistant", content="So."),
        Message(role="system", content="Go on."),
    ]
    assert [(turn.role, turn.content) for turn in alternating(messages)] == [
        ("user", "Be brief.\n\nWhy?\n\nHow?"),
        ("assistant", ""),
        ("tool", "Tides."),
        ("assistant", "So."),
        ("user", "Go on."),
    ]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"data": None}, ()),
        ({"data": [], "models": [{"name": "alpha"}]}, ("alpha",)),
        ({"data": {"alpha": {}, "beta": {}}}, ("alpha", "beta")),
        ({"models": [{"type": "llm", "key": "maker/alpha"}]}, ("maker/alpha",)),
        ({"success": True, "result": [{"id": "alpha"}, {"id": None}]}, ("alpha",)),
    ],
)
async def test_models_are_listed_in_the_forms_of_other_servers(body: object, names: tuple[str, ...]) -> None:
    async def answer(_request: Request) -> Reply:
        return json_reply(body)

    with Loopback(answer) as server:
        assert await list_models(server.url) == names


async def test_listing_models_with_a_wrong_key_says_so(fake_openai: FakeOpenAI) -> None:
    fake_openai.key = "sk-right"
    with pytest.raises(ChatFailed, match="refused the key"):
        await list_models(fake_openai.base_url, SecretStr(KEY))


async def test_a_list_of_models_that_is_none_says_so(fake_openai: FakeOpenAI) -> None:
    with pytest.raises(ChatFailed, match="There is no chat endpoint at"):
        await list_models(fake_openai.url)


@pytest.mark.parametrize(
    "address",
    ["", "nonsense", "http://127.0.0.1:99999", "http://[::1", "http://127.0.0.1:9", "another service"],
)
async def test_without_a_local_model_server_there_are_no_local_models(
    fake_openai: FakeOpenAI, address: str
) -> None:
    fake_openai.key = "sk-right"
    assert await list_local_models(fake_openai.url if address == "another service" else address) == ()


CALL = ToolCall(id="call_1", function=FunctionCall(name="search", arguments='{"query": "kettles"}'))


async def test_tool_calls_in_pieces_arrive_whole_before_the_end(
    fake_openai: FakeOpenAI,
) -> None:
    tool = ToolDefinition(function=ToolFunction(name="search", description="Searches.", parameters={}))
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "search", "arguments": ""}}
    fake_openai.chats.append(
        raw(
            chunk({"content": "Let me look."}),
            chunk({"tool_calls": [first]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"query": '}}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"kettles"}'}}]}),
            chunk({}, finish="tool_calls"),
            b"data: [DONE]\n\n",
        )
    )
    chunks = await collect_reply(chat_at(fake_openai), tools=(tool,), stop=("END",))
    assert chunks == [
        StreamChunk(text_delta="Let me look."),
        StreamChunk(tool_call=CALL),
        StreamChunk(finish="tool_calls"),
    ]
    body = fake_openai.chat_requests[0].json
    assert (body["tools"], body["stop"]) == ([tool.to_json()], ["END"])


async def test_tool_call_and_its_result_are_sent_as_messages(fake_openai: FakeOpenAI) -> None:
    called = Message(role="assistant", tool_calls=(CALL,))
    given = Message(role="tool", content="Three kettles.", tool_call_id="call_1")
    await collect_reply(chat_at(fake_openai), (*ASK, called, given))
    assert fake_openai.chat_requests[0].json["messages"][2:] == [
        {"role": "assistant", "content": None, "tool_calls": [CALL.to_json()]},
        {"role": "tool", "content": "Three kettles.", "tool_call_id": "call_1"},
    ]


async def test_a_server_without_stop_sequences_is_asked_without_them(fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(failure(400, "Unsupported parameter: 'stop' is not supported with this model."))
    await collect_reply(chat_at(fake_openai), stop=("END",))
    assert ["stop" in request.json for request in fake_openai.chat_requests] == [True, False]


async def test_reply_beyond_its_token_limit_keeps_what_came(fake_openai: FakeOpenAI) -> None:
    """The server would go on for ever: behind the gate."""
    deltas = await reply_of(fake_openai, streamed(*["word " * 20] * 20, Gate()))
    assert deltas[-1].finish == "length"
    assert "limit of 50 tokens" in deltas[-1].cut
    assert 400 < len(text_of(deltas)) < 2_000
    await fake_openai.requests[0].hung_up()


async def test_dripping_reply_is_cut_off_at_its_time_limit() -> None:
    async def drip() -> AsyncIterator[bytes]:
        yield chunk({"content": "Half an answer"})
        await asyncio.Event().wait()

    limits = ReplyLimits(max_tokens=50, seconds=0.1)
    deltas = await collected(read_reply(drip(), host="kettles.example", key="", limits=limits))
    assert text_of(deltas) == "Half an answer"
    assert deltas[-1].finish == "length"
    assert "cut off" in deltas[-1].cut


async def test_byte_order_mark_and_invalid_numbers_spoil_no_reply(
    fake_openai: FakeOpenAI,
) -> None:
    body = json.dumps({"choices": [{"delta": {"content": "Fine."}, "finish_reason": "stop"}], "logprob": 0})
    mark = b"\xef\xbb\xbf"
    assert (
        text_of(
            await reply_of(
                fake_openai, raw(mark + b"data: " + body.replace(": 0}", ": NaN}").encode() + b"\n\n")
            )
        )
        == "Fine."
    )


async def test_piece_longer_than_the_limit_is_cut_there(fake_openai: FakeOpenAI) -> None:
    deltas = await reply_of(fake_openai, streamed("word " * 25_000))
    assert len(text_of(deltas)) == ReplyLimits(max_tokens=50, seconds=1).characters
    assert (deltas[-1].finish, "limit of 50 tokens" in deltas[-1].cut) == ("length", True)


async def test_thought_longer_than_the_limit_is_cut_there(fake_openai: FakeOpenAI) -> None:
    deltas = await reply_of(fake_openai, streamed("Fine.", reasoning=["word " * 25_000]))
    assert sum(len(delta.reasoning_delta) for delta in deltas) == 1_400
    assert text_of(deltas) == ""


@pytest.mark.parametrize(("encoding", "bits"), [("gzip", 31), ("deflate", 15)])
async def test_unrequested_compression_is_read_as_it_comes(
    fake_openai: FakeOpenAI, encoding: str, bits: int
) -> None:
    packer, gate = zlib.compressobj(wbits=bits), Gate()
    first, last = (
        packer.compress(piece) + packer.flush(mode)
        for piece, mode in (
            (chunk({"content": "Hel"}), zlib.Z_SYNC_FLUSH),
            (chunk({"content": "lo."}, finish="stop") + b"data: [DONE]\n\n", zlib.Z_FINISH),
        )
    )
    fake_openai.chats.append(replace(raw(first, gate, last), headers={"Content-Encoding": encoding}))
    chat = chat_at(fake_openai)
    texts = []
    async for delta in chat(ASK, max_tokens=50, temperature=0.2):
        texts.append(delta.text_delta)
        if delta.text_delta == "Hel":
            gate.open()
    await chat.aclose()
    assert "".join(texts) == "Hello."


@pytest.mark.parametrize(
    ("encoding", "body", "why"),
    [
        ("br", b"whatever", "content encoding br"),
        ("gzip", b"no gzip", "damaged"),
    ],
    ids=("unknown", "damaged"),
)
async def test_stream_that_cannot_be_decompressed_is_told_in_words(
    fake_openai: FakeOpenAI, encoding: str, body: bytes, why: str
) -> None:
    fake_openai.chats.append(replace(raw(body), headers={"Content-Encoding": encoding}))
    _, failure = await failure_of(chat_at(fake_openai))
    assert why in failure.message
    assert "compression" in failure.hint


async def test_stream_that_decompresses_too_far_is_told_in_words(
    fake_openai: FakeOpenAI,
) -> None:
    bomb = gzip.compress(bytes(60_000_000))
    fake_openai.chats.append(replace(raw(bomb), headers={"Content-Encoding": "gzip"}))
    _, failure = await failure_of(chat_at(fake_openai))
    # How much of it the network hands over at once decides which of the two limits is reached first.
    assert "more than 50 MB unpacked" in failure.message or "longer than any answer" in failure.message
    assert failure.hint
