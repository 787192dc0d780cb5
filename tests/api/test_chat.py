"""OpenQuery as a model: what OpenAI's own client makes of it."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from tests.api.conftest import QUESTION, Api
from tests.services.loopback import Cut, Gate
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

ASKED = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "Hello?"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": QUESTION},
]


@pytest.fixture
def client(api: Api) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_the_answer_cites_pages_by_the_places_of_its_marks(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(model="openquery", messages=ASKED)
    (choice,) = reply.choices
    text, cited = choice.message.content, choice.message.annotations
    assert choice.finish_reason == "stop"
    assert cited
    for mark in cited:
        assert mark.type == "url_citation"
        at = mark.url_citation
        assert text[at.start_index : at.end_index].strip("[]").isdigit()
        assert at.url.startswith("https://")
        assert at.title


def test_the_last_message_of_the_user_is_the_question(api: Api, client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(model="openquery", messages=ASKED)
    assert api.get(f"/runs/{reply.id.removeprefix('chatcmpl-')}").json()["question"] == QUESTION


def test_a_message_in_parts_is_their_text(api: Api, client: openai.OpenAI) -> None:
    parts = [{"type": "text", "text": "What is"}, {"type": "text", "text": "BM25?"}]
    reply = client.chat.completions.create(model="openquery", messages=[{"role": "user", "content": parts}])
    assert api.get(f"/runs/{reply.id.removeprefix('chatcmpl-')}").json()["question"] == "What is\nBM25?"


def test_the_stream_joins_to_the_answer_and_ends_with_its_citations(
    api: Api, client: openai.OpenAI, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.append(streamed("Overlap keeps ", "facts whole [1]", ".", usage=(300, 7)))
    stream = client.chat.completions.create(
        model="openquery",
        messages=ASKED,
        stream=True,
        stream_options={"include_usage": True},
        temperature=0.7,
        extra_headers=api.session(fake_openai),
    )
    chunks = list(stream)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == "Overlap keeps facts whole [1]."
    assert len([choice for choice in choices if choice.delta.content]) >= 3
    assert choices[0].delta.role == "assistant"
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["stop"]
    (citation,) = choices[-1].delta.annotations
    assert citation["url_citation"]["start_index"] == 26
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (300, 7)
    assert len({chunk.id for chunk in chunks}) == 1
    assert fake_openai.chat_requests[0].json["temperature"] == 0.7


def test_closing_the_stream_stops_the_run(api: Api, client: openai.OpenAI, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Half of it. ", gate))
    headers = api.session(fake_openai)
    stream = client.chat.completions.create(
        model="openquery", messages=ASKED, stream=True, extra_headers=headers
    )
    run_id = next(chunk.id for chunk in stream if chunk.choices[0].delta.content).removeprefix("chatcmpl-")
    stream.close()
    api.until(run_id, "stopped")


def test_what_fails_is_an_error_of_the_client(
    api: Api, client: openai.OpenAI, fake_openai: FakeOpenAI
) -> None:
    headers = api.session(fake_openai)
    fake_openai.chats.append(failure(400, "No."))
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(model="openquery", messages=ASKED, extra_headers=headers)
    assert caught.value.status_code == 502
    assert caught.value.response.headers["content-type"] == "application/problem+json"
    fake_openai.chats.append(failure(400, "No."))
    stream = client.chat.completions.create(
        model="openquery", messages=ASKED, stream=True, extra_headers=headers
    )
    with pytest.raises(openai.APIError):
        list(stream)


def test_an_answer_that_broke_off_is_known_as_incomplete(
    api: Api, client: openai.OpenAI, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.append(streamed("Half of it [1]. ", Cut()))
    reply = client.chat.completions.create(
        model="openquery", messages=ASKED, extra_headers=api.session(fake_openai)
    )
    assert reply.choices[0].message.content.startswith("Half of it [1].")
    assert reply.choices[0].finish_reason == "length"


def test_there_is_one_model_and_no_other(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["openquery"]
    with pytest.raises(openai.NotFoundError, match="openquery"):
        client.chat.completions.create(model="gpt-4o", messages=ASKED)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"model": "openquery", "messages": []}, "messages"),
        ({"model": "openquery", "messages": [{"role": "assistant", "content": "Hello."}]}, "user"),
        ({"model": "openquery", "messages": [{"role": "user", "content": None}]}, "user"),
        ({"model": "openquery", "messages": ASKED, "n": 2}, "n"),
        ({"model": "openquery", "messages": ASKED, "temperature": 3}, "temperature"),
        ({"model": "openquery", "messages": [{"role": "user", "content": "x" * 1001}]}, "1,000"),
    ],
)
def test_what_cannot_be_answered_is_reported_as_both_sides_expect(
    api: Api, body: dict[str, object], told: str
) -> None:
    reply = api.post("/v1/chat/completions", json=body)
    assert reply.status_code == 422
    assert reply.json()["status"] == 422
    assert told in reply.json()["error"]["message"]
