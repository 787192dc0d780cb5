"""OpenQuery as a model: what OpenAI's own client makes of it."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import openai
import pytest

from core.features.api.sessions import HEADER
from core.text.markdown.source_links import without_source_links
from tests.features.api.conftest import DEMO, QUESTION, Api, Serve, Visitor
from tests.services.loopback import Cut, Gate
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

ASKED = [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": QUESTION}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
CALLS_NONE = "OpenQuery calls none: it answers from its own search."


@pytest.fixture
def client(api: Api) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        yield client


Complete = Callable[..., Any]
"""Asks for a completion of `ASKED`."""


@pytest.fixture
def complete(client: openai.OpenAI) -> Complete:
    return partial(client.chat.completions.create, model="openquery", messages=ASKED)


@pytest.fixture
def complete_for_visitor(client: openai.OpenAI, visitor: Visitor) -> Complete:
    """In a session in which the visitor's model writes."""
    headers = {HEADER: visitor.client.headers[HEADER]}
    return partial(client.chat.completions.create, model="openquery", messages=ASKED, extra_headers=headers)


def test_answer_cites_pages_by_the_places_of_marks(complete: Complete) -> None:
    reply = complete()
    (choice,) = reply.choices
    text, cited = choice.message.content, choice.message.annotations
    assert choice.finish_reason == "stop"
    assert cited
    for mark in cited:
        assert mark.type == "url_citation"
        citation = mark.url_citation
        assert text[citation.start_index : citation.end_index].endswith(f"]]({citation.url})")
        assert citation.url.startswith("https://")
        assert citation.title


@pytest.mark.parametrize("stream", [False, True])
def test_answer_has_plain_marks_where_annotations_are_set(stream: bool, serve: Serve) -> None:
    api = serve(v1_sources="annotations")
    api.put("/config", json={"value": DEMO}).raise_for_status()
    with openai.OpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        reply = client.chat.completions.create(model="openquery", messages=ASKED, stream=stream)
        if stream:
            choices = [choice for chunk in reply for choice in chunk.choices]
            text = "".join(choice.delta.content or "" for choice in choices)
            marks = [mark["url_citation"] for mark in choices[-1].delta.annotations]
            places = [(mark["start_index"], mark["end_index"]) for mark in marks]
        else:
            text = reply.choices[0].message.content
            marks = [mark.url_citation for mark in reply.choices[0].message.annotations]
            places = [(mark.start_index, mark.end_index) for mark in marks]
    assert "](" not in text and "Sources" not in text
    assert places and all(text[start:end].strip("[]").isdigit() for start, end in places)


def test_the_last_message_of_the_user_is_the_question(api: Api, complete: Complete) -> None:
    reply = complete()
    assert api.get(f"/runs/{reply.id.removeprefix('chatcmpl-')}").json()["question"] == QUESTION


def test_a_message_in_parts_is_their_text(api: Api, client: openai.OpenAI) -> None:
    parts = [{"type": "text", "text": "What is"}, {"type": "text", "text": "BM25?"}]
    reply = client.chat.completions.create(model="openquery", messages=[{"role": "user", "content": parts}])
    assert api.get(f"/runs/{reply.id.removeprefix('chatcmpl-')}").json()["question"] == "What is\nBM25?"


def test_stream_joins_to_the_answer_and_ends_with_citations(
    visitor: Visitor, complete_for_visitor: Complete
) -> None:
    visitor.model.chats.append(streamed("Overlap keeps ", "facts whole [1]", ".", usage=(300, 7)))
    stream = complete_for_visitor(stream=True, stream_options={"include_usage": True}, temperature=0.7)
    chunks = list(stream)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    text = "".join(choice.delta.content or "" for choice in choices)
    assert without_source_links(text) == "Overlap keeps facts whole [1]."
    assert len([choice for choice in choices if choice.delta.content]) >= 3
    assert choices[0].delta.role == "assistant"
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["stop"]
    (citation,) = choices[-1].delta.annotations
    assert citation["url_citation"]["start_index"] == 26
    assert text[26:].startswith(f"[[1]]({citation['url_citation']['url']}).\n\n**Sources**\n\n- [[1]](")
    usage = chunks[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (300, 7, 307)
    assert not chunks[-1].choices
    assert len({chunk.id for chunk in chunks}) == 1
    assert visitor.model.chat_requests[0].json["temperature"] == 0.7


def test_closing_the_stream_stops_the_run(visitor: Visitor, complete_for_visitor: Complete) -> None:
    gate = Gate()
    visitor.model.chats.append(streamed("Half of it. ", gate))
    stream = complete_for_visitor(stream=True)
    run_id = next(chunk.id for chunk in stream if chunk.choices[0].delta.content).removeprefix("chatcmpl-")
    stream.close()
    visitor.until(run_id, "stopped")


def test_what_fails_is_an_error_of_the_client(visitor: Visitor, complete_for_visitor: Complete) -> None:
    visitor.model.chats.append(failure(400, "No."))
    with pytest.raises(openai.InternalServerError) as caught:
        complete_for_visitor()
    assert caught.value.status_code == 502
    assert caught.value.response.headers["content-type"] == "application/problem+json"
    visitor.model.chats.append(failure(400, "No."))
    stream = complete_for_visitor(stream=True)
    with pytest.raises(openai.APIError):
        list(stream)


def test_an_answer_that_broke_off_is_known_as_incomplete(
    visitor: Visitor, complete_for_visitor: Complete
) -> None:
    visitor.model.chats.append(streamed("Half of it [1]. ", Cut()))
    reply = complete_for_visitor()
    assert without_source_links(reply.choices[0].message.content).startswith("Half of it [1].")
    assert reply.choices[0].finish_reason == "length"


def test_there_is_one_model_and_no_other(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["openquery"]
    assert client.models.retrieve("openquery").object == "model"
    for call in (
        lambda: client.chat.completions.create(model="gpt-4o", messages=ASKED),
        lambda: client.models.retrieve("openai/gpt-4o"),
    ):
        with pytest.raises(openai.NotFoundError, match="openquery") as caught:
            call()
        assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


@pytest.mark.parametrize("stream", [False, True])
def test_limit_and_stop_sequences_hold_with_and_without_streaming(
    stream: bool, visitor: Visitor, complete_for_visitor: Complete
) -> None:
    visitor.model.chats.append(streamed("Overlap keeps ", "facts whole [1].", " END of it.", usage=(300, 7)))
    limits: list[dict[str, object]] = [{"max_tokens": 900, "max_completion_tokens": 60}, {"max_tokens": 50}]
    answers: list[tuple[str, str]] = []
    for limit, reply in zip(limits, (None, streamed("Overlap", finish="length")), strict=True):
        if reply:
            visitor.model.chats.append(reply)
        completion = complete_for_visitor(stream=stream, stop=["END", "###"], **limit)
        if stream:
            choices = [choice for chunk in completion for choice in chunk.choices]
            answers.append(("".join(c.delta.content or "" for c in choices), choices[-1].finish_reason))
        else:
            answers.append((completion.choices[0].message.content, completion.choices[0].finish_reason))
    plain = [(without_source_links(answer), finish) for answer, finish in answers]
    assert plain == [("Overlap keeps facts whole [1].", "stop"), ("Overlap", "length")]
    requests = [request.json for request in visitor.model.chat_requests]
    assert [request["max_tokens"] for request in requests] == [60, 50]
    assert requests[0]["stop"] == ["END", "###"]


def test_limit_and_stop_sequence_hold_for_quoted_answers(complete: Complete) -> None:
    def said(**more: object) -> tuple[str, str]:
        reply = complete(**more)
        assert reply.usage.total_tokens == 0, "the models inside OpenQuery are nobody's"
        return reply.choices[0].message.content, reply.choices[0].finish_reason

    whole, _ = said()
    assert said(max_tokens=10) == (whole[:40], "length")
    assert said(stop="[") == (whole.partition("[")[0], "stop")


def test_tokens_of_the_queries_count_in_the_completion(
    api: Api, complete: Complete, fake_openai: FakeOpenAI
) -> None:
    headers = api.session(fake_openai)
    knobs = {**DEMO, "plan.queries": 2, "search.results": 1, "chunk.size": 350}  # no such passage is cached
    api.put("/config", json={"value": knobs}, headers=headers).raise_for_status()
    fake_openai.chats.append(streamed("chunk overlap recall\n", "overlap of passages", usage=(120, 30)))
    fake_openai.chats.append(streamed("Overlap keeps facts whole [1].", usage=(300, 7)))
    reply = complete(extra_headers=headers)
    used = reply.usage
    assert (used.prompt_tokens, used.completion_tokens, used.total_tokens) == (420, 37, 457)
    run = api.get(f"/runs/{reply.id.removeprefix('chatcmpl-')}").json()["usage"]
    assert (run["prompt_tokens"], run["completion_tokens"], run["total_tokens"]) == (420, 37, 457)
    assert {phase["phase"]: phase["local"] for phase in run["by_phase"]} == {
        "plan": False,
        "embed": True,
        "answer": False,
    }
    raw = api.post("/v1/chat/completions", json={"model": "openquery", "messages": ASKED}).text
    assert re.search(r'"created":\d+,', raw)
    assert "." not in raw.partition('"usage":')[2].partition("}")[0]


def test_every_role_of_the_api_may_speak(client: openai.OpenAI) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "x", "tool_call_id": "call_1"},
        {"role": "function", "name": "f", "content": "x"},
        *ASKED,
    ]
    reply = client.chat.completions.create(model="openquery", messages=messages, seed=7, top_p=0.9)
    assert reply.choices[0].message.content


@pytest.mark.parametrize(
    "harmless",
    [
        {"tools": [], "tool_choice": "auto", "n": 1, "response_format": {"type": "text"}},
        {"tool_choice": "none", "function_call": "auto", "functions": []},
        {"tool_choice": "none", "tools": [TOOL]},
        {"tools": [TOOL], "functions": [{"name": "f"}]},
        {"tool_choice": "auto", "tools": [TOOL], "parallel_tool_calls": True},
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [TOOL]}, "tools": [TOOL]},
        {"store": True, "user": "ann", "metadata": {"chat": "1"}, "logprobs": False, "logit_bias": {}},
        dict.fromkeys(
            (
                "tools",
                "tool_choice",
                "n",
                "response_format",
                "stop",
                "stream",
                "stream_options",
                "max_tokens",
            ),
        ),
    ],
)
def test_parameters_that_ask_for_nothing_are_accepted(api: Api, harmless: dict[str, object]) -> None:
    reply = api.post("/v1/chat/completions", json={"model": "openquery", "messages": ASKED, **harmless})
    assert reply.status_code == 200, reply.text


def test_tools_that_may_be_called_are_left_alone_with_a_note(api: Api) -> None:
    search = {"type": "web_search"}
    for tools, note in (([TOOL, TOOL, search], "The client offers 2 tools."), ([search], "")):
        body = {"model": "openquery", "messages": ASKED, "tools": tools}
        notes = api.post("/v1/chat/completions", json=body).raise_for_status().json()["notes"]
        assert [told for told in notes if "tool" in told] == ([f"{note} {CALLS_NONE}"] if note else [])


def test_large_image_in_an_earlier_message_is_left_out(api: Api) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 2_000_000}"}}
    earlier = {"role": "user", "content": ["What is this?", {"type": "text", "text": None}, image]}
    messages = [earlier, {"role": "assistant", "content": "A harbour."}, *ASKED]
    reply = api.post("/v1/chat/completions", json={"model": "openquery", "messages": messages})
    assert reply.status_code == 200, reply.text
    assert reply.json()["choices"][0]["message"]["content"]


def _asked(**more: object) -> dict[str, object]:
    return {"model": "openquery", "messages": ASKED, **more}


def _said(role: str, content: object) -> dict[str, object]:
    return {"model": "openquery", "messages": [{"role": role, "content": content}]}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (_asked(messages=[]), "messages"),
        (_said("assistant", "Hello."), "messages"),
        (_said("user", None), "messages.0.content"),
        (_said("user", "x" * 100_001), "messages.0.content"),
        (_said("user", 7), "messages.0.content"),
        (_said("user", [{"type": "text", "text": 7}]), "messages.0.content.0.text"),
        (_said("wizard", "Hello."), "messages.0.role"),
        ({"model": "openquery"}, "messages"),
        (_said("user", [{"type": "image_url", "image_url": {"url": "x"}}]), "messages.0.content.0.type"),
        (_asked(temperature=3), "temperature"),
        (_asked(max_tokens=0), "max_tokens"),
        (_asked(max_completion_tokens=1.5), "max_completion_tokens"),
        (_asked(stop=["a", "b", "c", "d", "e"]), "stop"),
        (_asked(n=2), "n"),
        (_asked(tools=[TOOL], tool_choice="required"), "tool_choice"),
        (_asked(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "f"}}), "tool_choice"),
        (_asked(stop=7), "stop"),
        (_asked(functions=[{"name": "f"}], function_call={"name": "f"}), "function_call"),
        (_asked(response_format={"type": "json_object"}), "response_format"),
        (_asked(logprobs=True), "logprobs"),
        (_asked(top_logprobs=3), "top_logprobs"),
        (_asked(logit_bias={"50256": -100}), "logit_bias"),
        (_asked(modalities=["text", "audio"]), "modalities"),
        (_asked(audio={"voice": "alloy", "format": "mp3"}), "audio"),
        (_asked(prediction={"type": "content", "content": "x"}), "prediction"),
    ],
)
def test_unsupported_field_is_refused_by_name(api: Api, body: dict[str, object], field: str) -> None:
    for stream in (False, True):
        reply = api.post("/v1/chat/completions", json={**body, "stream": stream})
        assert (reply.status_code, reply.json()["status"]) == (400, 400)
        error = reply.json()["error"]
        assert error["param"] == field
        assert [fault["field"] for fault in reply.json()["errors"]] == [field]
        assert error["type"] == "invalid_request_error"
        assert field in error["message"]


def test_unsupported_field_is_a_bad_request_to_the_client(complete: Complete) -> None:
    with pytest.raises(openai.BadRequestError, match="tool_choice") as caught:
        complete(tools=[TOOL], tool_choice="required")
    assert (caught.value.param, caught.value.code) == ("tool_choice", "unsupported_parameter")
