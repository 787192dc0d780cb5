"""Who is served: with tokens, who has one; without, programs on this machine."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from fastapi import FastAPI, Request
from pydantic import SecretStr

from core.config.settings import Settings
from core.features.api.middleware import Guard, authorization_refusal, tokens
from core.serving import problems
from tests.features.api.conftest import QUESTION, Api, Serve, serving, settings

pytestmark = pytest.mark.slow

OPEN = ("/health", "/metrics", "/runs", "/config", "/openapi.json", "/v1/models", "/nothing")


def scope(client: str | None, **headers: str) -> dict[str, object]:
    sent = {"host": "127.0.0.1:8000", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return {
        "type": "http",
        "client": None if client is None else (client, 50000),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
    }


@pytest.mark.parametrize("path", OPEN)
def test_with_tokens_no_path_is_served_without_one(token_api: Api, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic first-token"}):
        reply = token_api.get(path, headers=headers)
        assert reply.status_code == 401
        assert reply.headers["www-authenticate"] == "Bearer"
        assert reply.headers["content-type"] == "application/problem+json"
        assert "first-token" not in reply.text


@pytest.mark.parametrize("token", ["first-token", "second-token"])
def test_every_token_of_the_list_is_good(token_api: Api, token: str) -> None:
    assert token_api.get("/runs", headers={"Authorization": f"bearer {token}"}).status_code == 200
    with openai.OpenAI(base_url=f"{token_api.url}/v1", api_key=token, max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["openquery"]


@pytest.fixture(scope="module")
def token_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("tokens")
    with serving(settings(folder, api_tokens=SecretStr("first-token, second-token,,"))) as api:
        yield api


def test_limits_count_each_token_by_itself(serve: Serve) -> None:
    api = serve(api_tokens=SecretStr("first-token,second-token"), runs_per_hour=1)
    first, second = ({"Authorization": f"Bearer {name}-token"} for name in ("first", "second"))
    body = {"question": QUESTION, "knobs": {"search": {"backend": "demo"}}}
    assert api.post("/research", json=body, headers=first).status_code == 200
    for accept in ("application/json", "text/event-stream"):
        reply = api.post("/research", json=body, headers={**first, "Accept": accept})
        assert (reply.status_code, reply.json()["status"]) == (429, 429)
        assert 0 < int(reply.headers["retry-after"]) <= 3600
    assert api.post("/research", json=body, headers=second).status_code == 200


@pytest.mark.parametrize("headers", [{"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}])
def test_without_tokens_no_proxy_is_served(api: Api, headers: dict[str, str]) -> None:
    assert api.get("/v1/models").status_code == 200
    reply = api.get("/v1/models", headers=headers)
    assert reply.status_code == 403
    assert "OPENQUERY_API_TOKENS" in reply.json()["hint"]


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (421, {"Host": "rebound.example"}),
        (421, {"Host": "127.0.0.1.rebound.example"}),
        (403, {"Origin": "http://rebound.example"}),
        (403, {"Origin": "null"}),
    ],
)
def test_pages_of_other_sites_are_never_served(
    api: Api, token_api: Api, status: int, headers: dict[str, str]
) -> None:
    for service in (api, token_api):
        for path in OPEN:
            reply = service.get(path, headers={"Authorization": "Bearer first-token", **headers})
            assert reply.status_code == status
            assert reply.headers["content-type"] == "application/problem+json"
            assert reply.json()["hint"]
            assert headers.get("Origin", "") in reply.json()["detail"]


def test_other_machines_need_an_operator_name_and_a_token(serve: Serve) -> None:
    headers = {"Host": "openquery.example:443", "Origin": "https://openquery.example"}
    token = {"Authorization": "Bearer first-token"}
    api = serve(api_tokens=SecretStr("first-token"), hosts="openquery.example")
    assert api.get("/runs", headers=headers).status_code == 401
    assert api.get("/runs", headers={**headers, **token}).status_code == 200
    reply = serve(hosts="openquery.example").get("/runs", headers=headers)
    assert reply.status_code == 403
    assert "OPENQUERY_API_TOKENS" in reply.json()["hint"]


@pytest.mark.parametrize("client", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8501", "[::1]:8501", "[::1]"])
def test_loopback_is_served_without_tokens(client: str, host: str) -> None:
    assert authorization_refusal(scope(client, host=host), ()) is None


@pytest.mark.parametrize(
    "client", ["192.168.0.7", "10.0.0.1", "8.8.8.8", "::ffff:10.0.0.1", "fe80::1", "0.0.0.0", "testclient", "", None]
)  # fmt: skip
def test_other_addresses_are_refused_without_tokens(client: str | None) -> None:
    refusal = authorization_refusal(scope(client), ())
    assert refusal is not None
    assert refusal.status == 403
    assert authorization_refusal(scope(client, authorization="Bearer one"), ("one",)) is None


@pytest.mark.parametrize("host", ["", "localhost.example", "127.0.0.1@a.example", "[", "2130706433"])
def test_a_host_that_is_not_loopback_is_refused(host: str) -> None:
    assert authorization_refusal(scope("127.0.0.1", host=host), ()) is not None


@pytest.mark.parametrize("setting", [None, "", " , ,"])
def test_no_token_is_no_token(setting: str | None) -> None:
    assert tokens(SecretStr(setting) if setting is not None else None) == ()


def test_token_outside_ascii_is_compared_without_an_error() -> None:
    refusal = authorization_refusal(scope("127.0.0.1", authorization="Bearer gr\xfcn"), ("one",))
    assert refusal is not None
    assert refusal.status == 401


def test_unusable_settings_are_a_problem_and_grant_nothing() -> None:
    from fastapi.testclient import TestClient

    from core.errors import BadInput
    from core.features.api import create_app
    from core.runtime.registry import RunRegistry

    def unusable() -> RunRegistry:
        raise BadInput("Settings cannot be used: OPENQUERY_WORKERS.", hint="See the README's table.")

    reply = TestClient(create_app(unusable), base_url="http://localhost").get("/health")
    assert reply.status_code == 503
    assert "OPENQUERY_WORKERS" in reply.json()["detail"]


async def test_a_body_that_does_not_come_is_given_up() -> None:
    app = FastAPI()
    problems.install(app)

    @app.post("/echo")
    async def echo(request: Request) -> int:
        return len(await request.body())

    app.add_middleware(Guard, settings=Settings, limit=lambda scope, settings: 1_000, body_seconds=0.2)

    async def body(*, endless: bool) -> AsyncIterator[bytes]:
        yield b"a"
        if endless:
            await asyncio.Event().wait()

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        assert (await client.post("/echo", content=body(endless=False))).json() == 1
        reply = await client.post("/echo", content=body(endless=True))
    assert reply.status_code == 408
    assert reply.headers["content-type"] == "application/problem+json"
    assert "not here within" in reply.json()["detail"]


@pytest.mark.parametrize("framing", ["Content-Length: 20000000", "Transfer-Encoding: chunked"])
def test_refused_client_gets_the_refusal_while_it_sends(serve: Serve, framing: str) -> None:
    """It reads once it has sent all, and wants the connection closed: each of ten did see a reset."""
    address = urlsplit(serve(file_megabytes=1).url)
    piece = bytes(65_536)
    body = (
        [b"10000\r\n" + piece + b"\r\n"] * 305 + [b"0\r\n\r\n"]
        if "chunked" in framing
        else [bytes(20_000_000)]
    )
    head = f"PUT /session/files/a.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{framing}\r\n\r\n"
    for _ in range(10):
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as client:
            client.sendall(head.encode())
            for part in body:
                client.sendall(part)
            reply = client.makefile("rb").read()
        assert reply.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 403 "))
        assert b'"status":' in reply
