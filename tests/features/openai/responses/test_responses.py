"""`/v1/responses`, asked by the official client and with bodies that clients send."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai.types.responses import Response, ResponseOutputMessage, ResponseOutputText
from pydantic import SecretStr

from tests.features.api.conftest import PATIENCE, QUESTION, Api, Serve, Visitor
from tests.patience import Patience
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, streamed

pytestmark = pytest.mark.slow

SENT = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "responses_clients.jsonl")
    .read_text("utf-8")
    .splitlines()
]


@contextmanager
def client_of(api: Api, **headers: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{api.url}/v1", api_key="any", max_retries=0, default_headers=headers, timeout=PATIENCE
    ) as client:
        yield client


@pytest.fixture
def client(api: Api) -> Iterator[openai.OpenAI]:
    with client_of(api) as made:
        yield made


@pytest.fixture
def written(api: Api, fake_openai: FakeOpenAI) -> Iterator[openai.OpenAI]:
    """A client in whose session a model writes."""
    with client_of(api, **api.session(fake_openai)) as made:
        yield made


def text_of(response: Response) -> ResponseOutputText:
    (message,) = response.output
    assert isinstance(message, ResponseOutputMessage)
    (content,) = message.content
    assert isinstance(content, ResponseOutputText)
    return content


def test_answer_links_its_sources(api: Api, client: openai.OpenAI) -> None:
    response = client.responses.create(model="openquery", input=QUESTION, metadata={"a": "b"})
    assert response.status == "completed"
    assert response.metadata == {"a": "b"}
    content = text_of(response)
    assert content.text == response.output_text
    for mark in content.annotations:
        assert mark.type == "url_citation"
        cited = content.text[mark.start_index : mark.end_index]
        assert cited.startswith("[")
        assert mark.url in cited
    assert content.annotations
    run = api.runs.get(response.id.removeprefix("resp_"))
    assert run is not None
    assert run.question == QUESTION


def test_usage_is_that_of_the_run(written: openai.OpenAI, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("Overlap repeats text [1].", usage=(900, 12)))
    response = written.responses.create(model="openquery", input=QUESTION)
    assert response.usage is not None
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    assert response.usage.output_tokens >= 12


def test_instructions_reach_the_model(written: openai.OpenAI, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("Arr [1]."))
    response = written.responses.create(model="openquery", input=QUESTION, instructions="Talk like a pirate.")
    assert response.instructions == "Talk like a pirate."
    assert "Talk like a pirate." in json.dumps(fake_openai.chat_requests[-1].json)


def test_stream_has_the_official_events(client: openai.OpenAI) -> None:
    with client.responses.create(model="openquery", input=QUESTION, stream=True) as stream:
        events = list(stream)
    names = [event.type for event in events]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert names[:2] == ["response.created", "response.in_progress"]
    assert names[2:4] == ["response.output_item.added", "response.content_part.added"]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    marks = [event for event in events if event.type == "response.output_text.annotation.added"]
    closing = ["response.output_text.done", "response.content_part.done", "response.output_item.done"]
    assert names[-4:] == [*closing, "response.completed"]
    completed = events[-1]
    assert completed.type == "response.completed"
    content = text_of(completed.response)
    assert content.text == "".join(deltas)
    assert len(marks) == len(content.annotations) > 0
    first, last = events[0], completed.response
    assert first.type == "response.created"
    assert first.response.status == "in_progress"
    assert first.response.id == last.id
    stored = client.responses.retrieve(last.id)
    assert stored.output_text == content.text


def test_helper_of_the_client_folds_the_stream(client: openai.OpenAI) -> None:
    with client.responses.stream(model="openquery", input=QUESTION) as stream:
        stream.until_done()
        final = stream.get_final_response()
    assert final.output_text.startswith("“")


def test_earlier_response_is_followed(api: Api, client: openai.OpenAI) -> None:
    first = client.responses.create(model="openquery", input=QUESTION)
    for previous in (first.id, first.id.removeprefix("resp_")):
        second = client.responses.create(
            model="openquery", input="And what does it cost?", previous_response_id=previous
        )
        assert second.previous_response_id == previous
        run = api.runs.get(second.id.removeprefix("resp_"))
        assert run is not None
        assert run.turn is not None
        assert run.turn.follows == first.id.removeprefix("resp_")
        assert "overlap" in run.question
    stored = client.responses.retrieve(second.id)
    assert stored.previous_response_id == first.id


def test_messages_of_the_input_are_history(api: Api, client: openai.OpenAI) -> None:
    first = client.responses.create(model="openquery", input=QUESTION)
    message = first.output[0]
    history: list[Any] = [{"role": "user", "content": QUESTION}, message.model_dump(mode="json")]
    second = client.responses.create(
        model="openquery", input=[*history, {"role": "user", "content": "And what does it cost?"}]
    )
    run = api.runs.get(second.id.removeprefix("resp_"))
    assert run is not None
    assert run.turn is not None
    assert run.turn.follows == first.id.removeprefix("resp_")


def test_stored_response_is_retrieved_and_deleted(client: openai.OpenAI) -> None:
    created = client.responses.create(model="openquery", input=QUESTION)
    stored = client.responses.retrieve(created.id)
    assert stored.model_dump(exclude={"metadata"}) == created.model_dump(exclude={"metadata"})
    (item,) = client.responses.input_items.list(created.id).data
    assert QUESTION in item.model_dump_json()
    client.responses.delete(created.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(created.id)


@pytest.mark.parametrize("stream", [False, True])
def test_response_that_is_not_stored_leaves_no_run(api: Api, client: openai.OpenAI, stream: bool) -> None:
    if stream:
        with client.responses.create(model="openquery", input=QUESTION, store=False, stream=True) as events:
            *_, last = events
        assert last.type == "response.completed"
        response = last.response
    else:
        response = client.responses.create(model="openquery", input=QUESTION, store=False)
    assert response.output_text
    assert api.runs.get(response.id.removeprefix("resp_")) is None


def test_background_response_is_followed_by_its_id(client: openai.OpenAI) -> None:
    response = client.responses.create(model="openquery", input=QUESTION, background=True)
    assert response.status == "queued"
    assert abs(response.created_at - time.time()) < PATIENCE
    patience = Patience(PATIENCE)
    while response.status in ("queued", "in_progress"):
        assert patience.lasts()
        response = client.responses.retrieve(response.id)
    assert response.status == "completed"
    assert response.output_text


def test_background_response_is_cancelled(written: openai.OpenAI, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Half of it. ", gate))
    response = written.responses.create(model="openquery", input=QUESTION, background=True)
    gate.wait_reached()
    cancelled = written.responses.cancel(response.id)
    gate.open()
    assert cancelled.status == "cancelled"
    assert cancelled.output_text.startswith("Half of it.")


async def test_vanishing_client_stops_its_run(api: Api, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Half of it. ", gate))
    headers = api.session(fake_openai)
    body = {"model": "openquery", "input": QUESTION}
    async with httpx.AsyncClient(base_url=api.url, timeout=PATIENCE, trust_env=False) as client:
        request = asyncio.create_task(client.post("/v1/responses", json=body, headers=headers))
        await gate.reached()
        request.cancel()
    await fake_openai.chat_requests[0].hung_up()
    await asyncio.to_thread(api.until, api.runs.history()[0].id, "stopped")


def test_failure_before_an_answer_ends_the_stream(api: Api, client: openai.OpenAI) -> None:
    api.put("/config", json={"value": {"search.backend": "searxng"}}).raise_for_status()
    with pytest.raises(openai.InternalServerError, match="SEARXNG_URL"):
        client.responses.create(model="openquery", input=QUESTION)
    with client.responses.create(model="openquery", input=QUESTION, stream=True) as stream:
        *_, last = stream
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert "SEARXNG_URL" in last.response.error.message


def test_answer_that_reached_its_limit_is_incomplete(written: openai.OpenAI, fake_openai: FakeOpenAI) -> None:
    for _ in range(2):
        fake_openai.chats.append(streamed("Overlap repeats [1] text", finish="length"))
    response = written.responses.create(model="openquery", input=QUESTION, max_output_tokens=20)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    with written.responses.create(model="openquery", input=QUESTION, stream=True) as stream:
        *_, last = stream
    assert last.type == "response.incomplete"


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: sent["name"])
def test_bodies_of_clients_are_read_or_refused(api: Api, sent: dict[str, Any]) -> None:
    reply = api.post("/v1/responses", json=sent["body"])
    if refused := sent.get("refused"):
        assert reply.status_code == sent.get("status", 400)
        error = reply.json()["error"]
        assert error["param"] == refused
        assert sent["says"] in error["message"]
        return
    assert reply.status_code == 200, reply.text
    if sent["body"].get("stream"):
        assert '"type":"response.completed"' in reply.text
        return
    run = api.runs.get(reply.json()["id"].removeprefix("resp_"))
    if sent["body"].get("store") is not False:
        assert run is not None
        assert run.written == sent["question"]


def test_sites_of_a_web_search_narrow_the_run(visitor: Visitor) -> None:
    tool = {"type": "web_search", "filters": {"allowed_domains": ["handbook.openquery.example"]}}
    body = {"model": "openquery", "input": QUESTION, "tools": [tool]}
    reply = visitor.post("/v1/responses", json=body).raise_for_status().json()
    run = visitor.runs.get(reply["id"].removeprefix("resp_"))
    assert run is not None
    assert run.knobs.rank.only_domains == "handbook.openquery.example"


def test_responses_of_others_are_neither_deleted_nor_cancelled(serve: Serve) -> None:
    api = serve(api_tokens=SecretStr("of-anna,of-berta"), shared=True, backend="demo")
    anna, berta = ({"Authorization": f"Bearer of-{name}"} for name in ("anna", "berta"))
    body = {"model": "openquery", "input": QUESTION}
    created = api.post("/v1/responses", json=body, headers=anna).raise_for_status().json()["id"]
    assert api.delete(f"/v1/responses/{created}", headers=berta).status_code == 403
    assert api.post(f"/v1/responses/{created}/cancel", headers=berta).status_code == 403
    assert api.delete(f"/v1/responses/{created}", headers=anna).json()["deleted"]
    assert api.get(f"/v1/responses/{created}", headers=anna).status_code == 404


def test_unknown_earlier_response_is_refused(client: openai.OpenAI) -> None:
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as refused:
            client.responses.create(
                model="openquery", input=QUESTION, previous_response_id="resp_absent", stream=stream
            )
        assert refused.value.code == "previous_response_not_found"
        assert refused.value.param == "previous_response_id"
