import asyncio
import base64
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest
from pydantic import SecretStr

from core.adapters.models.model_http import ATTEMPTS
from core.adapters.models.remote_embedder import RemoteEmbedder
from core.errors import EmbedFailed
from core.model import ModelUsage, Retry, Usage
from tests.services.loopback import Cut, Gate, Reply, html_reply, json_reply
from tests.services.openai_server import FakeOpenAI, Fault, failure, vector

TEXTS = ["one fish", "two fish", "red fish", "blue fish", "old fish"]
KEY = "sk-secret-0123456789"


def embedder(server: FakeOpenAI, *, key: str = "") -> RemoteEmbedder:
    secret = SecretStr(key) if key else None
    return RemoteEmbedder("test-embed", server.base_url, secret, backoff=0.001)


def reply(*vectors: object) -> Reply:
    rows = [{"index": index, "embedding": value} for index, value in enumerate(vectors)]
    return json_reply({"data": rows})


async def test_each_text_gets_its_unit_vector_from_base64(fake_openai: FakeOpenAI) -> None:
    vectors = (await embedder(fake_openai, key=KEY)(TEXTS)).vectors
    np.testing.assert_allclose(vectors, [vector(text, 64) for text in TEXTS], atol=1e-6)
    assert vectors.dtype == np.float32 and vectors.flags.c_contiguous
    (request,) = fake_openai.embedding_requests
    assert request.json == {"model": "test-embed", "input": TEXTS, "encoding_format": "base64"}
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_no_text_needs_no_request(fake_openai: FakeOpenAI) -> None:
    assert len((await embedder(fake_openai)([])).vectors) == 0
    assert not fake_openai.requests


async def test_vectors_return_in_the_order_of_the_texts(fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings.append(Fault.SHUFFLED)
    vectors = (await embedder(fake_openai)(TEXTS)).vectors
    np.testing.assert_allclose(vectors, [vector(text, 64) for text in TEXTS], atol=1e-6)


async def test_rows_are_brought_to_unit_length(fake_openai: FakeOpenAI) -> None:
    long = base64.b64encode(np.array([3, 4], dtype="<f4").tobytes()).decode()
    fake_openai.embeddings.append(reply(long, [0.0, -2.0]))
    vectors = (await embedder(fake_openai)(["a", "b"])).vectors
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0, -1]], atol=1e-6)


@pytest.mark.parametrize(
    "message", ["encoding_format is not supported", "Request contains an invalid argument."]
)
async def test_server_that_refuses_base64_is_asked_for_numbers(fake_openai: FakeOpenAI, message: str) -> None:
    fake_openai.embeddings.append(failure(400, message))
    embed = embedder(fake_openai)
    for _ in range(2):
        assert (await embed(TEXTS)).vectors.shape == (5, 64)
    formats = [request.json.get("encoding_format") for request in fake_openai.embedding_requests]
    assert formats == ["base64", None, None]


async def test_a_text_without_words_is_sent_as_something(fake_openai: FakeOpenAI) -> None:
    assert (await embedder(fake_openai)(["", " \n"])).vectors.shape == (2, 64)
    assert all(text.strip() for text in fake_openai.embedding_requests[0].json["input"])


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
async def test_overload_is_tried_again(fake_openai: FakeOpenAI, status: int) -> None:
    fake_openai.embeddings += [failure(status), failure(status, retry_after="0")]
    assert (await embedder(fake_openai)(TEXTS)).vectors.shape == (5, 64)
    assert len(fake_openai.embedding_requests) == 3


async def test_a_lost_connection_is_tried_again(fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings += [Reply((b'{"data"', Cut())), Reply((Cut(),))]
    assert (await embedder(fake_openai)(TEXTS)).vectors.shape == (5, 64)
    assert len(fake_openai.embedding_requests) == 3


async def test_the_wait_that_the_server_asks_for_is_kept(fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings.append(failure(429, retry_after="0.2"))
    loop = asyncio.get_running_loop()
    start = loop.time()
    waits: list[Retry] = []
    await embedder(fake_openai)(TEXTS, waits.append)
    assert loop.time() - start >= 0.2
    host = fake_openai.url.removeprefix("http://")
    assert waits == [Retry(server=host, seconds=0.2, reason="rate limit")]


async def test_a_lost_connection_is_told_as_one(fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings.append(Reply((Cut(),)))
    waits: list[Retry] = []
    await embedder(fake_openai)(TEXTS, waits.append)
    assert [wait.reason for wait in waits] == ["lost connection"]


@pytest.mark.parametrize("dated", [True, False])
async def test_a_wait_beyond_patience_is_not_begun(fake_openai: FakeOpenAI, dated: bool) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    fake_openai.embeddings.append(failure(429, retry_after=later if dated else "3600"))
    with pytest.raises(EmbedFailed) as fault:
        await asyncio.wait_for(embedder(fake_openai)(TEXTS), 5)
    assert "3,600 seconds" in fault.value.hint or "3,599 seconds" in fault.value.hint
    assert len(fake_openai.embedding_requests) == 1


async def test_it_gives_up_after_a_few_tries(fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings += [failure(503)] * 20
    with pytest.raises(EmbedFailed, match="503"):
        await embedder(fake_openai)(TEXTS)
    assert len(fake_openai.embedding_requests) == ATTEMPTS


@pytest.mark.parametrize(
    ("scripted", "message", "hint"),
    [
        (failure(401), "asks for a key", "Enter one"),
        (failure(402), "no credit", "Add credit"),
        (failure(404), "There is no embeddings endpoint", "OPENQUERY_EMBEDDING_BASE_URL"),
        (failure(404, "no such model"), "The model test-embed does not exist", "OPENQUERY_EMBEDDING_MODEL"),
        (failure(400, "input too large"), "input too large", "passages smaller"),
        (json_reply({"error": {"message": "No credit.", "code": 402}}), "no credit", "Add credit"),
        (json_reply({}), "other than embeddings", "/v1"),
        (json_reply({"error": "not loaded"}), "other than embeddings: not loaded", "/v1"),
        (html_reply("<h1>Welcome</h1>"), "other than embeddings", "/v1"),
        (Reply((b"",)), "other than embeddings", "/v1"),
        (Reply((b"",), status=307, headers={"Location": "/elsewhere"}), "elsewhere", "final address"),
    ],
)
async def test_refusal_is_not_retried_and_says_what_to_do(
    fake_openai: FakeOpenAI, scripted: Reply, message: str, hint: str
) -> None:
    fake_openai.embeddings.append(scripted)
    with pytest.raises(EmbedFailed, match=message) as fault:
        await embedder(fake_openai)(TEXTS)
    assert hint in fault.value.hint
    assert len(fake_openai.requests) == 1


@pytest.mark.parametrize(
    "fault", [Fault.TOO_FEW, Fault.TOO_MANY, Fault.REPEATED_INDEX, Fault.NAN, Fault.ZERO, Fault.MIXED_WIDTHS]
)
async def test_vectors_that_cannot_be_used_are_refused(fake_openai: FakeOpenAI, fault: Fault) -> None:
    fake_openai.embeddings.append(fault)
    with pytest.raises(EmbedFailed, match="test-embed"):
        await embedder(fake_openai)(TEXTS)


@pytest.mark.parametrize(
    "value", [None, [], "", "not base64!", "AAAA", ["x", "y"], [[1.0], [2.0]], {"a": 1}, 7, [1e39, 1.0]]
)
async def test_a_vector_in_an_unknown_form_is_refused(fake_openai: FakeOpenAI, value: object) -> None:
    fake_openai.embeddings.append(reply(value))
    with pytest.raises(EmbedFailed):
        await embedder(fake_openai)(["a"])


A, B = [1.0, 0.0], [0.0, 1.0]
PACKED = base64.b64encode(np.array(A, dtype="<f4").tobytes()).decode()


@pytest.mark.parametrize(
    "body",
    [
        {"data": [{"embedding": A}, {"embedding": B, "index": 1}]},
        {"data": [{"embedding": B, "index": 1}, {"embedding": A}]},
        {"data": [{"embedding": A}, {"embedding": B}]},
        {"data": [{"embedding": A, "index": None}, {"embedding": B, "index": None}]},
        {"data": [{"embedding": B, "index": "1"}, {"embedding": A, "index": "0"}]},
        {"data": [{"embedding": A, "index": 0}, {"embedding": B, "index": 0}]},
        {"data": [{"embedding": B, "index": 2}, {"embedding": A, "index": 1}]},
        {"data": [{"embedding": [A], "index": 0}, {"embedding": [B], "index": 1}]},
        {"data": [{"embedding": PACKED.rstrip("="), "index": 0}, {"embedding": B, "index": 1}]},
        {"data": [{"embedding": f"{PACKED[:5]}\n{PACKED[5:]}", "index": 0}, {"embedding": B, "index": 1}]},
        {"embeddings": [A, B]},
        {"embeddings": {"float": [A, B]}},
        [{"embedding": [A], "index": 0}, {"embedding": [B], "index": 1}],
        [A, B],
    ],
)
async def test_vectors_are_read_in_the_forms_of_other_servers(fake_openai: FakeOpenAI, body: object) -> None:
    fake_openai.embeddings.append(json_reply(body))
    assert (await embedder(fake_openai)(["a", "b"])).vectors.tolist() == [A, B]


@pytest.mark.parametrize(
    ("status", "message", "sizes"),
    [
        (422, "batch size 5 > maximum allowed batch size 2", [5, 2, 2, 1]),
        (400, "* BatchEmbedContentsRequest.requests: at most 4 requests can be in one batch\n", [5, 4, 1]),
        (400, "<400> Value error, batch size is invalid, it should not be larger than 3.: input", [5, 3, 2]),
        (400, "Requested 9000 tokens, max 8000 tokens per request", [5, 2, 2, 1]),
        (413, "Payload too large", [5, 2, 2, 1]),
    ],
)
async def test_a_server_that_takes_fewer_texts_is_sent_fewer(
    fake_openai: FakeOpenAI, status: int, message: str, sizes: list[int]
) -> None:
    fake_openai.embeddings.append(failure(status, message))
    embed = embedder(fake_openai)
    result = await embed(TEXTS)
    np.testing.assert_allclose(result.vectors, [vector(text, 64) for text in TEXTS], atol=1e-6)
    assert result.usage is not None and result.usage.tokens.prompt_tokens == 10
    await embed(TEXTS)
    sent = [len(request.json["input"]) for request in fake_openai.embedding_requests]
    assert sent == sizes + sizes[1:]


async def test_one_text_that_is_too_large_is_refused(fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings += [failure(413, "Payload too large")] * 9
    with pytest.raises(EmbedFailed, match="too long"):
        await embedder(fake_openai)(TEXTS[:2])
    assert len(fake_openai.embedding_requests) == 2


@pytest.mark.parametrize("index", [1, -1, [0], "first", True])
async def test_a_strange_index_is_refused(fake_openai: FakeOpenAI, index: object) -> None:
    fake_openai.embeddings.append(json_reply({"data": [{"index": index, "embedding": [1.0]}]}))
    with pytest.raises(EmbedFailed):
        await embedder(fake_openai)(["a"])


async def test_the_key_is_in_no_message_and_no_name(fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings.append(failure(401, f"Incorrect API key provided: {KEY}."))
    embed = embedder(fake_openai, key=KEY)
    with pytest.raises(EmbedFailed) as fault:
        await embed(TEXTS)
    assert KEY not in f"{fault.value!r} {fault.value} {fault.value.hint} {embed.identity} {embed!r}"


async def test_a_key_that_cannot_be_one_is_not_sent(fake_openai: FakeOpenAI) -> None:
    with pytest.raises(EmbedFailed, match="characters that no key has") as fault:
        await embedder(fake_openai, key="ключ-1234")(TEXTS)
    assert "ключ" not in str(fault.value)
    assert not fake_openai.requests


@pytest.mark.parametrize("address", ["nonsense", "ftp://a.example", "http://"])
async def test_an_address_that_is_none_is_reported(address: str) -> None:
    with pytest.raises(EmbedFailed, match="address") as fault:
        await RemoteEmbedder("m", address, backoff=0.001)(["a"])
    assert "OPENQUERY_EMBEDDING_BASE_URL" in fault.value.hint


async def test_a_server_that_is_not_there_is_reported() -> None:
    with FakeOpenAI() as server:
        address = server.base_url
    with pytest.raises(EmbedFailed, match="Nothing answers"):
        await RemoteEmbedder("m", address, backoff=0.001)(["a"])


async def test_a_silent_server_is_reported_with_the_seconds_waited(fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.embeddings += [Reply((gate,))] * ATTEMPTS
    with pytest.raises(EmbedFailed, match=r"did not answer within 0\.05 seconds"):
        await RemoteEmbedder("m", fake_openai.base_url, backoff=0.001, timeout=0.05)(["a"])
    gate.open()


async def test_a_cancelled_call_hangs_up(fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.embeddings.append(Reply((b"{", gate)))
    running = asyncio.create_task(embedder(fake_openai)(TEXTS))
    await gate.reached()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await fake_openai.embedding_requests[0].hung_up()
    gate.open()


async def test_reply_that_does_not_decompress_is_a_server_failure(fake_openai: FakeOpenAI) -> None:
    damaged = Reply((b"no gzip",), headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})
    fake_openai.embeddings.extend([damaged] * ATTEMPTS)
    with pytest.raises(EmbedFailed, match="does not unpack"):
        await embedder(fake_openai)(["a"])


async def test_half_a_character_can_be_embedded(fake_openai: FakeOpenAI) -> None:
    vectors = (await embedder(fake_openai)(["half \ud83d", "both \ud83d\ude00"])).vectors
    assert len(vectors) == 2
    assert fake_openai.embedding_requests[0].json["input"] == ["half \ufffd", "both 😀"]


async def test_the_tokens_that_the_server_counted_are_kept(fake_openai: FakeOpenAI) -> None:
    port = embedder(fake_openai)
    usage = (await port(TEXTS)).usage
    assert usage == ModelUsage(model=port.identity, tokens=Usage(prompt_tokens=10))


async def test_tokens_that_the_server_does_not_count_are_estimated(fake_openai: FakeOpenAI) -> None:
    fake_openai.embeddings.append(reply([1.0, 0.0]))
    usage = (await embedder(fake_openai)(["x" * 9])).usage
    assert usage is not None
    assert (usage.tokens.total_tokens, usage.estimated, usage.local) == (3, True, False)
