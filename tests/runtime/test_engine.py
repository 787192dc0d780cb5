"""The clients of an engine: shared, bounded, and closed once nobody uses them."""

import asyncio
import threading
import weakref
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.adapters.cache.embedding_cache import CachedEmbed
from core.config.access import Access
from core.config.knobs import Knobs
from core.config.settings import Settings
from core.features.library.services.connections import QDRANT_CLIENTS, LibraryConnections
from core.runtime.engine import Engine
from core.runtime.engine_parts import ProbeState
from core.runtime.health import probes
from core.runtime.wiring.model_servers import ModelServer
from core.runtime.wiring.models import CHAT_CLIENTS, EMBEDDERS, SharedChat
from tests.services.loopback import Loopback, Reply, Request, json_reply

pytestmark = pytest.mark.slow


async def test_least_recently_used_embedder_makes_room_for_a_new_one(tmp_path: Path) -> None:
    async with Engine(Settings(data=tmp_path, ollama_url="", embedding_model="small")) as engine:

        async def brought(number: int) -> CachedEmbed:
            key = SecretStr(f"sk-of-visitor-{number}")
            return await engine.models.embedder(Access(base_url="http://127.0.0.1:9/v1", api_key=key))

        in_use, idle = await brought(0), weakref.ref(await brought(1))
        for number in range(2, EMBEDDERS + 1):
            assert await brought(0) is in_use
            await brought(number)
        assert await brought(0) is in_use
        assert idle() is None


async def test_closing_ends_the_local_embedders_threads(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    async with Engine(Settings(data=tmp_path, ollama_url="")) as engine:
        await (await engine.models.embedder())(["warm"])
        threads = {one for one in threading.enumerate() if one.name.startswith("minilm")} - before
    assert threads
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


async def test_health_starts_one_process_that_reads_pages(tmp_path: Path) -> None:
    async with Engine(Settings(data=tmp_path, ollama_url="", workers=4)) as engine:
        results = {result.part: result for result in await probes(engine)}
        assert len(engine.workers.pids) == 1
    assert results["Article extraction"].detail == "4 worker processes"
    assert results["Parser isolation"].state is ProbeState.WORKS


async def test_local_server_listing_models_later_is_seen_next_time(tmp_path: Path) -> None:
    installed: list[str] = []

    async def list_models(_request: Request) -> Reply:
        return json_reply({"object": "list", "data": [{"id": name, "object": "model"} for name in installed]})

    with Loopback(list_models) as ollama:
        async with Engine(Settings(data=tmp_path, ollama_url=ollama.url)) as engine:
            assert (await engine.ports(Knobs())).chat is None
            installed.append("llama3.2")
            chat = (await engine.ports(Knobs())).chat
            assert chat is not None
            assert "llama3.2" in chat.identity
            asked = len(ollama.requests)
            await engine.ports(Knobs())
            assert len(ollama.requests) == asked, "a list with models is reused"


async def test_evicted_chat_client_closes_when_its_run_has_ended(tmp_path: Path) -> None:
    async with Engine(Settings(data=tmp_path, ollama_url="")) as engine:

        def chat(model: str) -> SharedChat:
            made = engine.models.chat_client(
                ModelServer(base_url="http://127.0.0.1:9/v1", api_key=None, model=model)
            )
            assert made is not None
            return made

        in_use = chat("m")
        await in_use.client.warm()
        connection = in_use.client._client
        assert connection is not None
        for number in range(CHAT_CLIENTS):
            chat(f"other {number}")
        assert chat("m") is not in_use, "it was evicted"
        await asyncio.sleep(0.05)
        assert not connection.is_closed()
        del in_use
        async with asyncio.timeout(10):
            while not connection.is_closed():
                await asyncio.sleep(0.01)


async def test_evicted_client_of_a_visitor_server_is_closed_and_replaced(
    tmp_path: Path,
) -> None:
    async with Engine(Settings(data=tmp_path, ollama_url="")) as engine:
        first = engine.part(LibraryConnections).searchable.on_own_server(
            Access(qdrant_url="http://127.0.0.1:9")
        )
        assert (
            engine.part(LibraryConnections).searchable.on_own_server(Access(qdrant_url="http://127.0.0.1:9"))
            is first
        )
        idle = weakref.ref(first)
        del first
        for port in range(10, 10 + QDRANT_CLIENTS):
            engine.part(LibraryConnections).searchable.on_own_server(
                Access(qdrant_url=f"http://127.0.0.1:{port}")
            )
        assert idle() is None


async def test_closing_starts_no_part_that_was_not_used(tmp_path: Path) -> None:
    threads = threading.active_count()
    async with Engine(Settings(data=tmp_path, ollama_url="")) as engine:
        made = set(vars(engine))
    assert set(vars(engine)) == made, "no part was made in order to be closed"
    assert threading.active_count() == threads
