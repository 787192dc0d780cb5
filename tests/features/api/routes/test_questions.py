"""`POST /qa`, `POST /query` and `POST /research`."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from core.features.api.sessions import METHOD_DEFAULTS, Endpoint
from core.run.codec import event_from_json
from core.run.events import Record
from core.run.fold import folded_run
from core.run.state import RunStatus
from tests.features.api.conftest import DEMO, PATIENCE, QUESTION, Api, Serve, Visitor
from tests.services.loopback import Cut, Gate, Loopback, Reply, Request, json_reply
from tests.services.openai_server import FakeOpenAI, streamed
from tests.services.process import closed_port

pytestmark = pytest.mark.slow


def sse(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Server-sent events as (name, data)."""
    name = ""
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def test_qa_answers_from_the_best_passages(api: Api) -> None:
    answer = api.post("/qa", json={"question": QUESTION, "top_k": 2}).json()
    assert answer["question"] == QUESTION
    assert "[1]" in answer["answer"]
    assert answer["retrieved_chunks_count"] == len(answer["sources"]) == 2
    assert answer["error"] is None
    best, second = answer["sources"]
    assert 1 >= best["score"] >= second["score"] >= 0
    assert len(best["content_snippet"]) <= 200
    assert best["source_metadata"]["title"] == "Chunk Overlap"
    assert best["source_metadata"]["url"].startswith("https://")


@pytest.mark.parametrize(
    ("path", "field"), [("/qa", "question"), ("/query", "query"), ("/research", "question")]
)
def test_queries_of_the_caller_replace_others(visitor: Visitor, path: str, field: str) -> None:
    visitor.model.chats.append(streamed("Overlap repeats text [1]."))
    body = {field: QUESTION, "queries": ["passage boundaries", "chunk size"]}
    reply = visitor.post(path, json=body)
    assert reply.status_code == 200, reply.text
    run_id = reply.json().get("run") or reply.json()["id"]
    run = visitor.runs.get(run_id)
    assert run is not None
    assert [query.text for query in run.queries] == body["queries"]
    assert len(visitor.model.chat_requests) == 1, "the answer alone is written by the model"
    wrong = visitor.post(path, json={field: QUESTION, "queries": ["a"] * 11})
    assert wrong.status_code == 422
    assert wrong.json()["errors"][0]["field"] == "queries"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/qa", {"question": QUESTION, "only_domains": ["a.example"], "without_domains": ["b.example"]}),
        ("/query", {"query": QUESTION, "only_domains": ["a.example"], "without_domains": ["b.example"]}),
        ("/qa", {"question": f"{QUESTION} site:a.example -site:b.example"}),
        (
            "/research",
            {
                "question": QUESTION,
                "knobs": {"rank": {"only_domains": "a.example", "without_domains": "b.example"}},
            },
        ),
        (
            "/v1/chat/completions",
            {
                "model": "openquery",
                "messages": [{"role": "user", "content": QUESTION}],
                "web_search_options": {
                    "search_context_size": "low",
                    "filters": {"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]},
                },
            },
        ),
        (
            "/v1/chat/completions",
            {
                "model": "openquery",
                "messages": [{"role": "user", "content": QUESTION}],
                "search_domain_filter": ["a.example", "-b.example"],
            },
        ),
    ],
)
def test_sites_narrow_the_search_of_one_question(serve: Serve, path: str, body: dict[str, Any]) -> None:
    async def elsewhere(request: Request) -> Reply:
        return json_reply({"results": [{"url": "https://c.example/", "title": "C", "content": "Elsewhere."}]})

    with Loopback(elsewhere) as engine:
        api = serve(searxng_url=engine.url)
        reply = api.post(path, json=body)
        asked = {request.query["q"] for request in engine.requests}
    assert asked == {f"{QUESTION} site:a.example -site:b.example"}
    assert "No search results found on a.example; 1 result on other sites was left out." in reply.text


def test_query_gives_passages_above_the_threshold_with_pages(api: Api) -> None:
    body = {"query": QUESTION, "max_results": 20, "similarity_threshold": 0.6}
    answer = api.post("/query", json=body).json()
    scores = [chunk["similarity_score"] for chunk in answer["retrieved_chunks"]]
    assert scores
    assert all(0.6 <= score <= 1 for score in scores)
    assert len(set(answer["sources"])) == len(answer["sources"])
    assert all(httpx.URL(address).host for address in answer["sources"])
    assert {chunk["source_url"] for chunk in answer["retrieved_chunks"]} == set(answer["sources"])
    assert all({"title", "created_at"} <= set(chunk["metadata"]) for chunk in answer["retrieved_chunks"])
    assert answer["retrieved_chunks"][0]["metadata"]["created_at"]
    assert answer["timestamp"].endswith("Z")


def test_a_threshold_of_zero_lets_in_everything(api: Api) -> None:
    body = {"query": "Does a zebra like overlap in Madagascar?", "max_results": 20, "similarity_threshold": 0}
    chunks = api.post("/query", json=body).json()["retrieved_chunks"]
    assert chunks
    assert min(chunk["similarity_score"] for chunk in chunks) < 0.2
    assert all(0 <= chunk["similarity_score"] <= 1 for chunk in chunks)


def test_nothing_above_the_threshold_is_answered_without_a_model(visitor: Visitor) -> None:
    body = {"query": "Who won the cup in 1966?", "similarity_threshold": 0.95}
    reply = visitor.post("/query", json=body)
    assert reply.status_code == 200
    assert reply.json()["answer"] == "Not found in context"
    assert reply.json()["retrieved_chunks"] == reply.json()["sources"] == []
    assert visitor.model.chat_requests == []


def test_the_connected_model_writes_the_answer(visitor: Visitor) -> None:
    visitor.model.chats.append(streamed("Overlap keeps facts whole [1]."))
    reply = visitor.post("/query", json={"query": QUESTION})
    assert reply.json()["answer"] == "Overlap keeps facts whole [1]."
    assert visitor.model.chat_requests[0].headers["authorization"] == "Bearer sk-of-a-visitor"


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        ("/qa", b"no JSON", {"body"}),
        ("/qa", b"[]", {"body"}),
        ("/qa", b'{"question": "a", "top_k": NaN}', {"body"}),
        ("/qa", b'{"question": "\\ud800"}', {"body"}),
        ("/qa", b"[" * 5000, {"body"}),
        ("/qa", b'{"question": ""}', {"question"}),
        ("/qa", b'{"question": "   "}', {"question"}),
        ("/qa", b'{"question": "' + b"x" * 1001 + b'"}', {"question"}),
        ("/qa", b'{"question": "a", "top_k": 0}', {"top_k"}),
        ("/qa", b'{"question": "a", "top_k": 21}', {"top_k"}),
        ("/qa", b'{"question": "a", "top_k": "3"}', {"top_k"}),
        ("/qa", b'{"question": "a", "top_k": true}', {"top_k"}),
        ("/qa", b'{"question": "a", "topk": 3}', {"topk"}),
        ("/query", b'{"query": "", "max_results": 0, "similarity_threshold": -0.1}', {"query", "max_results", "similarity_threshold"}),
        ("/query", b'{"query": "' + b"x" * 1001 + b'"}', {"query"}),
        ("/query", b'{"max_results": 99, "similarity_threshold": 1.5, "z": 1}', {"query", "max_results", "similarity_threshold", "z"}),
        ("/research", b'{"question": "a", "knobs": {"rank": {"top_k": "3", "nob": 1}, "gear": {}}}', {"knobs.rank.top_k", "knobs.rank.nob", "knobs.gear"}),
        ("/research", b'{"question": "a", "knobs": {"rank": 7}}', {"knobs.rank"}),
    ],
)  # fmt: skip
def test_every_wrong_field_is_named_and_nothing_is_started(
    api: Api, path: str, body: bytes, fields: set[str]
) -> None:
    before = len(api.runs.history())
    reply = api.post(path, content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"
    assert {fault["field"] for fault in reply.json()["errors"]} == fields
    assert len(api.runs.history()) == before


def test_body_that_is_not_declared_json_is_refused_with_advice(api: Api) -> None:
    reply = api.post("/qa", content=b'{"question": "a"}', headers={"Content-Type": "text/plain"})
    assert reply.status_code == 422
    assert "application/json" in reply.json()["hint"]


@pytest.mark.parametrize("sized", [True, False])
def test_a_body_beyond_the_limit_is_refused(api: Api, sized: bool) -> None:
    pieces = [b" " * 100_000] * 11
    content: Any = b"".join(pieces) if sized else iter(pieces)
    reply = api.post("/qa", content=content, headers={"Content-Type": "application/json"})
    assert (reply.status_code, reply.json()["status"]) == (413, 413)


def test_knobs_change_for_one_question_only(api: Api) -> None:
    run = api.post("/research", json={"question": QUESTION, "knobs": {"rank": {"top_k": 1}}}).json()
    assert run["status"] == "done"
    assert len(run["sources"]) == 1
    assert run["knobs"]["rank"]["top_k"] == 1
    assert run["knobs"]["search"]["backend"] == "demo"
    assert api.get("/config").json()["value"]["rank.top_k"] == 6


def test_event_stream_folds_to_the_run_it_ends_with(api: Api) -> None:
    body = {"question": QUESTION, "knobs": {"rank": {"top_k": 2}}}
    headers = {"Accept": "text/event-stream"}
    with api.client.stream("POST", "/research", json=body, headers=headers) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = list(sse(reply.iter_lines()))
    name, result = events.pop()
    assert name == "result"
    assert all(data["event"]["event"] == name for name, data in events)
    run = folded_run(
        Record(at=data["at"], event=event_from_json(json.dumps(data["event"]).encode())) for _, data in events
    )
    assert (run.id, run.text, run.status) == (result["id"], result["answer"], RunStatus.DONE)
    assert [source.number for source in run.sources] == [source["number"] for source in result["sources"]]


def test_closing_the_event_stream_stops_the_run(visitor: Visitor) -> None:
    gate = Gate()
    visitor.model.chats.append(streamed("Half of it. ", gate, "The rest."))
    headers = {"Accept": "text/event-stream"}
    with visitor.client.stream("POST", "/research", json={"question": QUESTION}, headers=headers) as reply:
        events = sse(reply.iter_lines())
        _, started = next(events)
        assert any(name == "TokensWritten" for name, _ in events)
    stopped = visitor.until(started["event"]["id"], "stopped")
    gate.open()
    assert stopped["answer"].startswith("Half of it.")
    assert visitor.model.chat_requests[0].abandoned.wait(PATIENCE)


async def test_hanging_up_on_a_plain_request_stops_the_run(api: Api, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Half of it. ", gate))
    headers = api.session(fake_openai)
    async with httpx.AsyncClient(base_url=api.url, timeout=PATIENCE, trust_env=False) as client:
        request = asyncio.create_task(client.post("/qa", json={"question": QUESTION}, headers=headers))
        await gate.reached()
        request.cancel()
    await fake_openai.chat_requests[0].hung_up()
    await asyncio.to_thread(api.until, api.runs.history()[0].id, "stopped")


def test_half_an_answer_comes_with_its_error(visitor: Visitor) -> None:
    visitor.model.chats.append(streamed("Half of it [1]. ", Cut()))
    answer = visitor.post("/qa", json={"question": QUESTION}).json()
    assert answer["answer"].startswith("Half of it [1].")
    assert "broke off" in answer["error"]
    assert answer["sources"]


def test_unconnected_backend_is_a_problem_with_advice(api: Api) -> None:
    body = {"question": QUESTION, "knobs": {"search": {"backend": "searxng"}}}
    reply = api.post("/research", json=body)
    assert reply.status_code == 502
    assert "SEARXNG_URL" in reply.json()["hint"]
    with api.client.stream(
        "POST", "/research", json=body, headers={"Accept": "text/event-stream"}
    ) as streamed_reply:
        events = list(sse(streamed_reply.iter_lines()))
    name, result = events[-1]
    assert name == "result"
    assert result["status"] == "failed"
    assert "SEARXNG_URL" in result["error"]["hint"]


def test_a_search_that_finds_nothing_is_no_failure(serve: Serve, fake_searxng_without_results: str) -> None:
    api = serve(searxng_url=fake_searxng_without_results)
    for path, field in (("/qa", "question"), ("/query", "query")):
        reply = api.post(path, json={field: QUESTION})
        assert reply.status_code == 200
        assert reply.json()["answer"] == "Not found in context"
        assert reply.json().get("error") is None
        assert any("No search results" in note for note in reply.json()["notes"])


def test_an_answer_from_the_demo_library_says_so(api: Api) -> None:
    for path, field in (("/qa", "question"), ("/query", "query")):
        answer = api.post(path, json={field: QUESTION}).json()
        assert answer["backend"] == "demo"
        assert any("demo library" in note for note in answer["notes"]), path


def test_a_failing_search_offers_other_backends_and_uses_none(serve: Serve) -> None:
    api = serve(searxng_url=f"http://127.0.0.1:{closed_port()}")
    for path, field, status in (("/qa", "question", 503), ("/query", "query", 502)):
        reply = api.post(path, json={field: QUESTION})
        assert reply.status_code == status
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["alternatives"] == ["ddgs", "demo"]
        assert reply.json()["hint"]
        assert api.get(f"/runs/{reply.json()['run']}").json()["sources"] == []


@pytest.mark.parametrize("path", ["/qa", "/query"])
def test_passages_rank_by_cosine_unless_set_otherwise(api: Api, path: str) -> None:
    method = path[1:]
    assert METHOD_DEFAULTS[Endpoint(method)]["rank"]["strategy"] == "cosine", "whatever the page's default is"
    body = {"question" if path == "/qa" else "query": QUESTION}

    def strategy() -> str:
        run = api.post(path, json=body).raise_for_status().json()["run"]
        return str(api.get(f"/runs/{run}?form=full").json()["ranking"]["strategy"])

    assert strategy() == "cosine"
    for others, ranking in (({}, "cosine"), ({"rank.strategy": "fused"}, "fused")):
        api.put(f"/config?method={method}", json={"value": {**DEMO, **others}}).raise_for_status()
        assert strategy() == ranking


def test_method_configuration_fills_what_a_request_leaves_out(api: Api) -> None:
    for method, field, count in (("qa", "question", "top_k"), ("query", "query", "max_results")):
        body: dict[str, Any] = {field: QUESTION}
        value = {**DEMO, "rank.top_k": 2, "rank.threshold": 0.1}
        api.put(f"/config?method={method}", json={"value": value}).raise_for_status()
        run = api.post(f"/{method}", json=body).json()["run"]
        assert api.get(f"/runs/{run}").json()["knobs"]["rank"]["threshold"] == 0.1
        assert len(api.get(f"/runs/{run}").json()["sources"]) == 2
        run = api.post(f"/{method}", json={**body, count: 1}).json()["run"]
        assert len(api.get(f"/runs/{run}").json()["sources"]) == 1


def test_no_configuration_gives_more_than_twenty_passages(api: Api) -> None:
    for method, field in (("qa", "question"), ("query", "query")):
        value = {**DEMO, "rank.top_k": 50, "rank.per_page": 0}
        api.put(f"/config?method={method}", json={"value": value}).raise_for_status()
        run = api.post(f"/{method}", json={field: QUESTION}).json()["run"]
        assert api.get(f"/runs/{run}").json()["knobs"]["rank"]["top_k"] == 20


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/qa", {"question": "a" + " b" * 499 + "?", "top_k": 20}),
        ("/qa", {"question": "?", "top_k": 1}),
        ("/query", {"query": "a" + " b" * 499 + "?", "max_results": 20, "similarity_threshold": 1}),
        ("/query", {"query": "?", "max_results": 1, "similarity_threshold": 0}),
    ],
)
def test_the_outermost_values_are_accepted(api: Api, path: str, body: dict[str, Any]) -> None:
    answer = api.post(path, json=body).raise_for_status().json()
    assert answer.get("question", answer.get("query")) == body.get("question", body.get("query"))
    assert answer["answer"]


def test_a_request_needs_nothing_but_its_question(api: Api) -> None:
    answer = api.post("/qa", json={"question": QUESTION}).json()
    assert answer["retrieved_chunks_count"] == len(answer["sources"]) == 5
    chunks = api.post("/query", json={"query": QUESTION}).json()["retrieved_chunks"]
    assert 0 < len(chunks) <= 5
    assert all(chunk["similarity_score"] >= 0.5 for chunk in chunks)
