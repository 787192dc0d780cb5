"""Readers of what others send, fed with anything: they give values or their own errors, and nothing else."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
from hypothesis import given
from hypothesis import strategies as st

from core.adapters.models.model_http import provider_text
from core.adapters.models.openai_stream import read_reply
from core.adapters.models.remote_embedder import RemoteEmbedder
from core.adapters.search.searxng_reply import read_json, results, unresponsive_engines
from core.errors import ChatFailed, EmbedFailed, StoreFailed
from core.injection import injection_signs, invisible_words, spell_out_invisible
from core.run.codec import event_from_json, event_to_json
from core.text.sanitize import one_line, sanitize
from tests.samples import EVENTS

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(["http://a.example/", "javascript:1", "error", "stop", "[1]"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "results",
                    "url",
                    "title",
                    "content",
                    "engine",
                    "engines",
                    "publishedDate",
                    "unresponsive_engines",
                    "error",
                    "message",
                    "code",
                    "choices",
                    "delta",
                    "content",
                    "finish_reason",
                    "reasoning",
                    "usage",
                    "prompt_tokens",
                    "completion_tokens",
                    "data",
                    "index",
                    "embedding",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_search_reply_becomes_results_with_web_addresses(reply: Any) -> None:
    if isinstance(reply, dict):
        for row in results(reply):
            assert row.url.startswith(("http://", "https://"))
            assert "\n" not in row.title + row.snippet
        unresponsive_engines(reply)


@given(st.binary(max_size=300))
def test_any_bytes_are_json_or_nothing(body: bytes) -> None:
    read_json(body)


def _read(pieces: list[bytes]) -> str:
    async def stream() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read() -> str:
        return "".join(
            [
                delta.text_delta
                async for delta in read_reply(stream(), host="kettles.example", key="sk-kettle")
            ]
        )

    return asyncio.run(read())


@given(
    st.lists(
        st.binary(max_size=80) | JSON.map(lambda value: b"data: " + orjson.dumps(value) + b"\n\n"), max_size=6
    )
)
def test_any_stream_is_a_reply_or_a_model_failure(pieces: list[bytes]) -> None:
    try:
        text = _read(pieces)
    except ChatFailed as error:
        assert error.message
        assert error.hint
    else:
        text.encode()


@given(JSON)
def test_provider_message_is_one_line_without_the_key(body: Any) -> None:
    assert "\n" not in provider_text(body, "sk-kettle")
    assert "sk-kettle" not in provider_text({"error": {"message": f"{body} sk-kettle"}}, "sk-kettle")


def _vectors(body: bytes) -> None:
    async def embed() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
        async with httpx.AsyncClient(transport=transport) as client:
            embedder = RemoteEmbedder("m", "http://kettles.example/v1", timeout=1, backoff=0, client=client)
            vectors = (await embedder(["one", "two"])).vectors
            assert vectors.shape[0] == 2

    try:
        asyncio.run(embed())
    except EmbedFailed as error:
        assert error.hint


_VECTOR = (
    st.lists(st.floats(width=32) | st.none() | st.text(max_size=3), max_size=4)
    | st.binary(max_size=16).map(lambda data: base64.b64encode(data).decode())
    | st.text(max_size=8)
)
_ROWS = st.lists(
    st.fixed_dictionaries({"index": st.integers(-1, 3) | st.none(), "embedding": _VECTOR}), max_size=4
)


@given(st.binary(max_size=100) | (JSON | _ROWS).map(lambda value: orjson.dumps({"data": value})))
def test_any_embedding_reply_is_vectors_or_a_failure(body: bytes) -> None:
    _vectors(body)


@given(st.binary(max_size=200), st.integers(0, len(EVENTS) - 1), st.integers(0, 400))
def test_a_damaged_event_is_refused_or_is_an_event(noise: bytes, index: int, offset: int) -> None:
    whole = event_to_json(EVENTS[index])
    try:
        event = event_from_json(whole[:offset] + noise + whole[offset + len(noise) :])
    except StoreFailed as error:
        assert error.hint
    else:
        event_to_json(event)


@given(st.text(max_size=300), st.text(max_size=100))
def test_any_text_is_examined_and_cleaned_without_a_fault(text: str, hidden: str) -> None:
    for mark in injection_signs(text, hidden):
        whole = hidden if mark.hidden else text
        assert 0 <= mark.start < mark.end <= len(whole)
    assert invisible_words(spell_out_invisible(text)) == "" or len(spell_out_invisible(text)) <= len(text)
    assert sanitize(sanitize(text)) == sanitize(text)
    assert "\n" not in one_line(text)
