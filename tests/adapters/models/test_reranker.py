from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from core.adapters.certificates import trusted_certificates
from core.adapters.models.reranker import MAX_BATCH, Reranker
from core.errors import RerankFailed
from tests.services.loopback import Loopback, Reply, Request, json_reply

TEXTS = ["short", "a longer text", "mid text"]
Handler = Callable[[Request], Awaitable[Reply]]


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        follow_redirects=False, trust_env=False, verify=trusted_certificates(httpx)
    ) as client:
        yield client


def by_length(texts: list[str], name: str) -> list[dict[str, Any]]:
    """Scores as servers send them: best first, each with the index of its text."""
    rows = [{"index": row, name: float(len(text)), "extra": None} for row, text in enumerate(texts)]
    return sorted(rows, key=lambda row: -row[name])


async def jina(request: Request) -> Reply:
    return json_reply({"model": "m", "results": by_length(request.json["documents"], "relevance_score")})


async def tei(request: Request) -> Reply:
    if "texts" not in request.json:
        return json_reply({"error": "missing field `texts`", "error_type": "Validation"}, status=422)
    return json_reply(by_length(request.json["texts"], "score"))


async def voyage(request: Request) -> Reply:
    return json_reply({"data": by_length(request.json["documents"], "relevance_score")})


@pytest.mark.parametrize("handler", [jina, tei, voyage])
async def test_scores_follow_the_texts_in_every_reply_shape(
    handler: Handler, client: httpx.AsyncClient
) -> None:
    with Loopback(handler) as server:
        scores, _ = await Reranker(f"{server.url}/rerank", "m", client=client)("Which?", TEXTS)
    assert scores.tolist() == [len(text) for text in TEXTS]
    assert {request.path for request in server.requests} == {"/rerank"}
    assert server.requests[0].json["query"] == "Which?"


@pytest.mark.parametrize(
    "body",
    [
        {"rankings": [{"index": 1, "logit": 3.5}, {"index": 0, "logit": -1.0}, {"index": 2, "logit": -4.0}]},
        {"output": {"results": [{"index": 1, "relevance_score": 3.5}, {"index": 0, "relevance_score": -1}, {"index": 2, "relevance_score": -4}]}},
        [{"corpus_id": 1, "score": "3.5"}, {"corpus_id": 0, "score": -1}, {"corpus_id": 2, "score": -4}],
        {"scores": [-1, 3.5, -4]},
        [-1, 3.5, -4],
    ],
)  # fmt: skip
async def test_scores_are_read_in_the_forms_of_other_servers(body: Any, client: httpx.AsyncClient) -> None:
    with Loopback(always(body)) as server:
        scores, _ = await Reranker(f"{server.url}/rerank", "m", client=client)("Which?", TEXTS)
    assert scores.tolist() == [-1, 3.5, -4]


async def test_reply_shape_is_found_once_and_calls_stay_small(client: httpx.AsyncClient) -> None:
    texts = [f"{'x' * n}" for n in range(2 * MAX_BATCH + 1)]
    with Loopback(tei) as server:
        scores, _ = await Reranker(f"{server.url}/rerank", client=client)("Which?", texts)
    assert scores.tolist() == [float(n) for n in range(len(texts))]
    assert ["documents" in request.json for request in server.requests] == [True, False, False, False]
    assert all("model" not in request.json for request in server.requests)


async def test_the_key_is_sent_and_never_told(client: httpx.AsyncClient) -> None:
    async def refuse(request: Request) -> Reply:
        return json_reply({"detail": "bad key sk-secret"}, status=401)

    with Loopback(refuse) as server, pytest.raises(RerankFailed) as failed:
        await Reranker(f"{server.url}/rerank", "m", SecretStr("sk-secret"), client=client)("?", TEXTS)
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(failed.value)
    assert "OPENQUERY_RERANK_KEY" in failed.value.hint


def always(value: Any, status: int = 200) -> Handler:
    async def handler(request: Request) -> Reply:
        return json_reply(value, status=status)

    return handler


@pytest.mark.parametrize(
    ("value", "status", "message"),
    [
        ({"results": [{"index": 0, "relevance_score": 1.0}]}, 200, "1 score for 3"),
        ({"results": [{"index": 0, "score": 1}] * 3}, 200, "3 scores for 3"),
        ([{"index": n, "score": 1} for n in range(4)], 200, "4 scores for 3"),
        ([{"index": n, "score": "NaN"} for n in range(3)], 200, "no numbers"),
        ({"results": [{"index": 0}]}, 200, "unknown form"),
        ({"unexpected": True}, 200, "unknown form"),
        ("text", 200, "unknown form"),
        (None, 200, "unknown form"),
        ({"message": "overloaded"}, 503, "overloaded"),
        ({"error": {"message": "no such model"}}, 400, "no such model"),
        ({}, 404, "under this address"),
        ({}, 429, "no more requests"),
        ({}, 302, "elsewhere"),
    ],
)
async def test_reply_without_a_score_for_each_text_fails_in_words(
    value: Any, status: int, message: str, client: httpx.AsyncClient
) -> None:
    with Loopback(always(value, status)) as server, pytest.raises(RerankFailed) as failed:
        await Reranker(f"{server.url}/rerank", client=client)("Which?", TEXTS)
    assert message in failed.value.message
    assert failed.value.hint


async def test_absent_server_is_told_in_words(client: httpx.AsyncClient) -> None:
    with Loopback(jina) as server:
        url = server.url
    for address in (f"{url}/rerank", "nonsense"):
        with pytest.raises(RerankFailed) as failed:
            await Reranker(address, client=client)("Which?", TEXTS)
        assert failed.value.hint
    assert (await Reranker(url, client=client)("Which?", [])).scores.shape == (0,)


async def test_reply_that_does_not_decompress_is_a_server_failure(client: httpx.AsyncClient) -> None:
    async def broken(request: Request) -> Reply:
        return Reply((b"no gzip",), headers={"Content-Encoding": "gzip"})

    with Loopback(broken) as server, pytest.raises(RerankFailed, match="does not unpack"):
        await Reranker(f"{server.url}/rerank", client=client)("Which?", TEXTS)


async def test_half_a_character_can_be_reranked(client: httpx.AsyncClient) -> None:
    with Loopback(jina) as server:
        await Reranker(f"{server.url}/rerank", client=client)("Half \ud83d?", ["half \udc00", "whole"])
    assert server.requests[0].json == {"query": "Half \ufffd?", "documents": ["half \ufffd", "whole"]}


@pytest.mark.parametrize(
    ("usage_fields", "tokens"),
    [
        ({"usage": {"total_tokens": 40, "prompt_tokens": 40}}, 80),
        ({"usage": {"total_tokens": 15}}, 30),
        ({"meta": {"tokens": {"input_tokens": 12, "output_tokens": 1}}}, 26),
        ({"meta": {"billed_units": {"search_units": 1}}}, None),
        ({}, None),
    ],
)
async def test_the_tokens_are_those_that_the_server_tells(
    usage_fields: dict[str, Any], tokens: int | None, client: httpx.AsyncClient
) -> None:
    async def answer(request: Request) -> Reply:
        return json_reply({"results": by_length(request.json["documents"], "score"), **usage_fields})

    texts = [f"{'x' * n}" for n in range(MAX_BATCH + 1)]  # two requests
    with Loopback(answer) as server:
        _, usage = await Reranker(f"{server.url}/rerank", "m", client=client)("Which?", texts)
    assert (usage and usage.tokens.total_tokens) == tokens
