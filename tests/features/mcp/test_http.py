"""`/mcp` of the HTTP API: clients of every revision, callers, limits and clients that go away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr

from core.features.api.application import BODY_LIMIT
from tests.features.api.conftest import DEMO, PATIENCE, QUESTION, Api, Serve
from tests.features.mcp.conftest import call, refusal
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, streamed

pytestmark = pytest.mark.slow

REVISION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message(method: str, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": META, **params}}


def headers(method: str, name: str = "", **more: str) -> dict[str, str]:
    named = {"Mcp-Name": name} if name else {}
    accepted = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": REVISION}
    return {**accepted, "Mcp-Method": method, **named, **more}


@asynccontextmanager
async def own_client(api: Api, sent: dict[str, str]) -> AsyncIterator[Client]:
    """The official client, with headers of one's own."""
    async with (
        httpx2.AsyncClient(headers=sent, timeout=PATIENCE, trust_env=False) as http,
        Client(streamable_http_client(f"{api.url}/mcp", http_client=http)) as client,
    ):
        yield client


def post_call(api: Api, name: str, /, path: str = "/mcp", **arguments: Any) -> httpx.Response:
    body = message("tools/call", name=name, arguments=arguments)
    return api.post(path, json=body, headers=headers("tools/call", name))


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("mode", ["auto", "legacy", REVISION])
async def test_clients_of_every_revision_call_tools(api: Api, path: str, mode: str) -> None:
    async with Client(f"{api.url}{path}", mode=mode) as client:
        assert len((await client.list_tools()).tools) == 11
        assert "runs" in await call(client, "runs")


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_one_bare_post_needs_no_session(api: Api, path: str) -> None:
    reply = post_call(api, "runs", path, limit=1)
    assert reply.status_code == 200, reply.text
    assert "mcp-session-id" not in reply.headers
    assert reply.json()["result"]["structuredContent"].keys() == {"runs", "total"}


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("ask", {"question": 5}, "question: Input should be a valid string"),
        ("ask", {"question": QUESTION, "top-k": 5}, "top-k: Extra inputs are not permitted"),
        ("ask", {"question": QUESTION, "settings": {"rank.top_k": 999}}, "rank.top_k"),
        ("ask", {"question": QUESTION, "settings": {"rank.nothing": 1}}, "There is no setting rank.nothing."),
        ("tune", {"run": "absent", "settings": {"rank.top_k": 3}}, "There is no run of this id."),
        ("why_not", {"run": ["a"], "text": {}}, "run: Input should be a valid string"),
        ("fetch", {"id": "../etc"}, "id: String should match"),
        ("search", {"query": "x" * 900_000}, "query: String should have at most 400 characters"),
        ("runs", {"statuses": ["lost"]}, "statuses"),
        ("evaluate", {"data": "absent"}, "There is no data set absent."),
        ("evaluate", {"settings": {"search.results": 3}}, "search.results"),
    ],
)
async def test_wrong_arguments_are_refused_in_words(
    api: Api, name: str, arguments: dict[str, Any], told: str
) -> None:
    async with Client(f"{api.url}/mcp") as client:
        text = await refusal(client, name, **arguments)
    assert told in text
    assert len(text) < 500


async def test_lists_sent_as_texts_are_read(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        listed = await call(client, "runs", statuses='["failed"]')
    assert listed["runs"] == []


async def test_unknown_tool_is_an_error_of_the_protocol(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        with pytest.raises(MCPError, match="There is no tool delete_everything"):
            await client.call_tool("delete_everything", {})


def test_messages_above_the_limit_are_refused(api: Api) -> None:
    reply = post_call(api, "search", query="x" * BODY_LIMIT)
    assert reply.status_code == 413


@pytest.mark.parametrize(
    ("status", "sent"),
    [(421, {"Host": "evil.example"}), (403, {"Origin": "https://evil.example"})],
)
def test_foreign_hosts_and_origins_are_refused(api: Api, status: int, sent: dict[str, str]) -> None:
    body = message("tools/list")
    for path in ("/mcp", "/mcp/"):
        reply = api.post(path, json=body, headers=headers("tools/list", **sent))
        assert reply.status_code == status


def test_other_methods_than_post_are_refused(api: Api) -> None:
    for method in ("GET", "DELETE"):
        reply = api.client.request(method, "/mcp", headers={"Accept": "text/event-stream"})
        assert reply.status_code == 405
        assert reply.headers["Allow"] == "POST"


def test_tokens_and_limits_are_those_of_the_api(serve: Serve) -> None:
    api = serve(api_tokens=SecretStr("of-anna,of-berta"), shared=True, runs_per_hour=1, backend="demo")
    anna, berta = ({"Authorization": f"Bearer of-{name}"} for name in ("anna", "berta"))

    def asked(name: str, token: dict[str, str], /, **arguments: Any) -> dict[str, Any]:
        body = message("tools/call", name=name, arguments=arguments)
        reply = api.post("/mcp", json=body, headers=headers("tools/call", name) | token)
        result: dict[str, Any] = reply.raise_for_status().json()["result"]
        return result

    body = message("tools/list")
    assert api.post("/mcp", json=body, headers=headers("tools/list")).status_code == 401
    assert "isError" not in (first := asked("search", anna, query="overlap")) or not first["isError"]
    refused = asked("search", anna, query="overlap")
    assert refused["isError"]
    assert "1 question within an hour" in refused["content"][0]["text"]
    assert len(asked("runs", anna)["structuredContent"]["runs"]) == 1
    assert asked("runs", berta)["structuredContent"]["runs"] == []
    evaluated = asked("evaluate", anna)
    assert "you may not run an experiment" in evaluated["content"][0]["text"]


async def test_sessions_of_the_api_connect_servers_of_ones_own(api: Api, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("Overlap repeats text [1]."))
    session = api.session(fake_openai)
    body = message("tools/call", name="ask", arguments={"question": QUESTION, "queries": ["overlap"]})
    reply = api.post("/mcp", json=body, headers=headers("tools/call", "ask") | session)
    answer = reply.json()["result"]["structuredContent"]
    assert answer["answer"] == "Overlap repeats text [1]."
    absent = api.post(
        "/mcp", json=body, headers=headers("tools/call", "ask") | {"X-OpenQuery-Session": "gone"}
    )
    assert "There is no such session" in absent.json()["result"]["content"][0]["text"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_vanishing_client_stops_its_run(api: Api, fake_openai: FakeOpenAI, mode: str) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Half of it. ", gate))
    api.put("/config", json={"value": DEMO}).raise_for_status()
    session = api.session(fake_openai)
    body = message("tools/call", name="ask", arguments={"question": QUESTION})
    sent = headers("tools/call", "ask") | session
    if mode == "legacy":
        body["params"].pop("_meta")
        sent |= {"MCP-Protocol-Version": "2025-11-25"}
    async with httpx.AsyncClient(base_url=api.url, timeout=PATIENCE, trust_env=False) as client:
        request = asyncio.create_task(client.post("/mcp", json=body, headers=sent))
        await gate.reached()
        request.cancel()
    await fake_openai.chat_requests[0].hung_up()
    await asyncio.to_thread(api.until, api.runs.history()[0].id, "stopped")


async def test_cancelled_call_stops_its_run(api: Api, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Half of it. ", gate))
    session = api.session(fake_openai)
    async with own_client(api, session) as client:
        asking = asyncio.create_task(client.call_tool("ask", {"question": QUESTION}))
        await gate.reached()
        asking.cancel()
        await fake_openai.chat_requests[0].hung_up()
        await asyncio.to_thread(api.until, api.runs.history()[0].id, "stopped")


async def test_fifty_calls_at_once_are_answered(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        listed = await asyncio.gather(*(call(client, "runs", limit=1) for _ in range(50)))
    assert len(listed) == 50


@pytest.mark.parametrize(("own_hosts", "is_refused"), [("loopback", True), ("loopback,mcp", False)])
def test_private_texts_reach_models_of_ones_own_alone(serve: Serve, own_hosts: str, is_refused: bool) -> None:
    api = serve(private_pages=True, own_hosts=own_hosts, backend="demo")
    run = api.post("/qa", json={"question": QUESTION}).json()["run"]
    for name, arguments in (("search", {"query": "overlap"}), ("attrition", {"run": run})):
        result = post_call(api, name, **arguments).json()["result"]
        assert bool(result.get("isError")) is is_refused
        assert ("OPENQUERY_OWN_HOSTS" in result["content"][0]["text"]) is is_refused


def test_read_only_links_are_refused(api: Api) -> None:
    run = post_call(api, "search", query="overlap").json()["result"]["structuredContent"]["results"][0]["id"]
    link = api.post(f"/runs/{run.partition('.')[0]}/links").json()["link"]
    refused = post_call(api, "attrition", run=link).json()["result"]
    assert "read-only link" in refused["content"][0]["text"]
