"""The fake must be understood by the real client, or tests built on it prove nothing."""

import asyncio
import math
from collections.abc import AsyncIterator

import numpy as np
import openai
import pytest

from tests.services.loopback import Cut, Gate
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI, Fault, failure, streamed, vector


@pytest.fixture
async def client(fake_openai: FakeOpenAI) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=fake_openai.base_url, api_key="sk-test", max_retries=0) as client:
        yield client


async def read(client: openai.AsyncOpenAI) -> tuple[str, str | None]:
    text, finish = "", None
    stream = await client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "Hello?"}], stream=True
    )
    async for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    return text, finish


async def test_the_real_client_reads_characters_that_arrive_in_pieces(fake_openai, client):
    fake_openai.chats.append(streamed("naïve ", "検索 🙂", split=True))
    assert await read(client) == ("naïve 検索 🙂", "stop")
    assert fake_openai.chat_requests[0].headers["authorization"] == "Bearer sk-test"


async def test_gate_holds_the_stream_and_a_cut_breaks_it(fake_openai, client):
    gate = Gate()
    fake_openai.chats.append(streamed("one", gate, "two", Cut()))
    reading = asyncio.create_task(read(client))
    await gate.reached()
    assert not reading.done()
    gate.open()
    with pytest.raises(Exception, match=r"(?i)connection|read|closed"):
        await reading


async def test_a_client_that_goes_away_is_noticed(fake_openai, client):
    gate = Gate()
    fake_openai.chats.append(streamed("one", gate))
    reading = asyncio.create_task(read(client))
    await gate.reached()
    reading.cancel()
    await fake_openai.chat_requests[0].hung_up()


async def test_errors_carry_their_status_and_retry_after(fake_openai, client):
    fake_openai.chats.append(failure(429, "Slow down.", retry_after="7"))
    with pytest.raises(openai.RateLimitError) as caught:
        await read(client)
    assert caught.value.response.headers["retry-after"] == "7"


async def test_vectors_are_the_same_as_base64_and_as_floats(fake_openai, client):
    as_base64 = await client.embeddings.create(model=EMBEDDER, input=["chunk overlap", "fusion"])
    as_floats = await client.embeddings.create(
        model=EMBEDDER, input=["chunk overlap", "fusion"], encoding_format="float"
    )
    assert fake_openai.embedding_requests[0].json["encoding_format"] == "base64"
    for left, right in zip(as_base64.data, as_floats.data, strict=True):
        assert np.allclose(left.embedding, right.embedding)


async def test_shuffled_vectors_keep_their_right_index(fake_openai, client):
    fake_openai.embeddings.append(Fault.SHUFFLED)
    reply = await client.embeddings.create(model=EMBEDDER, input=["a b", "c d", "e f"])
    assert [row.index for row in reply.data] != [0, 1, 2]
    for row in reply.data:
        assert np.allclose(row.embedding, vector(["a b", "c d", "e f"][row.index], fake_openai.width))


def test_texts_that_share_words_are_nearer():
    one, near, far = (vector(text, 64) for text in ("chunk overlap", "chunk size", "rank fusion"))
    assert float(one @ near) > float(one @ far)
    assert math.isclose(float(one @ one), 1, abs_tol=1e-5)
