"""Which backend searches where no SearXNG is connected."""

from __future__ import annotations

import asyncio

import pytest

from core.adapters.search import ddgs_search
from core.adapters.search.ddgs_search import DefaultBackend, engines_reachable
from core.config.knobs import Backend
from tests.services.loopback import Loopback, Reply, Request, json_reply
from tests.services.process import closed_port


class Network:
    """Says whether engines are reachable, and counts how often it was asked."""

    def __init__(self, reachable: bool) -> None:
        self.reachable, self.asked = reachable, 0

    async def __call__(self) -> bool:
        self.asked += 1
        await asyncio.sleep(0)
        return self.reachable


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ddgs_search._PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("reachable", "backend"), [(True, Backend.DDGS), (False, Backend.DEMO)])
async def test_all_queries_of_a_process_share_one_choice(reachable: bool, backend: Backend) -> None:
    network = Network(reachable)
    default = DefaultBackend(network)
    assert set(await asyncio.gather(*(default.choose() for _ in range(5)))) == {backend}
    assert network.asked == 1


async def test_a_host_that_accepts_connections_is_reachable_and_is_sent_nothing() -> None:
    async def answer(request: Request) -> Reply:
        return json_reply({})

    with Loopback(answer) as server:
        assert await engines_reachable(["no-such-host.invalid", "127.0.0.1"], server.port)
        assert server.requests == []


async def test_without_a_network_no_engine_is_reachable() -> None:
    assert not await engines_reachable(["127.0.0.1"], closed_port())


async def test_behind_a_proxy_engines_count_as_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert await engines_reachable(["127.0.0.1"], closed_port())
