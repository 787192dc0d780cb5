"""What an engine holds on to, and lets go."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path

from pydantic import SecretStr

from core.adapters.cache.embedding_cache import CachedEmbed
from core.config.settings import Settings
from core.runtime.engine import EMBEDDERS_KEPT, Engine
from core.runtime.model_servers import ModelServer


async def test_the_embedder_that_was_not_used_for_longest_makes_room_for_a_new_one(tmp_path: Path) -> None:
    async with Engine(Settings(data=tmp_path, ollama_url="", embedding_model="small")) as engine:

        def brought(number: int) -> CachedEmbed:
            key = SecretStr(f"sk-of-visitor-{number}")
            return engine.embed(ModelServer(base_url="http://127.0.0.1:9/v1", api_key=key, model="m"))

        in_use, idle = brought(0), weakref.ref(brought(1))
        for number in range(2, EMBEDDERS_KEPT + 1):
            assert brought(0) is in_use
            brought(number)
        assert brought(0) is in_use
        assert idle() is None


async def test_closing_ends_the_local_embedders_threads(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    async with Engine(Settings(data=tmp_path, ollama_url="")) as engine:
        await engine.embed(None)(["warm"])
        threads = {one for one in threading.enumerate() if one.name.startswith("minilm")} - before
    assert threads
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
