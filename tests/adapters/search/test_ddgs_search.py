"""ddgs without a network: every engine is behind a proxy of the test."""

import asyncio

import pytest

from core.adapters.search import ddgs_search
from core.adapters.search.ddgs_search import Ddgs, DefaultBackend, engines_reachable, region
from core.config.knobs import Backend, SearchKnobs
from core.errors import SearchFailed
from tests.services.loopback import Gate, Loopback, Reply, Request, json_reply
from tests.services.process import closed_port


async def test_without_a_network_it_fails_quickly_with_advice():
    nobody = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(SearchFailed, match="cannot be reached") as caught:
        await Ddgs(timeout=5, proxy=nobody)("chunk overlap", SearchKnobs())
    assert "demo library" in caught.value.hint
    assert len(caught.value.message) < 300


async def test_silent_engines_are_given_up_after_the_time_limit():
    gate = Gate()

    async def silent(request: Request) -> Reply:
        await gate.pass_through()
        return json_reply({})

    with Loopback(silent) as proxy:
        search = asyncio.create_task(Ddgs(timeout=0.3, proxy=proxy.url)("chunk overlap", SearchKnobs()))
        with pytest.raises(SearchFailed, match=r"did not answer in time \(0\.3 s\)"):
            await search
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


# --- the default backend ----------------------------------------------------------------------------------


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ddgs_search._PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)


class Network:
    """Says whether engines are reachable, and counts how often it was asked."""

    def __init__(self, reachable: bool) -> None:
        self.reachable, self.asked = reachable, 0

    async def __call__(self) -> bool:
        self.asked += 1
        await asyncio.sleep(0)
        return self.reachable


@pytest.mark.parametrize(("reachable", "backend"), [(True, Backend.DDGS), (False, Backend.DEMO)])
async def test_all_queries_of_a_process_share_one_choice(reachable: bool, backend: Backend) -> None:
    network = Network(reachable)
    default = DefaultBackend(network)
    assert set(await asyncio.gather(*(default.choose() for _ in range(5)))) == {backend}
    assert network.asked == 1


@pytest.mark.usefixtures("no_proxy")
async def test_host_that_accepts_connections_is_reachable_and_sent_nothing() -> None:
    async def answer(request: Request) -> Reply:
        return json_reply({})

    with Loopback(answer) as server:
        assert await engines_reachable(["no-such-host.invalid", "127.0.0.1"], server.port)
        assert server.requests == []


@pytest.mark.usefixtures("no_proxy")
async def test_without_a_network_no_engine_is_reachable() -> None:
    assert not await engines_reachable(["127.0.0.1"], closed_port())


@pytest.mark.usefixtures("no_proxy")
async def test_behind_a_proxy_engines_count_as_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert await engines_reachable(["127.0.0.1"], closed_port())
