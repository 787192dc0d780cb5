"""ddgs without a network: every engine is behind a proxy of the test."""

from __future__ import annotations

import asyncio

import pytest

from core.adapters.search.ddgs_search import Ddgs, region
from core.config.knobs import SearchKnobs
from core.errors import SearchFailed
from tests.services.loopback import Gate, Loopback, Reply, Request, json_reply
from tests.services.process import closed_port


async def test_without_a_network_it_says_so_quickly_and_what_to_do():
    nobody = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(SearchFailed, match="cannot be reached") as caught:
        await Ddgs(timeout=5, proxy=nobody)("chunk overlap", SearchKnobs())
    assert "demo library" in caught.value.hint
    assert len(caught.value.message) < 300


async def test_engines_that_never_answer_are_given_up_when_the_time_is_over():
    gate = Gate()

    async def silent(request: Request) -> Reply:
        await gate.pass_through()
        return json_reply({})

    with Loopback(silent) as proxy:
        asking = asyncio.create_task(Ddgs(timeout=0.3, proxy=proxy.url)("chunk overlap", SearchKnobs()))
        with pytest.raises(SearchFailed, match=r"did not answer in time \(0\.3 s\)"):
            await asking
        gate.open()


async def test_engines_that_refuse_are_no_answer():
    async def refusing(request: Request) -> Reply:
        return json_reply({}, status=403)

    with Loopback(refusing) as proxy:
        with pytest.raises(SearchFailed, match="cannot be reached"):
            await Ddgs(timeout=5, proxy=proxy.url)("chunk overlap", SearchKnobs())
        assert {request.method for request in proxy.requests} == {"CONNECT"}


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("all", "us-en"),
        ("auto", "us-en"),
        ("en", "us-en"),
        ("en-GB", "gb-en"),
        ("de", "de-de"),
        ("zh-CN", "cn-zh"),
    ],
)
def test_languages_become_regions(language, expected):
    assert region(language) == expected
